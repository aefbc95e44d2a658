#include "daemon/slot/speccheck.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/slot/errand.h"
#include "daemon/slot/slot.h"
#include "daemon/slot/worker_env.h"
#include "proto/json.h"
#include <stdlib.h>
#include <string.h>

#define FORM_MS 5000

struct sw_check {
	struct sw_check *next; /* of those that run, or of those that wait */
	struct sw_daemon *d;
	char *text;
	bool form;
	struct sw_errand *run; /* NULL: it waits */
	struct sw_speccheck facts;
	sw_speccheck_cb *done; /* NULL once it was called */
	void *user;
};

static void start_waiting(struct sw_daemon *d);

static bool read_count(const cJSON *verdict, const char *key, int64_t *out)
{
	uint64_t n;

	if (!sw_json_u64(sw_json_get(verdict, key), &n))
		return false;
	*out = (int64_t)n;
	return true;
}

/* False: a figure is missing. Those of a pipeline stand there only for one. */
static bool read_facts(const cJSON *verdict, struct sw_speccheck *out)
{
	const cJSON *flops = sw_json_get(verdict, "flops"),
		    *stage = sw_json_get(verdict, "stage_flops");

	out->flops = cJSON_GetNumberValue(flops);
	out->warnings = sw_json_get(verdict, "warnings");
	out->stage_flops = stage != NULL ? cJSON_GetNumberValue(stage) : 0;
	return read_count(verdict, "parameters", &out->parameters) &&
	       read_count(verdict, "bytes", &out->bytes) &&
	       read_count(verdict, "data_bytes", &out->data_bytes) &&
	       read_count(verdict, "data_sum", &out->data_sum) && cJSON_IsNumber(flops) &&
	       (stage == NULL || read_count(verdict, "parts", &out->parts));
}

static void read_faults(const cJSON *verdict, struct sw_speccheck *out, struct sw_err *err)
{
	const cJSON *first = cJSON_GetArrayItem(sw_json_get(verdict, "faults"), 0);

	out->faults = sw_json_get(verdict, "faults");
	(void)sw_err_at(err, SW_INVALID, sw_json_text(first, "pointer", "/trainer"), "%s",
			sw_json_text(first, "message", "refused"));
}

/* {"ok": true, ...} or {"ok": false, "faults": [{"pointer": P, "message": M}]}; the caller's. */
static cJSON *read_verdict(struct sw_check *c, const struct sw_errand_end *run, struct sw_err *err)
{
	struct sw_err bad = SW_ERR_INIT;
	cJSON *v = NULL;

	if (run->late)
		(void)sw_err_at(err, SW_BUSY, "/trainer", "checking the model%s took over %d s",
				c->form ? "" : " and the data", c->form ? FORM_MS / 1000 : 60);
	else if (!run->ok || sw_json_parse(&v, run->out, strlen(run->out), &bad) != SW_OK)
		(void)sw_err_at(err, SW_INTERNAL, "/trainer",
				"sweep-worker could not check the model and the data: %s",
				run->ok ? bad.msg : run->why);
	else if (!cJSON_IsBool(sw_json_get(v, "ok")))
		(void)sw_err_at(err, SW_INTERNAL, "/trainer",
				"sweep-worker could not check the model and the data: its answer "
				"says neither yes nor no");
	else if (!cJSON_IsTrue(sw_json_get(v, "ok"))) /* refused by it, in its own words */
		read_faults(v, &c->facts, err);
	else if (!c->form && !read_facts(v, &c->facts))
		(void)sw_err_at(err, SW_INTERNAL, "/trainer",
				"sweep-worker could not check the model and the data: its answer "
				"lacks a figure");
	return v;
}

static void answer_check(struct sw_check *c, const struct sw_err *err)
{
	sw_speccheck_cb *done = c->done;

	c->done = NULL;
	if (done != NULL)
		done(c->user, err, &c->facts);
}

static void free_check(struct sw_check *c)
{
	free(c->text);
	free(c);
}

static void unlink_check(struct sw_check *c)
{
	struct sw_daemon *d = c->d;

	/* There are one more than SW_SPECCHECK_AT_ONCE at most. */
	for (struct sw_check **p = &d->slot.checks; *p != NULL; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			return;
		}
}

