/*
 * daemon/verify/verify_suggest.c — suggestions made again, and trials' values held against what is
 * stored.
 *
 * A sampler that is quick made its suggestion in the step, from all that was known, and does so
 * again. One that is costly (bayes) made it elsewhere from what was known then: where that was
 * less, a second sampler makes it from the same prefix of the observations, put back to the state
 * that the suggestion before left, as it was made again here.
 */
#include "daemon/plan/plan.h"
#include "daemon/sweep/run/suggest_why.h"
#include "daemon/verify/verify.h"
#include "proto/json.h"
#include "sched/sweep/samplers.h"
#include "store/read.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- the suggestion --- */

static bool take_known(const struct sw_row_suggestion *row, void *arg)
{
	*(int64_t *)arg = row->known;
	return false;
}

static sw_status find_sampler(struct sw_verify *v, struct sw_err *err)
{
	const struct sw_sweep *s = v->replay.sched;
	const struct sw_history *h = sw_sweep_history(s);

	/* The space has not been edited since it was made. */
	if (v->sampler != NULL && v->sampler_epoch == sw_sweep_epoch(s))
		return SW_OK;
	sw_sampler_destroy(v->sampler);
	v->sampler = NULL;
	sw_history_fini(&v->history);
	sw_history_init(&v->history, h->n_params, h->n_metrics);
	v->sampler_epoch = sw_sweep_epoch(s);
	return sw_samplers_create(&v->sampler, sw_sweep_sampler_config(s), err);
}

static void make_again(struct sw_verify *v, uint64_t known, struct sw_event *e)
{
	const struct sw_sweep *s = v->replay.sched;
	struct sw_err err = SW_ERR_INIT;
	size_t n;
	const unsigned char *state = sw_sweep_sampler_state(s, &n);
	sw_status rc = find_sampler(v, &err);

	sw_suggestion_fini(&v->made);
	v->made = (struct sw_suggestion){.state = NULL};
	if (rc == SW_OK)
		/* The first `known` observations, in the order of events: what the model had seen
		 * when it drew. */
		rc = sw_history_copy(&v->history, sw_sweep_history(s), (size_t)known);
	if (rc == SW_OK)
		/* It starts at what the suggestion before left, made again here: a state in the
		 * store would hide a difference. */
		rc = sw_sampler_restore(v->sampler, state, n, &err);
	if (rc == SW_OK)
		rc = sw_sampler_suggest(v->sampler, &v->history, sw_sweep_made(s) + 1, &v->made,
					&err);
	if (rc == SW_NOMEM)
		(void)sw_err_set(&err, rc, "out of memory");
	if (rc == SW_OK || rc == SW_NOMEM)
		sw_verify_fail(v, rc, &err);
	else
		sw_verify_differ(v, sw_sweep_trial_n(s) + 1,
				 "the replay cannot make its suggestion again: %s", err.msg);
	e->suggestion = &v->made;
}

void sw_verify_suggest(struct sw_replay *r, struct sw_event *e)
{
	struct sw_verify *v = r->user;
	const uint64_t trial = sw_sweep_trial_n(r->sched) + 1;
	const uint64_t n_obs = sw_sweep_history(r->sched)->n_obs;
	struct sw_err err = SW_ERR_INIT;
	int64_t known = -1;
	const sw_status rc =
		sw_read_suggestion(r->db, r->sweep, (int64_t)trial, take_known, &known, &err);

	if (rc == SW_NOT_FOUND)
		sw_verify_differ(v, trial, "it is not stored, the replay makes it");
	else if (rc != SW_OK)
		sw_verify_fail(v, rc, &err);
	else if (known < 0)
		sw_verify_differ(v, trial, "how it was suggested is not stored");
	else if ((uint64_t)known > n_obs)
		sw_verify_differ(v, trial,
				 "its suggestion knew %" PRId64
				 " observations, the replay has %" PRIu64,
				 known, n_obs);
	else if ((uint64_t)known < n_obs)
		make_again(v, (uint64_t)known, e);
	/* else the step makes it, of all that is known */
}

/* --- what was made against what is stored --- */

