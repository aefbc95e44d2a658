/* daemon/handlers_why.c — trial.why: a decision in words and numbers. */
#include "daemon/daemon.h"
#include "daemon/handlers.h"
#include "daemon/host.h"
#include "daemon/lookup.h"
#include "daemon/supervisor.h"
#include "store/read.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Six digits that mean something, as people write numbers. */
static const char *show(double v, char out[32])
{
	(void)snprintf(out, 32, "%.6g", v);
	return out;
}

static bool write_decision(const struct sw_row_decision *row, void *arg)
{
	struct sw_lookup *q = arg;
	char cutoff[32], value[32];

	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "attempt", row->attempt);
	sw_jw_kint(&q->w, "seq", row->seq);
	sw_jw_kstr(&q->w, "decision", row->verdict);
	sw_jw_kint(&q->w, "bracket", row->bracket);
	sw_jw_kint(&q->w, "rung", row->rung);
	sw_jw_kint(&q->w, "rank", row->better + 1);
	sw_jw_kint(&q->w, "n", row->n);
	sw_jw_kint(&q->w, "keep", row->keep);
	if (row->has_cutoff)
		sw_jw_knum(&q->w, "cutoff", row->cutoff);
	else
		sw_jw_knull(&q->w, "cutoff");
	sw_jw_knum(&q->w, "value", row->value);
	sw_jw_obj_end(&q->w);
	(void)snprintf(
		q->cause, sizeof q->cause, "at rung %lld: rank %lld of %lld, cutoff %s, value %s",
		(long long)row->rung, (long long)row->better + 1, (long long)row->n,
		row->has_cutoff ? show(row->cutoff, cutoff) : "none yet", show(row->value, value));
	return true;
}

/* Keeps the row's state and cause in `more` for why_done(): "STATE cause". */
static bool keep_state(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	(void)snprintf(q->text, sizeof q->text, "%s", row->state);
	(void)sw_buf_adds(&q->more, row->cause != NULL ? row->cause : "");
	q->a = row->attempt;
	q->b = row->step;
	return true;
}

/* The stored object into `extra`, for why_done(). */
static bool keep_suggestion(const struct sw_row_suggestion *row, void *arg)
{
	struct sw_lookup *q = arg;

	(void)sw_buf_adds(&q->extra, row->why != NULL ? row->why : "");
	return true;
}

