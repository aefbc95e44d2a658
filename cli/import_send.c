/* cli/import_send.c — an imported study as a sweep that this client drives from end to end. */
#include "cli/import.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CHUNK  100 /* trials that run at once */
#define FLIGHT 64  /* requests without an answer: the daemon's limit is 256, or 1 MiB */

struct sender {
	struct sw_cli *c;
	const struct sw_import *im;
	uint64_t sweep;
	size_t flight;
	uint64_t trial[CHUNK]; /* the numbers of the chunk's trials */
	struct sw_err err;
	sw_status rc; /* the first failure */
};

/* --- requests, several at a time --- */

static void take_answer(struct sender *s)
{
	struct sw_reply r = SW_REPLY_INIT;

	const sw_status rc = sw_client_read(s->c->client, SW_CLIENT_REPLY_MS, &r,
					    s->rc == SW_OK ? &s->err : NULL);
	s->flight = rc == SW_OK || rc == SW_INVALID ? s->flight - 1 : 0;
	if (s->rc == SW_OK)
		s->rc = rc;
	sw_client_reply_fini(&r);
}

static void take_answers(struct sender *s, size_t most)
{
	while (s->flight > most)
		take_answer(s);
}

static void send_params(struct sender *s, const char *method, const struct sw_buf *params)
{
	int64_t id;

	take_answers(s, FLIGHT - 1);
	if (s->rc == SW_OK && params->failed != SW_OK)
		s->rc = sw_err_set(&s->err, params->failed, "%s", sw_status_str(params->failed));
	if (s->rc != SW_OK)
		return;
	s->rc = sw_client_send(s->c->client, method, params->data, SW_CLIENT_REPLY_MS, &id,
			       &s->err);
	s->flight += s->rc == SW_OK;
}

/* Begins {"sweep": ...; of a trial, its first attempt. */
static void begin(struct sw_jw *w, struct sw_buf *b, const struct sender *s, uint64_t trial)
{
	sw_buf_clear(b);
	sw_jw_init(w, b);
	sw_jw_obj(w);
	sw_jw_kint(w, "sweep", (int64_t)s->sweep);
	if (trial == 0)
		return;
	sw_jw_kint(w, "trial", (int64_t)trial);
	sw_jw_kint(w, "attempt", 1);
}

static void add(struct sw_jw *w, const char *key, const cJSON *v)
{
	if (v == NULL)
		return;
	sw_jw_key(w, key);
	sw_jw_cjson(w, v);
}

/* --- trials --- */

static void enqueue(struct sender *s, const cJSON *trial, struct sw_buf *b)
{
	struct sw_jw w;

	begin(&w, b, s, 0);
	add(&w, "params", sw_json_get(trial, "params"));
	sw_jw_obj_end(&w);
	send_params(s, "trial.enqueue", b);
}

/* Enqueued trials are handed out in their order. */
static void ask(struct sender *s, size_t n)
{
	struct sw_reply r = SW_REPLY_INIT;
	const cJSON *one;
	char params[96];
	size_t i = 0;

	if (s->rc != SW_OK)
		return;
	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 ",\"count\":%zu}", s->sweep, n);
	s->rc = sw_client_call(s->c->client, "trial.ask", params, SW_CLIENT_REPLY_MS, &r, &s->err);
	if (s->rc == SW_OK)
		cJSON_ArrayForEach (one, sw_json_get(r.result, "trials"))
			if (i < n && sw_json_u64(sw_json_get(one, "trial"), &s->trial[i]))
				i++;
	if (s->rc == SW_OK && i < n)
		s->rc = sw_err_set(&s->err, SW_INVALID,
				   "sweep %" PRIu64 " handed out %zu of %zu "
				   "trials",
				   s->sweep, i, n);
	sw_client_reply_fini(&r);
}

static void play(struct sender *s, const cJSON *trial, uint64_t number, struct sw_buf *b)
{
	const cJSON *report;
	struct sw_jw w;
	int64_t seq = 0;

	cJSON_ArrayForEach (report, sw_json_get(trial, "reports")) {
		begin(&w, b, s, number);
		sw_jw_kint(&w, "seq", ++seq);
		add(&w, "step", sw_json_get(report, "step"));
		add(&w, "metrics", sw_json_get(report, "metrics"));
		sw_jw_obj_end(&w);
		send_params(s, "trial.report", b);
	}
	begin(&w, b, s, number);
	add(&w, "state", sw_json_get(trial, "state"));
	add(&w, "metrics", sw_json_get(trial, "metrics"));
	sw_jw_obj_end(&w);
	send_params(s, "trial.tell", b);
}

