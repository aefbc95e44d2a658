/*
 * tests/sched/sweep/script.h — drives a sweep by short lines of text and writes its actions as
 * text, so that a test reads as a story.
 *
 *   event     ask | report T A SEQ STEP VALUE | keep T A SEQ STEP VALUE (with a checkpoint) |
 *             note T A SEQ STEP (without the metric) | final T A SEQ STEP VALUE |
 *             tell T A STATE [CAUSE] | lost T A [CAUSE] | release T A [CAUSE] | cancel-trial T |
 *             pause | resume | cancel | fail [CAUSE] | stop [CAUSE] | settle | extend N |
 *             edit [run_cap N] [max_concurrent N] [target X] [PARAM MIN MAX]...
 *   actions   "create 1; start 1.1", "create 9<3@20; start 9.1@20<3 until 30" (a child of trial 3,
 *             from its checkpoint of step 20), "start 1.2@9" (from its own), "go",
 *             "stop (...)", "hold (...); pause 1.1@9 rung 9: ...", "retry 1.1 lost",
 *             "end 1.1 PRUNED rung 1: rank 3 of 3", "kill 1.1", "sweep COMPLETED"; "" for none
 *   refused   "CONFLICT /seq message"
 */
#ifndef SW_TESTS_SCHED_SWEEP_SCRIPT_H
#define SW_TESTS_SCHED_SWEEP_SCRIPT_H

#include "sched/sweep/sweep.h"
#include "tests/sched/suite.h"
#include "tests/sched/sweep/invariant.h"
#include <inttypes.h>
#include <stdarg.h>

struct text {
	char s[4000];
	size_t n;
};

static inline void addf(struct text *t, const char *fmt, ...) SW_PRINTF(2, 3);
static inline void addf(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	const int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
	va_end(ap);
	ck_assert(n >= 0 && (size_t)n < sizeof t->s - t->n);
	t->n += (size_t)n;
}

static inline void write_decision(struct text *t, const struct sw_action *a)
{
	const struct sw_judgement *j = &a->judgement;

	addf(t, "%s",
	     a->decision == SW_DECISION_STOP    ? "stop"
	     : a->decision == SW_DECISION_PAUSE ? "hold"
						: "go");
	if (j->rung != 0)
		addf(t,
		     " (rung %" PRIu64 " value %g rank %" PRIu64 "/%" PRIu64 " keep %" PRIu64
		     " cutoff %s",
		     j->rung, j->value, j->better + 1, j->n, j->keep,
		     j->cutoff != j->cutoff ? "none)" : "");
	if (j->rung != 0 && j->cutoff == j->cutoff)
		addf(t, "%g)", j->cutoff);
}

static inline void write_resume(struct text *t, const struct sw_action *a)
{
	ck_assert_int_eq(a->resume_step != 0, a->from != 0);
	if (a->resume_step != 0)
		addf(t, "@%" PRIu64, a->resume_step);
}

static inline void write_action(struct text *t, const struct sw_action *a)
{
	switch (a->kind) {
	case SW_ACTION_CREATE:
		ck_assert_ptr_nonnull(a->values);
		addf(t, "create %" PRIu64, a->trial);
		ck_assert((a->parent != 0) >= (a->from != 0));
		if (a->parent != 0)
			addf(t, "<%" PRIu64, a->parent);
		write_resume(t, a);
		return;
	case SW_ACTION_START:
		addf(t, "start %" PRIu64 ".%u", a->trial, a->attempt);
		write_resume(t, a);
		if (a->from != 0 && a->from != a->trial)
			addf(t, "<%" PRIu64, a->from);
		if (a->until != 0)
			addf(t, " until %" PRIu64, a->until);
		return;
	case SW_ACTION_DECIDE:
		write_decision(t, a);
		return;
	case SW_ACTION_RETRY:
		addf(t, "retry %" PRIu64 ".%u %s", a->trial, a->attempt, a->cause);
		return;
	case SW_ACTION_PAUSE:
		addf(t, "pause %" PRIu64 ".%u@%" PRIu64 " %s", a->trial, a->attempt, a->resume_step,
		     a->cause);
		return;
	case SW_ACTION_END:
		addf(t, "end %" PRIu64 ".%u %s%s%s", a->trial, a->attempt,
		     sw_trial_state_name(a->end), a->cause[0] != '\0' ? " " : "", a->cause);
		return;
	case SW_ACTION_STOP:
		addf(t, "kill %" PRIu64 ".%u", a->trial, a->attempt);
		return;
	case SW_ACTION_SWEEP:
		addf(t, "sweep %s%s%s", sw_sweep_state_name(a->sweep),
		     a->cause[0] != '\0' ? " " : "", a->cause);
		return;
	}
	ck_abort_msg("unknown action %d", (int)a->kind);
}

static inline const char *status_word(sw_status rc)
{
	return rc == SW_CONFLICT    ? "CONFLICT"
	       : rc == SW_NOT_FOUND ? "NOT_FOUND"
	       : rc == SW_INVALID   ? "INVALID"
	       : rc == SW_EXHAUSTED ? "EXHAUSTED"
				    : "OTHER";
}