static void read_why(struct sw_db *db, struct sw_lookup *q)
{
	q->rc = sw_read_trial(db, q->sweep, q->trial, keep_state, q, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_jw_arr(&q->w);
	q->rc = sw_read_decisions(db, q->sweep, q->trial, write_decision, q, &q->err);
	sw_jw_arr_end(&q->w);
	if (q->rc == SW_OK)
		q->rc = sw_read_suggestion(db, q->sweep, q->trial, keep_suggestion, q, &q->err);
}

static double number(const cJSON *object, const char *key, double absent)
{
	const cJSON *v = sw_json_get(object, key);

	return cJSON_IsNumber(v) ? v->valuedouble : absent;
}

/* "; suggested by gp, which knew 21 results: expected 0.43 +- 0.02; nearest: trials 12, 7" */
static void explain_suggestion(const char *why, struct sw_buf *out)
{
	struct sw_err err = SW_ERR_INIT;
	char mean[32], sd[32];
	cJSON *tree = NULL;
	const cJSON *near;

	if (*why == '\0' || sw_json_parse(&tree, why, strlen(why), &err) != SW_OK)
		return;
	const cJSON *source = sw_json_get(tree, "source");
	const double unseen = number(tree, "unseen", 0);
	(void)sw_buf_addf(out, "; suggested by %s, which knew %.0f results",
			  cJSON_IsString(source) ? source->valuestring : "?",
			  number(tree, "known", 0));
	if (unseen > 0)
		(void)sw_buf_addf(out, " and had not seen %.0f", unseen);
	if (sw_json_get(tree, "mean") != NULL)
		(void)sw_buf_addf(out, ": expected %s, deviation %s",
				  show(number(tree, "mean", NAN), mean),
				  show(number(tree, "sd", NAN), sd));
	const char *sep = "; nearest: ";
	cJSON_ArrayForEach (near, sw_json_get(tree, "nearest")) {
		(void)sw_buf_addf(out, "%s%.0f", sep, number(near, "trial", 0));
		sep = ", ";
	}
	cJSON_Delete(tree);
}

/* What a trial that waits waits for, and who has it. */
static void explain_waiting(const struct sw_host *h, struct sw_buf *out)
{
	const struct sw_daemon *d = h->d;
	size_t suits = 0;

	if (h->state == SW_SWEEP_PAUSED) {
		(void)sw_buf_adds(out, "waits: the sweep is paused");
		return;
	}
	if (h->driven) {
		(void)sw_buf_adds(out, "waits for a client's trial.ask");
		return;
	}
	for (size_t i = 0; i < d->slot_n; i++)
		suits += sw_supervisor_suits(&d->slots[i], h->spec->needs_gpu);
	(void)sw_buf_addf(out, "waits for a %sslot: %zu of %zu suit",
			  h->spec->needs_gpu ? "GPU " : "", suits, d->slot_n);
	for (size_t i = 0; i < d->slot_n && i < 8; i++) {
		const struct sw_slot *s = &d->slots[i];

		(void)sw_buf_addf(out, ", %s ", s->device.name);
		if (s->state == SW_SLOT_BUSY)
			(void)sw_buf_addf(out, "held by %lld/%lld", (long long)s->sweep,
					  (long long)s->trial);
		else
			(void)sw_buf_adds(out, s->state == SW_SLOT_DOWN ? "down" : "free");
	}
}

static void explain(const struct sw_lookup *q, struct sw_buf *out)
{
	const char *state = q->text, *cause = q->more.data != NULL ? q->more.data : "";

	if (strcmp(state, "PENDING") == 0) {
		explain_waiting(q->h, out);
		if (*cause != '\0')
			(void)sw_buf_addf(out, "; attempt %lld ended: %s", (long long)q->a, cause);
	} else if (strcmp(state, "PRUNED") == 0 && q->cause[0] != '\0') {
		(void)sw_buf_addf(out, "stopped %s", q->cause);
	} else if (strcmp(state, "RUNNING") == 0) {
		(void)sw_buf_addf(out, "runs (attempt %lld, step %lld)", (long long)q->a,
				  (long long)q->b);
		if (q->cause[0] != '\0')
			(void)sw_buf_addf(out, "; went on %s", q->cause);
	} else if (strcmp(state, "COMPLETED") == 0) {
		(void)sw_buf_addf(out, "completed at step %lld", (long long)q->b);
		if (q->cause[0] != '\0')
			(void)sw_buf_addf(out, "; last judged %s", q->cause);
	} else {
		(void)sw_buf_addf(out, "%s%s%s", state, *cause != '\0' ? ": " : "", cause);
	}
}

static void why_done(struct sw_lookup *q)
{
	struct sw_buf decisions = q->out, text;

	sw_buf_init(&q->out, SW_REPLY_MAX);
	sw_buf_init(&text, 4096);
	const char *why = q->extra.data != NULL ? q->extra.data : "";
	explain(q, &text);
	explain_suggestion(why, &text);
	sw_jw_init(&q->w, &q->out);
	sw_jw_obj(&q->w);
	sw_jw_kstr(&q->w, "text", text.data);
	sw_jw_kstr(&q->w, "state", q->text);
	sw_jw_kraw(&q->w, "decisions", decisions.data);
	sw_jw_kraw(&q->w, "suggestion", *why != '\0' ? why : "null");
	sw_jw_obj_end(&q->w);
	sw_buf_fini(&text);
	sw_buf_fini(&decisions);
}

static void why_loaded(struct sw_host *h, struct sw_call *call)
{
	struct sw_lookup *q = sw_lookup_create(call, h);

	if (q == NULL)
		return;
	q->work = read_why;
	q->done = why_done;
	sw_lookup_run(q);
}

void sw_handle_trial_why(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_host *h = sw_host_find(call->d, sw_call_int(call, "sweep", 0), &err);

	if (h == NULL)
		sw_call_error(call, &err);
	else
		sw_host_need(h, call, why_loaded);
}
