#include "cli/complete.h"
#include "cli/cli.h"
#include "cli/host.h"
#include "cli/verb.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 1   /* of all, however the daemon answers */
#define HOST_S  4   /* the same with --host */
#define CALL_MS 500 /* of one question to it */
#define FILES   ":files\n"

/* The words that an option's value may be; the other options take a number or a text. */
static const struct {
	sw_opts bit;
	const char *words;
} choices[] = {
	{SW_OPT_STATE, "pending running paused completed pruned failed infeasible cancelled"},
	{SW_OPT_SCOPE, "all last avg last-5-avg"},
	{SW_OPT_TO, "csv json"},
	{SW_OPT_FORMAT, "csv npy idx cifar10 cifar100 tokens"},
	{SW_OPT_MAX_CONCURRENT | SW_OPT_TIME_BUDGET | SW_OPT_GPU_HOURS | SW_OPT_LEASE, "none"},
};

struct line {
	struct sw_cli *c;
	const char *word; /* being completed; behind "--name=" its value */
	char head[64];    /* what stands before a value: "--state=", or "" */
};

/* One candidate, if the word is its beginning. */
static void offer(const struct line *l, const char *candidate, const char *what)
{
	struct sw_buf *out = &l->c->out;
	char text[80];

	if (strncmp(candidate, l->word, strlen(l->word)) != 0)
		return;
	/* Its first words: a line is all that a shell shows. */
	(void)snprintf(text, sizeof text, "%s", what);
	(void)sw_buf_addf(out, "%s%s\t", l->head, candidate);
	sw_cli_text(l->c, text);
	(void)sw_buf_adds(out, "\n");
}

/* --- what the daemon knows --- */

static bool ask(struct sw_cli *c, const char *method, const char *params, struct sw_reply *r)
{
	struct sw_err err = SW_ERR_INIT;

	return sw_cli_ask(c, method, params, r, &err) == SW_OK;
}

/* A name that a shell takes as it is, and that no number is. */
static bool is_plain(const char *name)
{
	return name[strspn(name, "0123456789")] != '\0' && name[0] != '-' &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_.+@%-")] == '\0';
}

/* Numbers and names of sweeps, the newest first, and their trials behind "/". */
static void offer_sweeps(const struct line *l, enum sw_ref_kind kind)
{
	struct sw_reply r = SW_REPLY_INIT;
	const char *end = kind == SW_REF_TRIAL ? "/" : "";
	const cJSON *sweep;
	char text[128], what[32];
	uint64_t n;

	if (ask(l->c, "sweep.list", NULL, &r)) {
		cJSON_ArrayForEach (sweep, sw_json_get(r.result, "sweeps")) {
			const char *name = sw_json_text(sweep, "name", "");

			if (!sw_json_u64(sw_json_get(sweep, "sweep"), &n))
				continue;
			(void)snprintf(text, sizeof text, "%" PRIu64 "%s", n, end);
			offer(l, text, name);
			(void)snprintf(text, sizeof text, "%s%s", name, end);
			(void)snprintf(what, sizeof what, "sweep %" PRIu64, n);
			if (is_plain(name))
				offer(l, text, what);
		}
	}
	sw_client_reply_fini(&r);
}

/* The number of the sweep that the first len bytes of a word name; 0: none. */
static uint64_t find_sweep(struct sw_cli *c, const char *word, size_t len)
{
	struct sw_reply r = SW_REPLY_INIT;
	char params[160];
	uint64_t n;

	if (len > 0 && strspn(word, "0123456789") >= len)
		return strtoull(word, NULL, 10);
	(void)snprintf(params, sizeof params, "{\"name\":\"%.*s\"}", (int)(len < 100 ? len : 100),
		       word); /* a name that needs escapes is not offered, and not found */
	n = ask(c, "sweep.find", params, &r) ? sw_json_uint(r.result, "sweep") : 0;
	sw_client_reply_fini(&r);
	return n;
}

static void offer_trials(const struct line *l)
{
	const size_t len = strcspn(l->word, "/");
	struct sw_reply r = SW_REPLY_INIT;
	char text[160];
	const cJSON *trial;
	uint64_t n;

	(void)snprintf(text, sizeof text, "{\"sweep\":%" PRIu64 "}",
		       find_sweep(l->c, l->word, len));
	if (ask(l->c, "trial.list", text, &r)) {
		cJSON_ArrayForEach (trial, sw_json_get(r.result, "trials")) {
			if (!sw_json_u64(sw_json_get(trial, "trial"), &n))
				continue;
			(void)snprintf(text, sizeof text, "%.*s/%" PRIu64, (int)len, l->word, n);
			offer(l, text, sw_json_text(trial, "state", ""));
		}
	}
	sw_client_reply_fini(&r);
}

/* "lr=" of each parameter, of those with a range alone for --range. */
static void offer_params(const struct line *l, const char *sweep, bool ranges)
{
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_spec *spec = NULL;
	char text[160];

	(void)snprintf(text, sizeof text, "{\"sweep\":%" PRIu64 "}",
		       find_sweep(l->c, sweep, strlen(sweep)));
	if (ask(l->c, "sweep.get", text, &r) &&
	    sw_spec_read(&spec, sw_json_get(r.result, "spec"), NULL) == SW_OK) {
		for (size_t i = 0; i < spec->n_params; i++) {
			const struct sw_spec_param *p = &spec->params[i];
			char range[64] = "";

			if (p->has_min && p->has_max)
				(void)snprintf(range, sizeof range, "%g..%g", p->min, p->max);
			else if (ranges)
				continue;
			(void)snprintf(text, sizeof text, "%s=", p->name);
			offer(l, text, range);
		}
	}
	sw_spec_destroy(spec);
	sw_client_reply_fini(&r);
}