static void on_ended(void *user, const struct sw_errand_end *run)
{
	struct sw_check *c = user;
	struct sw_daemon *d = c->d;
	struct sw_err err = SW_ERR_INIT;

	cJSON *verdict = read_verdict(c, run, &err);
	/* First out of the list: the answer may start another check, or stop the daemon. */
	unlink_check(c);
	answer_check(c, &err);
	cJSON_Delete(verdict);
	free_check(c);
	start_waiting(d);
}

static bool has_gpus(const struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (d->slot.slots[i].device.kind->gpu)
			return true;
	return false;
}

/* Into the list of those that run. */
static void run_check(struct sw_check *c)
{
	struct sw_daemon *d = c->d;
	char *argv[] = {d->config.worker, "check", NULL, NULL};
	char *none[] = {NULL};
	char *env[SW_WORKER_ENV_MAX + 1];
	struct sw_err err = SW_ERR_INIT;

	if (c->form)
		argv[2] = "form";
	else if (has_gpus(d))
		argv[2] = "gpu";
	/* The worker's environment and program: a check in any other would say little of its
	 * trials. */
	sw_worker_env_fill(env, none);
	c->run = sw_errand_start(d->loop, argv, env, c->text, on_ended, c);
	if (c->run == NULL) {
		(void)sw_err_set(&err, SW_NOMEM, "no memory or no descriptor is left for a check");
		answer_check(c, &err);
		free_check(c);
		return;
	}
	if (c->form)
		sw_errand_limit(c->run, FORM_MS);
	c->next = d->slot.checks;
	d->slot.checks = c;
}

/* Checks that read data may take a minute each: a form does not wait for them. */
static bool may_run(const struct sw_daemon *d, const struct sw_check *c)
{
	size_t n = 0;

	for (const struct sw_check *o = d->slot.checks; o != NULL; o = o->next)
		n += o->form == c->form;
	return n < (c->form ? 1 : SW_SPECCHECK_AT_ONCE);
}

static void start_waiting(struct sw_daemon *d)
{
	for (struct sw_check **p = &d->slot.checks_waiting; *p != NULL;) {
		struct sw_check *c = *p;

		if (!may_run(d, c)) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		d->slot.check_waiting_n--;
		run_check(c);
		/* From the first: without memory it was answered, which may have asked anew. */
		p = &d->slot.checks_waiting;
	}
}

sw_status sw_speccheck_start(struct sw_daemon *d, const char *text, bool form,
			     sw_speccheck_cb *done, void *user, struct sw_err *err)
{
	struct sw_check **last = &d->slot.checks_waiting, *c;

	if (d->phase != SW_UP)
		return sw_err_set(err, SW_BUSY, "the daemon is stopping");
	if (d->slot.check_waiting_n >= SW_SPECCHECK_WAITING)
		return sw_err_set(err, SW_BUSY, "%d specs wait to be checked; try again",
				  SW_SPECCHECK_WAITING);
	c = sw_calloc(1, sizeof *c);
	if (c == NULL || (c->text = sw_strdup(text)) == NULL) {
		free(c);
		return sw_err_set(err, SW_NOMEM, "out of memory");
	}
	c->d = d;
	c->form = form;
	c->done = done;
	c->user = user;
	while (*last != NULL)
		last = &(*last)->next;
	*last = c;
	d->slot.check_waiting_n++;
	start_waiting(d);
	return SW_OK;
}

void sw_speccheck_stop_all(struct sw_daemon *d)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_check *c;

	(void)sw_err_set(&err, SW_BUSY, "the daemon is stopping");
	while ((c = d->slot.checks_waiting) != NULL) {
		d->slot.checks_waiting = c->next;
		d->slot.check_waiting_n--;
		answer_check(c, &err);
		free_check(c);
	}
	for (c = d->slot.checks; c != NULL; c = c->next) {
		answer_check(c, &err);
		/* Its end comes to on_ended(), which finds it answered and frees it. */
		sw_errand_kill(c->run);
	}
}