static const cJSON *play_chunk(struct sender *s, const cJSON *first, struct sw_buf *b)
{
	const cJSON *trial = first;
	size_t n = 0;

	for (; trial != NULL && n < CHUNK; trial = trial->next, n++)
		enqueue(s, trial, b);
	take_answers(s, 0);
	ask(s, n);
	trial = first;
	for (size_t i = 0; i < n; i++, trial = trial->next)
		if (s->rc == SW_OK)
			play(s, trial, s->trial[i], b);
	take_answers(s, 0);
	return trial;
}

/* --- the sweep --- */

static void write_spec(struct sw_buf *b, const struct sw_import *im)
{
	const bool several = cJSON_GetArraySize(im->metrics) > 1;
	struct sw_jw w;
	char text[200];

	(void)snprintf(text, sizeof text, "imported from %s: %.160s", im->tool, im->path);
	sw_jw_init(&w, b);
	sw_jw_obj(&w);
	sw_jw_key(&w, "spec");
	sw_jw_obj(&w);
	sw_jw_kstr(&w, "name", im->name);
	sw_jw_kstr(&w, "description", text);
	sw_jw_kstr(&w, "method", "random");
	add(&w, several ? "metrics" : "metric", several ? im->metrics : im->metrics->child);
	add(&w, "parameters", im->parameters);
	sw_jw_kint(&w, "run_cap", cJSON_GetArraySize(im->trials));
	sw_jw_obj_end(&w);
	sw_jw_obj_end(&w);
}

/* With --json the answer, the sweep's number, is what is printed. */
static int submit(struct sender *s)
{
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_buf spec;
	int status;

	sw_buf_init(&spec, SW_CLIENT_MAX_LINE);
	write_spec(&spec, s->im);
	if (spec.failed != SW_OK) {
		sw_cli_say(s->c, "%s: %s", s->im->path, sw_status_str(spec.failed));
		status = SW_EXIT_REFUSED;
	} else {
		status = sw_cli_call(s->c, "sweep.submit", spec.data, &r);
	}
	if (status == SW_EXIT_DONE && !sw_json_u64(sw_json_get(r.result, "sweep"), &s->sweep)) {
		sw_cli_say(s->c, "the daemon's reply names no sweep");
		status = SW_EXIT_NO_DAEMON;
	}
	sw_buf_fini(&spec);
	sw_client_reply_fini(&r);
	return status;
}

static void print_done(struct sw_cli *c, const struct sender *s)
{
	static const char *const states[] = {"COMPLETED", "PRUNED", "FAILED"};
	const cJSON *trial;

	(void)sw_buf_addf(&c->out, "sweep %" PRIu64 ":", s->sweep);
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
		size_t n = 0;

		cJSON_ArrayForEach (trial, s->im->trials)
			n += strcmp(sw_json_get(trial, "state")->valuestring, states[i]) == 0;
		(void)sw_buf_addf(&c->out, "%s %zu %s", i > 0 ? "," : "", n, states[i]);
	}
	(void)sw_buf_adds(&c->out, "\n");
}

static void cancel(struct sender *s)
{
	struct sw_reply r = SW_REPLY_INIT;
	char params[64];

	(void)snprintf(params, sizeof params, "{\"sweep\":%" PRIu64 "}", s->sweep);
	(void)!sw_client_call(s->c->client, "sweep.cancel", params, SW_CLIENT_REPLY_MS, &r, NULL);
	sw_client_reply_fini(&r);
}

int sw_import_send(struct sw_cli *c, const struct sw_import *im)
{
	struct sender s = {.c = c, .im = im, .err = SW_ERR_INIT, .rc = SW_OK};
	const cJSON *trial = im->trials->child;
	struct sw_buf b;

	const int status = submit(&s);
	if (status != SW_EXIT_DONE)
		return status;
	sw_buf_init(&b, SW_CLIENT_MAX_LINE);
	while (trial != NULL && s.rc == SW_OK)
		trial = play_chunk(&s, trial, &b);
	sw_buf_fini(&b);
	if (s.rc != SW_OK) {
		if (s.rc == SW_INVALID || s.rc == SW_NOMEM)
			cancel(&s); /* a part of a study is of no use */
		return sw_cli_failed(c, s.rc, &s.err);
	}
	if (!(c->args.given & SW_OPT_JSON))
		print_done(c, &s);
	return SW_EXIT_DONE;
}
