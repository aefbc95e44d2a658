#include "cli/header.h"
#include "base/term.h"
#include "proto/json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL        "%-8s" /* "trials", "rungs", "best": the lines stand under one another */
#define PROGRESS_BAR 20

void sw_header_mark(struct sw_buf *b, enum sw_tint tint)
{
	const char mark = (char)(1 + tint);

	(void)sw_buf_add(b, &mark, 1);
}

bool sw_header_mark_read(char byte, enum sw_tint *tint)
{
	if (byte < 1 || byte > SW_TINT_N)
		return false;
	*tint = (enum sw_tint)(byte - 1);
	return true;
}

static void tinted(struct sw_buf *b, enum sw_tint tint, const char *text, bool utf8)
{
	sw_header_mark(b, tint);
	sw_term_add(b, text, utf8, 0);
	sw_header_mark(b, SW_TINT_NONE);
}

static void add_slots(struct sw_buf *b, const struct sw_view *v)
{
	const cJSON *slots = sw_json_get(v->head, "slots");
	const unsigned long long mine = sw_json_uint(slots, "mine");
	const unsigned long long busy = sw_json_uint(slots, "busy");
	const unsigned long long total = sw_json_uint(slots, "total");

	if (total == 0)
		return; /* a daemon without slots: clients run the trials */
	(void)sw_buf_addf(b, "  slots %llu/%llu", mine, total);
	if (busy != mine)
		(void)sw_buf_addf(b, " (%llu busy)", busy);
}

/* Has the sweep a cause that is no news of its end? */
static bool is_wrong(const struct sw_view *v)
{
	return sw_json_text(v->head, "cause", NULL) != NULL &&
	       strcmp(sw_json_text(v->head, "state", ""), "COMPLETED") != 0 &&
	       !cJSON_IsTrue(sw_json_get(v->head, "ending"));
}

static void add_sweep(struct sw_buf *b, const struct sw_view *v, bool utf8, int64_t now_us)
{
	const char *state = sw_json_text(v->head, "state", "-");
	const double eta = sw_json_number(v->head, "eta_s", -1.0);
	const double since = (double)(now_us - v->at_us) / 1e6;
	const bool ended = sw_view_ended(v);
	double seconds = sw_json_number(v->head, "seconds", -1.0);
	char text[32];

	sw_header_mark(b, SW_TINT_BOLD);
	(void)sw_buf_addf(b, "sweep %llu ", (unsigned long long)v->sweep);
	sw_term_add(b, sw_json_text(v->head, "name", ""), utf8, 40);
	sw_header_mark(b, SW_TINT_NONE);
	if (v->lost_at_us != 0) {
		sw_fmt_duration(floor((double)(now_us - v->lost_at_us) / 1e6), text);
		sw_header_mark(b, SW_TINT_RED);
		(void)sw_buf_addf(b, "  the daemon is away for %s; trying again", text);
		sw_header_mark(b, SW_TINT_NONE);
		return;
	}
	if (v->head == NULL) {
		(void)sw_buf_adds(b, "  waiting for the daemon");
		return;
	}
	(void)sw_buf_adds(b, "  ");
	tinted(b, sw_grid_tint(state), state, utf8);
	(void)sw_buf_adds(b, "  ");
	sw_term_add(b, sw_json_text(v->head, "method", ""), utf8, 0);
	if (!ended && seconds >= 0.0 && since > 0.0)
		seconds += since; /* the clock goes on between two messages */
	sw_fmt_duration(seconds, text);
	(void)sw_buf_addf(b, "  %s %s", ended ? "took" : "elapsed", text);
	if (!ended && eta >= 0.0) {
		sw_fmt_duration(eta > since ? eta - since : 0.0, text);
		(void)sw_buf_addf(b, "  ETA %s", text);
	}
	if (!ended)
		add_slots(b, v);
	if (sw_json_text(v->head, "cause", NULL) != NULL && !is_wrong(v)) {
		(void)sw_buf_adds(b, "  ");
		sw_term_add(b, sw_json_text(v->head, "cause", ""), utf8, 0);
	}
}