/* Valid until the next one. */
static inline const struct sw_edit *parse_edit(const char *line)
{
	static struct sw_range ranges[8];
	static struct sw_edit e;
	char word[20];
	double a;
	int used = 0;

	e = (struct sw_edit){.ranges = ranges};
	for (; sscanf(line, "%19s%lf%n", word, &a, &used) == 2; line += used) {
		if (strcmp(word, "run_cap") == 0) {
			e.has_run_cap = true;
			e.run_cap = (uint64_t)a;
		} else if (strcmp(word, "max_concurrent") == 0) {
			e.has_max_concurrent = true;
			e.max_concurrent = (uint64_t)a;
		} else if (strcmp(word, "target") == 0) {
			e.has_target = true;
			e.target = a;
		} else {
			struct sw_range *r = &ranges[e.n_ranges++];

			ck_assert_uint_le(e.n_ranges, ROWS(ranges));
			ck_assert_int_eq(sscanf(word, "%zu", &r->param), 1);
			line = strstr(line, word) + strlen(word);
			ck_assert_int_eq(sscanf(line, "%lf%lf%n", &r->min, &r->max, &used), 2);
		}
	}
	ck_assert_msg(sscanf(line, "%19s", word) != 1, "%s", line);
	return &e;
}

static inline struct sw_event parse_event(const char *line, char cause[200])
{
	static const struct {
		const char *word;
		enum sw_event_kind kind;
	} words[] = {{"ask", SW_EVENT_ASK},         {"report", SW_EVENT_REPORT},
		     {"note", SW_EVENT_REPORT},     {"final", SW_EVENT_REPORT},
		     {"tell", SW_EVENT_TELL},       {"lost", SW_EVENT_LOST},
		     {"release", SW_EVENT_RELEASE}, {"cancel-trial", SW_EVENT_CANCEL_TRIAL},
		     {"pause", SW_EVENT_PAUSE},     {"resume", SW_EVENT_RESUME},
		     {"cancel", SW_EVENT_CANCEL},   {"fail", SW_EVENT_FAIL},
		     {"extend", SW_EVENT_EXTEND},   {"stop", SW_EVENT_STOP},
		     {"edit", SW_EVENT_EDIT},       {"keep", SW_EVENT_REPORT},
		     {"settle", SW_EVENT_SETTLE},   {"result", SW_EVENT_REPORT},
		     {"bare", SW_EVENT_REPORT}};
	struct sw_event ev = {.kind = SW_EVENT_KIND_N};
	char word[20], state[20];
	int used = 0;

	cause[0] = '\0';
	ck_assert_int_eq(sscanf(line, "%19s%n", word, &used), 1);
	for (size_t i = 0; i < ROWS(words); i++)
		if (strcmp(word, words[i].word) == 0)
			ev.kind = words[i].kind;
	ck_assert_msg(ev.kind != SW_EVENT_KIND_N, "%s", line);
	line += used;
	if (ev.kind == SW_EVENT_REPORT) {
		ev.has_value = strcmp(word, "note") != 0;
		ev.result = strcmp(word, "result") == 0;
		ev.final = ev.result || strcmp(word, "final") == 0;
		ev.checkpoint = strcmp(word, "keep") == 0;
		ev.stateless = strcmp(word, "bare") == 0;
		ck_assert_int_eq(sscanf(line, "%" SCNu64 "%u%" SCNu64 "%" SCNu64 "%lf", &ev.trial,
					&ev.attempt, &ev.seq, &ev.step, &ev.value),
				 ev.has_value ? 5 : 4);
	} else if (ev.kind == SW_EVENT_TELL) {
		ck_assert_int_ge(sscanf(line, "%" SCNu64 "%u%19s %199[^\n]", &ev.trial, &ev.attempt,
					state, cause),
				 3);
		ck_assert_int_eq(sw_trial_state_find(state, &ev.end), SW_OK);
	} else if (ev.kind == SW_EVENT_EXTEND) {
		ck_assert_int_eq(sscanf(line, "%" SCNu64, &ev.run_cap), 1);
	} else if (ev.kind == SW_EVENT_EDIT) {
		ev.edit = parse_edit(line);
	} else if (ev.kind == SW_EVENT_FAIL || ev.kind == SW_EVENT_STOP) {
		(void)sscanf(line, " %199[^\n]", cause);
	} else {
		(void)sscanf(line, "%" SCNu64 "%u %199[^\n]", &ev.trial, &ev.attempt, cause);
	}
	ev.cause = cause[0] != '\0' ? cause : NULL;
	return ev;
}

/* One event; what came of it, as text. */
static inline const char *play(struct sw_sweep *s, struct sw_actions *actions, const char *line)
{
	static struct text t;
	char cause[200];
	const struct sw_event ev = parse_event(line, cause);
	struct sw_err e = SW_ERR_INIT;

	t.n = 0;
	t.s[0] = '\0';
	const sw_status rc = sw_sweep_step(s, &ev, actions, &e);
	sweep_invariant(s);
	ck_assert_int_eq(e.code, rc);
	if (rc != SW_OK) {
		ck_assert_uint_eq(actions->n, 0);
		addf(&t, "%s %s%s%s", status_word(rc), e.ptr, e.ptr[0] != '\0' ? " " : "", e.msg);
		return t.s;
	}
	for (size_t i = 0; i < actions->n; i++) {
		addf(&t, "%s", i > 0 ? "; " : "");
		write_action(&t, &actions->v[i]);
	}
	return t.s;
}

#endif