/* Two JSON values with the same names and words, and numbers that agree but for the last bits. */
static bool nearly(const cJSON *a, const cJSON *b)
{
	if (cJSON_IsNumber(a) && cJSON_IsNumber(b)) {
		const double size = fmax(fabs(a->valuedouble), fabs(b->valuedouble));

		return fabs(a->valuedouble - b->valuedouble) <= 1e-6 * size;
	}
	if ((a->type & 0xff) != (b->type & 0xff) ||
	    (cJSON_IsString(a) && strcmp(a->valuestring, b->valuestring) != 0))
		return false;
	a = a->child;
	for (b = b->child; a != NULL && b != NULL; a = a->next, b = b->next)
		if ((a->string != NULL && strcmp(a->string, b->string) != 0) || !nearly(a, b))
			return false;
	return a == NULL && b == NULL;
}

static bool nearly_texts(const char *a, const char *b)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *x = NULL, *y = NULL;
	const bool near = sw_json_parse(&x, a, strlen(a), &err) == SW_OK &&
			  sw_json_parse(&y, b, strlen(b), &err) == SW_OK && nearly(x, y);

	cJSON_Delete(x);
	cJSON_Delete(y);
	return near;
}

static void check_json(struct sw_verify *v, uint64_t trial, const char *what, const char *stored,
		       const char *made)
{
	const enum sw_sampler_kind kind = sw_sweep_sampler_config(v->replay.sched)->kind;

	if (strcmp(stored, made) == 0)
		return;
	sw_verify_differ(v, trial, "%s: stored is %.300s, the replay says %.300s%s", what, stored,
			 made,
			 kind == SW_SAMPLER_BAYES && nearly_texts(stored, made)
				 ? " (the last bits: a suggestion of bayes is made again exactly "
				   "only on the kind of processor that made it)"
				 : "");
}

struct created_check {
	struct sw_verify *v;
	const struct sw_action *a;
};

static bool check_row(const struct sw_row_suggestion *row, void *arg)
{
	const struct created_check *c = arg;
	const struct sw_action *a = c->a;
	struct sw_verify *v = c->v;
	struct sw_replay *r = &v->replay;
	const bool learnt = a->suggestion != NULL && sw_sweep_learns(r->sched);

	sw_buf_clear(&v->text);
	sw_plan_params(r->spec, sw_sweep_space(r->sched), a->values, &v->text);
	if (v->text.failed != SW_OK)
		return false;
	check_json(v, a->trial, "its parameters", row->params, v->text.data);
	if (learnt != (row->why != NULL)) {
		sw_verify_differ(v, a->trial,
				 learnt ? "how it was suggested is not stored"
					: "a suggestion is stored, the replay needs none");
		return false;
	}
	if (!learnt)
		return false;
	if (row->known < 0 || (uint64_t)row->known != a->suggestion->known)
		sw_verify_differ(v, a->trial,
				 "its suggestion knew %" PRId64
				 " observations, the replay's %" PRIu64,
				 row->known, a->suggestion->known);
	sw_buf_clear(&v->text);
	sw_suggest_why(a->suggestion, sw_sweep_history(r->sched)->n_obs, r->spec, &v->text);
	if (v->text.failed == SW_OK)
		check_json(v, a->trial, "how it was suggested", row->why, v->text.data);
	return false;
}

/* The stored state is that of the last suggestion which left one. */
static void check_state(struct sw_verify *v, const struct sw_action *a)
{
	const struct sw_suggestion *s = a->suggestion;
	const struct sw_replay *r = &v->replay;

	if (s->state_n == 0)
		return;
	v->state_trial = a->trial;
	/* A later suggestion has overwritten the state. */
	if (r->state_trial != a->trial)
		return;
	if (s->state_n != r->state_n || memcmp(s->state, r->state, r->state_n) != 0)
		sw_verify_differ(v, a->trial,
				 "the sampler's state after it is not the one that is stored");
}

void sw_verify_created(struct sw_verify *v, const struct sw_action *a)
{
	const struct created_check c = {.v = v, .a = a};
	const struct sw_err nomem = {.msg = "out of memory"};
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_read_suggestion(v->replay.db, v->sweep, (int64_t)a->trial,
						check_row, (void *)&c, &err);

	if (rc == SW_NOT_FOUND)
		sw_verify_differ(v, a->trial, "it is not stored, the replay makes it");
	else
		sw_verify_fail(v, rc, &err);
	sw_verify_fail(v, v->text.failed, &nomem);
	if (a->suggestion == NULL || !sw_sweep_learns(v->replay.sched))
		return;
	v->suggestions++;
	check_state(v, a);
}