/* What is wrong has a line of its own: behind the rest it would be cut first. */
static bool add_wrong(struct sw_buf *b, const struct sw_view *v, bool utf8)
{
	if (!is_wrong(v))
		return false;
	(void)sw_buf_addf(b, LABEL, "cause");
	tinted(b, SW_TINT_RED, sw_json_text(v->head, "cause", ""), utf8);
	return true;
}

static void add_trials(struct sw_buf *b, const struct sw_view *v, bool utf8)
{
	const double cap = sw_json_number(v->head, "run_cap", 0.0);
	const uint64_t done = sw_view_ended_n(v), pruned = sw_view_count(v, "PRUNED");
	size_t states = 0;

	(void)sw_buf_addf(b, LABEL "%llu", "trials", (unsigned long long)done);
	if (cap > 0.0) {
		(void)sw_buf_addf(b, "/%.0f ", cap);
		sw_header_mark(b, SW_TINT_GREEN);
		sw_fmt_bar(b, (double)done / cap, PROGRESS_BAR, utf8);
		sw_header_mark(b, SW_TINT_NONE);
	} else {
		(void)sw_buf_adds(b, " done");
	}
	for (size_t i = 0; i < SW_STATE_N; i++)
		states += sw_view_count(v, sw_states[i]) > 0;
	for (size_t i = 0; i < SW_STATE_N; i++) {
		const uint64_t n = sw_view_count(v, sw_states[i]);
		const bool is_pruned = strcmp(sw_states[i], "PRUNED") == 0;

		if (n == 0 && !is_pruned)
			continue;
		(void)sw_buf_addf(b, "  %llu ", (unsigned long long)n);
		tinted(b, sw_grid_tint(sw_states[i]), sw_states[i], utf8);
		/* with more states than these the line would not fit 80 columns */
		if (is_pruned && done > 0 && states + (n == 0) <= 3)
			(void)sw_buf_addf(b, " (%.0f%%)", 100.0 * (double)pruned / (double)done);
	}
}

/* "9: 0.94 (3)  3: 0.81 (9)": from the rung `last` back to `first`. */
static void add_bracket(struct sw_buf *b, const cJSON *first, const cJSON *last, bool utf8)
{
	for (const cJSON *rung = last;; rung = rung->prev) {
		(void)sw_buf_addf(b, "%s%.0f: ", rung != last ? "  " : "",
				  sw_json_number(rung, "step", 0.0));
		sw_fmt_value(b, sw_json_get(rung, "cutoff"), false, utf8);
		(void)sw_buf_addf(b, " (%.0f)", sw_json_number(rung, "n", 0.0));
		if (rung == first)
			return;
	}
}

/* The daemon lists them by bracket, then by step; the highest of a bracket is shown first. */
static bool add_rungs(struct sw_buf *b, const struct sw_view *v, bool utf8)
{
	const cJSON *rungs = sw_json_get(v->head, "rungs"), *first, *last;

	if (!cJSON_IsArray(rungs) || rungs->child == NULL)
		return false; /* its pruner has no rungs, or no trial has reached one */
	(void)sw_buf_addf(b, LABEL, "rungs");
	for (first = rungs->child; first != NULL; first = last->next) {
		const uint64_t bracket = sw_json_uint(first, "bracket");

		for (last = first;
		     last->next != NULL && sw_json_uint(last->next, "bracket") == bracket;)
			last = last->next;
		if (first != rungs->child || last->next != NULL)
			(void)sw_buf_addf(b, "%s[%llu] ", first != rungs->child ? "  " : "",
					  (unsigned long long)bracket);
		add_bracket(b, first, last, utf8);
	}
	return true;
}