/* --- the command line --- */

static const struct sw_option *option_of(const char *word)
{
	const size_t n = strcspn(word, "=");

	for (size_t i = 0; i < sw_options_n; i++) {
		const struct sw_option *o = &sw_options[i];

		if (word[0] == '-' && word[1] == o->letter && word[2] == '\0')
			return o;
		if (n > 2 && strncmp(word, "--", 2) == 0 && strlen(o->name) == n - 2 &&
		    strncmp(word + 2, o->name, n - 2) == 0)
			return o;
	}
	return NULL;
}

static void offer_value(const struct line *l, const struct sw_option *o, const char *sweep)
{
	char words[128], *rest = words;

	if (o->bit == SW_OPT_RANGE && sweep != NULL)
		offer_params(l, sweep, true);
	if (strcmp(o->value, "FILE") == 0 || strcmp(o->value, "PATH") == 0)
		(void)sw_buf_adds(&l->c->out, FILES);
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
		if (!(choices[i].bit & o->bit))
			continue;
		(void)snprintf(words, sizeof words, "%s", choices[i].words);
		for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
			offer(l, word, "");
	}
}

static void offer_options(const struct line *l, const struct sw_verb *v)
{
	const sw_opts takes = SW_OPT_ALWAYS | (v != NULL ? v->options : 0);
	char name[48];

	for (size_t i = 0; i < sw_options_n; i++)
		if (sw_options[i].bit & takes) {
			(void)snprintf(name, sizeof name, "--%s", sw_options[i].name);
			offer(l, name, sw_options[i].help);
		}
}

/* A word that is no option: the k-th behind the verb. */
static void offer_word(const struct line *l, const struct sw_verb *v, size_t k, const char *first)
{
	if (v == NULL || strcmp(v->name, "help") == 0)
		for (size_t i = 0; i < sw_verbs_n; i++)
			offer(l, sw_verbs[i].name, sw_verbs[i].summary);
	else if (strcmp(v->name, "enqueue") == 0 && k > 0)
		offer_params(l, first, false);
	else if (k >= v->most || v->run == sw_verb_rpc ||
		 (k > 0 && v->ref != SW_REF_NONE && v->run != sw_verb_rm &&
		  v->run != sw_verb_watch))
		return; /* no further word, a method's name, or one of the user's own */
	else if (v->ref == SW_REF_NONE)
		(void)sw_buf_adds(&l->c->out, FILES);
	else if (strchr(l->word, '/') != NULL && v->ref != SW_REF_SWEEP)
		offer_trials(l);
	else
		offer_sweeps(l, v->ref);
}

/* words[0..n): the last is being completed. */
static void complete(struct line *l, char *const *words, size_t n)
{
	const struct sw_option *open = NULL; /* the option whose value comes next */
	const struct sw_verb *v = NULL;
	const char *first = NULL;
	size_t k = 0; /* words behind the verb */
	bool verb = false;

	for (size_t i = 0; i + 1 < n; i++) {
		const struct sw_option *o = option_of(words[i]);

		/* --socket and --host count on the way: sweeps are asked of the daemon that the
		 * line means. */
		if (open != NULL && open->bit == SW_OPT_SOCKET &&
		    strlen(words[i]) < sizeof l->c->socket)
			l->c->socket_given =
				snprintf(l->c->socket, sizeof l->c->socket, "%s", words[i]) > 0;
		if (open != NULL && open->bit == SW_OPT_HOST && sw_host_is_name(words[i])) {
			l->c->args.host = words[i];
			(void)alarm(HOST_S);
		}
		if (open == NULL && words[i][0] != '-') {
			if (!verb)
				v = sw_verb_find(words[i]);
			else if (k++ == 0)
				first = words[i];
			verb = true;
		}
		open = open == NULL && o != NULL && o->kind != SW_KIND_FLAG &&
				       strchr(words[i], '=') == NULL
			       ? o
			       : NULL;
	}
	l->word = words[n - 1];
	const char *eq = strchr(l->word, '=');
	if (open == NULL && l->word[0] == '-' && eq != NULL && option_of(l->word) != NULL &&
	    option_of(l->word)->kind != SW_KIND_FLAG) {
		open = option_of(l->word);
		(void)snprintf(l->head, sizeof l->head, "%.*s", (int)(eq + 1 - l->word), l->word);
		l->word = eq + 1;
	}
	if (open != NULL)
		offer_value(l, open, first);
	else if (l->word[0] == '-')
		offer_options(l, v);
	else if (v != NULL || !verb)
		offer_word(l, v, k, first);
}

static void on_limit(int sig)
{
	(void)sig;
	_exit(SW_EXIT_DONE);
}

int sw_complete_main(int argc, char *const *argv)
{
	const struct sw_args none = {.verb = NULL};
	struct sw_cli c;
	struct line l = {.c = &c};

	/* A shell waits for this program at each Tab, so it ends in time whatever hangs. */
	(void)signal(SIGALRM, on_limit);
	(void)alarm(LIMIT_S);
	if (argc > 1 && sw_cli_init(&c, &none, NULL) == SW_OK) {
		c.quiet = true;
		c.reply_ms = CALL_MS;
		complete(&l, argv + 1, (size_t)argc - 1);
		(void)sw_cli_flush(&c);
		sw_cli_fini(&c);
	}
	return SW_EXIT_DONE;
}