static void add_best(struct sw_buf *b, const struct sw_view *v, bool utf8)
{
	const cJSON *best = sw_json_get(v->head, "best");
	const cJSON *value = sw_json_get(best, "value");
	const uint64_t trial = sw_json_uint(best, "trial");

	(void)sw_buf_addf(b, LABEL, "best");
	if (trial == 0) {
		(void)sw_buf_adds(b, sw_json_text(v->head, "metric", NULL) != NULL
					     ? "none yet"
					     : "none: the sweep names no metric");
		return;
	}
	sw_header_mark(b, SW_TINT_BOLD);
	(void)sw_buf_addf(b, "%llu/%llu  ", (unsigned long long)v->sweep,
			  (unsigned long long)trial);
	sw_term_add(b, sw_json_text(v->head, "metric", "value"), utf8, 0);
	(void)sw_buf_adds(b, " ");
	sw_fmt_value(b, value, false, utf8);
	sw_header_mark(b, SW_TINT_NONE);
	(void)sw_buf_adds(b, " at step ");
	sw_fmt_value(b, sw_json_get(best, "step"), true, utf8);
	(void)sw_buf_adds(b, "  ");
	sw_fmt_params(b, sw_json_get(best, "params"), sw_json_get(v->head, "parameters"), utf8);
}

bool sw_header_line(struct sw_buf *b, const struct sw_view *v, int line, bool utf8, int64_t now_us)
{
	if (line > 0 && v->head == NULL)
		return false;
	if (line == 1)
		return add_wrong(b, v, utf8);
	if (line == 3)
		return add_rungs(b, v, utf8);
	if (line == 0)
		add_sweep(b, v, utf8, now_us);
	else if (line == 2)
		add_trials(b, v, utf8);
	else
		add_best(b, v, utf8);
	return true;
}

static const char *const sgr[SW_TINT_N] = {
	[SW_TINT_NONE] = "\033[0m",  [SW_TINT_GREEN] = "\033[32m", [SW_TINT_YELLOW] = "\033[33m",
	[SW_TINT_CYAN] = "\033[36m", [SW_TINT_RED] = "\033[31m",   [SW_TINT_MAGENTA] = "\033[35m",
	[SW_TINT_DIM] = "\033[2m",   [SW_TINT_BOLD] = "\033[1m",
};

int sw_header_mark_width(const char *s, bool utf8)
{
	enum sw_tint tint;
	int total = 0, w;

	while (*s != '\0') {
		if (sw_header_mark_read(*s, &tint)) {
			s++;
			continue;
		}
		(void)sw_term_next(&s, utf8, &w);
		total += w;
	}
	return total;
}

void sw_header_mark_print(struct sw_buf *out, const char *s, const struct sw_look *look)
{
	const bool cut = look->width > 0 && sw_header_mark_width(s, look->utf8) > look->width;
	enum sw_tint tint = SW_TINT_NONE;
	int used = 0, w;

	while (*s != '\0') {
		uint32_t rune;

		if (sw_header_mark_read(*s, &tint)) {
			if (look->color)
				(void)sw_buf_adds(out, sgr[tint]);
			s++;
			continue;
		}
		rune = sw_term_next(&s, look->utf8, &w);
		if (cut && used + w > look->width - 1) {
			sw_term_add_rune(out, look->utf8 ? 0x2026 : '~');
			break;
		}
		sw_term_add_rune(out, rune);
		used += w;
	}
	/* A line that was cut within a colour must not colour what follows. */
	if (look->color && tint != SW_TINT_NONE)
		(void)sw_buf_adds(out, sgr[SW_TINT_NONE]);
	(void)sw_buf_adds(out, "\n");
}

void sw_header_print(struct sw_buf *out, const struct sw_view *v, int line,
		     const struct sw_look *look, int64_t now_us)
{
	struct sw_buf b;

	struct sw_look whole = *look;

	sw_buf_init(&b, (size_t)1 << 20);
	const bool there = sw_header_line(&b, v, line, look->utf8, now_us);
	if (line == 1)
		whole.width = 0; /* the terminal breaks a cause better than a cut would */
	if (b.failed != SW_OK)
		out->failed = b.failed;
	else if (there)
		sw_header_mark_print(out, b.data, &whole);
	sw_buf_fini(&b);
}
