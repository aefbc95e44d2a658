/*
 * daemon/recover.c — a sweep's state machine from its stored events.
 *
 * The stored events, fed in their order to a new state machine, must lead to the decisions that
 * were stored with them: the replay checks each, and refuses a history that it cannot reproduce
 * rather than going on from a state that nobody acknowledged.
 */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/call.h"
#include "daemon/daemon.h"
#include "daemon/driver.h"
#include "daemon/host.h"
#include "daemon/metrics.h"
#include "daemon/plan.h"
#include "daemon/suggest.h"
#include "proto/json.h"
#include "store/read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct replay {
	int64_t sweep;
	uint64_t seed;
	struct sw_spec *spec;
	struct sw_sweep *sched;
	struct sw_actions actions;
	uint64_t next_ev;
	bool metric_seen;
	struct sw_run *runs; /* of every trial */
	struct sw_db *db;
	struct sw_plan_priors priors;
	struct sw_suggestion suggestion; /* of the trial being made; no state */
	uint64_t state_trial;            /* whose suggestion left the stored state; 0: none */
	unsigned char *state;
	size_t state_n;
	sw_status rc;
	struct sw_err err;
};

static void fail(struct replay *r, sw_status rc, uint64_t ev, const char *what)
{
	if (r->rc == SW_OK)
		r->rc = sw_err_set(&r->err, rc, "sweep %lld, event %llu: %s", (long long)r->sweep,
				   (unsigned long long)ev, what);
}

static const struct sw_action *find_action(const struct replay *r, enum sw_action_kind kind)
{
	for (size_t i = 0; i < r->actions.n; i++)
		if (r->actions.v[i].kind == kind)
			return &r->actions.v[i];
	return NULL;
}

static void step(struct replay *r, const struct sw_event *e, uint64_t ev)
{
	const sw_status rc = sw_sweep_step(r->sched, e, &r->actions, &r->err);

	if (rc != SW_OK && r->rc == SW_OK)
		r->rc = rc == SW_NOMEM ? sw_err_set(&r->err, rc, "out of memory") : rc;
	r->next_ev = ev + 1;
}

static bool take_made(const struct sw_row_suggestion *row, void *arg)
{
	struct replay *r = arg;
	const struct sw_space *space = sw_sweep_space(r->sched);
	bool given[SW_SPACE_MAX_PARAMS];
	cJSON *tree = NULL;

	r->rc = sw_json_parse(&tree, row->params, strlen(row->params), &r->err);
	if (r->rc == SW_OK)
		r->rc = sw_plan_read(r->spec, space, tree, r->suggestion.values, given, &r->err);
	if (r->rc == SW_OK &&
	    sw_plan_missing(space, r->suggestion.values, given) != sw_space_size(space))
		r->rc = sw_err_set(&r->err, SW_IO, "trial %lld lacks a parameter",
				   (long long)row->trial);
	sw_space_canonical(space, r->suggestion.values);
	r->suggestion.known = row->known >= 0 ? (uint64_t)row->known : 0;
	cJSON_Delete(tree);
	return false;
}

/* What the sampler made of a history, and what the user enqueued, is read back, not made again. */
static void read_made(struct replay *r, struct sw_event *e)
{
	const uint64_t trial = sw_sweep_trial_n(r->sched) + 1;
	sw_status rc;

	if (e->kind != SW_EVENT_ENQUEUE &&
	    (e->kind != SW_EVENT_ASK || !sw_sweep_wants_suggestion(r->sched)))
		return;
	r->suggestion.source = "";
	rc = sw_read_suggestion(r->db, r->sweep, (int64_t)trial, take_made, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
	if (trial == r->state_trial) {
		r->suggestion.state = r->state;
		r->suggestion.state_n = r->state_n;
	}
	e->values = r->suggestion.values;
	e->suggestion = &r->suggestion;
}

/* The metrics after the first, of a sweep that has several. */
static void read_others(struct replay *r, const struct sw_row_report *row, struct sw_event *e)
{
	double y[SW_METRICS_MAX];

	r->rc = sw_metrics_stored(row->metrics, r->spec, y, &r->err);
	for (size_t k = 1; r->rc == SW_OK && k < r->spec->n_metrics; k++)
		e->more[k - 1] = y[k];
}

static void take_report(struct replay *r, const struct sw_row_report *row)
{
	struct sw_event e = {
		.kind = SW_EVENT_REPORT,
		.trial = (uint64_t)row->trial,
		.attempt = (uint32_t)row->attempt,
		.seq = (uint64_t)row->seq,
		.step = (uint64_t)row->step,
		.has_value = row->has_value || row->diverged,
		.value = row->diverged ? (double)NAN : row->value,
		.final = strcmp(row->verdict, "end") == 0,
	};

	if (e.has_value && r->spec->n_metrics > 1)
		read_others(r, row, &e);
	if (r->rc == SW_OK)
		step(r, &e, (uint64_t)row->ev);
	if (r->rc != SW_OK)
		return;
	r->metric_seen = r->metric_seen || e.has_value;
	const struct sw_action *a = find_action(r, SW_ACTION_DECIDE);
	if (a == NULL || (!e.final && strcmp(sw_decision_name(a->decision), row->verdict) != 0))
		fail(r, SW_INTERNAL, (uint64_t)row->ev,
		     "the replay decides otherwise than the stored report");
}

static void take_event(struct replay *r, const struct sw_row_event *row)
{
	struct sw_event e = {
		.trial = (uint64_t)row->trial,
		.attempt = (uint32_t)row->attempt,
		.cause = row->cause,
		.run_cap = (uint64_t)row->run_cap,
	};

	if (sw_event_find(row->kind, &e.kind) != SW_OK ||
	    (e.kind == SW_EVENT_TELL &&
	     (row->state == NULL || sw_trial_state_find(row->state, &e.end) != SW_OK))) {
		fail(r, SW_IO, (uint64_t)row->ev, "not an event that this version knows");
		return;
	}
	read_made(r, &e);
	if (r->rc == SW_OK)
		step(r, &e, (uint64_t)row->ev);
}

static bool take(const struct sw_row_event *event, const struct sw_row_report *report, void *arg)
{
	struct replay *r = arg;

	if (event != NULL)
		take_event(r, event);
	else
		take_report(r, report);
	return r->rc == SW_OK;
}

static bool take_spec(const struct sw_row_sweep *row, void *arg)
{
	struct replay *r = arg;
	cJSON *tree = NULL;

	r->rc = sw_json_parse(&tree, row->spec, strlen(row->spec), &r->err);
	if (r->rc == SW_OK)
		r->rc = sw_spec_read(&r->spec, tree, &r->err);
	cJSON_Delete(tree);
	return false;
}

struct prior_read {
	struct replay *r;
	struct sw_space *space;
};

static bool take_prior(const struct sw_row_prior *row, void *arg)
{
	const struct prior_read *p = arg;
	struct replay *r = p->r;

	r->rc = sw_plan_priors_read(&r->priors, r->spec, p->space, row->params, row->y,
				    r->spec->n_metrics, &r->err);
	return r->rc == SW_OK;
}

static void read_priors(struct replay *r)
{
	struct prior_read p = {.r = r};

	if (r->spec->n_warm_start == 0)
		return;
	r->rc = sw_plan_space(&p.space, r->spec, &r->err);
	if (r->rc != SW_OK)
		return;
	const sw_status rc = sw_read_priors(r->db, r->sweep, take_prior, &p, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
	sw_space_destroy(p.space);
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_state(const struct sw_row_sampler *row, void *arg)
{
	struct replay *r = arg;
	const size_t n = strlen(row->state) / 2;

	r->state = sw_malloc(n + 1);
	if (r->state == NULL) {
		r->rc = SW_NOMEM;
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		const int high = nibble(row->state[2 * i]), low = nibble(row->state[2 * i + 1]);

		if (high < 0 || low < 0)
			r->rc = sw_err_set(&r->err, SW_IO, "the sampler's state is damaged");
		r->state[i] = (unsigned char)((high & 15) << 4 | (low & 15));
	}
	r->state_n = n;
	r->state_trial = (uint64_t)row->trial;
	return false;
}

/* The state machine as it was at its first event. */
static void build(struct replay *r)
{
	sw_status rc;

	read_priors(r);
	if (r->rc == SW_OK)
		r->rc = sw_plan_build(&r->sched, r->spec, r->seed, &r->priors, &r->err);
	if (r->rc != SW_OK)
		return;
	rc = sw_read_sampler(r->db, r->sweep, take_state, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
}

static bool take_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct sw_run *run = arg;

	run->slot = (int32_t)row->slot; /* the last attempt's stays */
	return true;
}

static bool take_run(const struct sw_row_trial *row, void *arg)
{
	struct replay *r = arg;
	const uint64_t n = sw_sweep_trial_n(r->sched);

	if (row->trial < 1 || (uint64_t)row->trial > n)
		return true;
	struct sw_run *run = &r->runs[row->trial - 1];
	run->seconds = (float)row->seconds;
	const struct sw_trial *t = sw_sweep_trial(r->sched, (uint64_t)row->trial);
	if (t->state == SW_TRIAL_RUNNING) {
		run->started_ms = row->started_ms;
		run->heard_us = sw_clock_mono_us();
	}
	return true;
}

/* Where each running trial runs, and since when. */
static void read_runs(struct replay *r, struct sw_db *db)
{
	static const char *const states[] = {"RUNNING", "PENDING"};
	const uint64_t n = sw_sweep_trial_n(r->sched);

	r->runs = sw_calloc(n + 1, sizeof *r->runs);
	if (r->runs == NULL) {
		fail(r, SW_NOMEM, 0, "out of memory");
		return;
	}
	for (size_t i = 0; r->rc == SW_OK && i < sizeof states / sizeof states[0]; i++)
		r->rc = sw_read_trials(db, r->sweep, states[i], 0, INT64_MAX, take_run, r, &r->err);
	for (uint64_t trial = 1; r->rc == SW_OK && trial <= n; trial++)
		if (sw_sweep_trial(r->sched, trial)->state == SW_TRIAL_RUNNING)
			r->rc = sw_read_attempts(db, r->sweep, (int64_t)trial, take_attempt,
						 &r->runs[trial - 1], &r->err);
}

/* On the reader's thread, or at start. */
static void run_replay(struct sw_db *db, void *arg)
{
	struct replay *r = arg;
	sw_status rc = sw_read_sweeps(db, r->sweep, take_spec, r, &r->err);

	r->db = db;
	if (r->rc == SW_OK)
		r->rc = rc;
	if (r->rc == SW_OK && r->spec == NULL)
		fail(r, SW_NOT_FOUND, 0, "its row is gone");
	if (r->rc == SW_OK)
		build(r);
	r->next_ev = 1;
	if (r->rc != SW_OK)
		return;
	rc = sw_read_history(db, r->sweep, r->spec->n_metrics > 1, take, r, &r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
	if (r->rc == SW_OK)
		read_runs(r, db);
}

static void free_replay(struct replay *r)
{
	sw_spec_destroy(r->spec);
	sw_sweep_destroy(r->sched);
	sw_actions_fini(&r->actions);
	sw_plan_priors_fini(&r->priors);
	free(r->state);
	free(r->runs);
	free(r);
}

/* Moves what was rebuilt into the host. */
static sw_status attach(struct sw_host *h, struct replay *r)
{
	const uint64_t n = sw_sweep_trial_n(r->sched);
	const sw_status rc = sw_host_runs(h, n);

	if (rc != SW_OK)
		return sw_err_set(&r->err, rc, "out of memory");
	if (n > 0)
		memcpy(h->runs, r->runs, n * sizeof *h->runs);
	h->spec = r->spec;
	h->sched = r->sched;
	h->next_ev = r->next_ev;
	h->metric_seen = r->metric_seen;
	h->state = sw_sweep_state(r->sched);
	h->run_cap = (int64_t)sw_sweep_run_cap(r->sched);
	for (uint64_t i = 0; i < n; i++)
		if (h->runs[i].started_ms != 0 && h->runs[i].slot >= 0)
			h->share.running++;
	r->spec = NULL;
	r->sched = NULL;
	return sw_suggest_attach(h);
}

static struct replay *new_replay(const struct sw_host *h)
{
	struct replay *r = sw_calloc(1, sizeof *r);

	if (r != NULL) {
		r->sweep = h->sweep;
		r->seed = h->seed;
	}
	return r;
}

/* --- on demand --- */

struct sw_waiting {
	struct sw_waiting *next;
	struct sw_call *call;
	void (*then)(struct sw_host *h, struct sw_call *call);
};

struct load {
	struct sw_host *h;
	struct replay *r;
};

static void run_load(struct sw_db *db, void *arg)
{
	run_replay(db, ((struct load *)arg)->r);
}

static void on_loaded(void *arg)
{
	struct load *l = arg;
	struct sw_host *h = l->h;
	struct sw_waiting *w = h->waiting, *next;
	struct sw_err stopping = SW_ERR_INIT;
	sw_status rc = l->r->rc == SW_OK ? attach(h, l->r) : l->r->rc;

	(void)sw_err_set(&stopping, SW_BUSY, "the daemon is stopping");
	h->waiting = NULL;
	for (; w != NULL; w = next) {
		next = w->next;
		if (rc == SW_OK && h->d->phase == SW_UP)
			w->then(h, w->call);
		else
			sw_call_error(w->call, rc != SW_OK ? &l->r->err : &stopping);
		free(w);
	}
	free_replay(l->r);
	free(l);
}

void sw_host_need(struct sw_host *h, struct sw_call *call,
		  void (*then)(struct sw_host *h, struct sw_call *call))
{
	struct sw_waiting *w;
	struct load *l;
	struct sw_err err = SW_ERR_INIT;

	if (h->sched != NULL) {
		then(h, call);
		return;
	}
	w = sw_calloc(1, sizeof *w);
	if (w == NULL)
		goto nomem;
	*w = (struct sw_waiting){.call = call, .then = then};
	if (h->waiting != NULL) { /* a load is under way: behind those that came before */
		struct sw_waiting *last = h->waiting;

		while (last->next != NULL)
			last = last->next;
		last->next = w;
		return;
	}
	l = sw_calloc(1, sizeof *l);
	if (l != NULL)
		*l = (struct load){.h = h, .r = new_replay(h)};
	if (l == NULL || l->r == NULL ||
	    sw_store_read(h->d->store, run_load, on_loaded, l) != SW_OK) {
		if (l != NULL && l->r != NULL)
			free_replay(l->r);
		free(l);
		free(w);
		goto nomem;
	}
	h->waiting = w;
	return;
nomem:
	(void)sw_err_set(&err, SW_BUSY, "cannot load sweep %lld now; try again",
			 (long long)h->sweep);
	sw_call_error(call, &err);
}

/* --- at start --- */

struct restore {
	struct sw_daemon *d;
	sw_status rc;
};

static bool restore_row(const struct sw_row_sweep *row, void *arg)
{
	struct restore *r = arg;

	if (row->sweep != (int64_t)r->d->host_n + 1 || row->name == NULL || row->metric == NULL ||
	    row->method == NULL || row->state == NULL)
		r->rc = SW_IO; /* the file is damaged */
	else if (sw_host_restore(r->d, row) == NULL)
		r->rc = SW_NOMEM;
	return r->rc == SW_OK;
}

static void run_restore(struct sw_db *db, void *arg)
{
	struct restore *r = arg;
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_read_sweeps(db, 0, restore_row, r, &err);

	if (r->rc == SW_OK)
		r->rc = rc;
}

static sw_status recover(struct sw_host *h, struct sw_err *err)
{
	struct replay *r = new_replay(h);
	sw_status rc;

	if (r == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	sw_store_read_now(h->d->store, run_replay, r);
	rc = r->rc == SW_OK ? attach(h, r) : r->rc;
	if (rc != SW_OK)
		(void)sw_err_set(err, rc, "cannot rebuild sweep %lld from the store: %s",
				 (long long)h->sweep, r->err.msg);
	else
		sw_log(SW_LOG_INFO, "sweep.recovered", "sweep=%lld trials=%llu events=%llu",
		       (long long)h->sweep, (unsigned long long)sw_sweep_trial_n(h->sched),
		       (unsigned long long)h->next_ev - 1);
	free_replay(r);
	return rc;
}

sw_status sw_host_recover_all(struct sw_daemon *d, struct sw_err *err)
{
	struct restore r = {.d = d, .rc = SW_OK};
	sw_status rc = SW_OK;

	sw_store_read_now(d->store, run_restore, &r);
	if (r.rc != SW_OK)
		return sw_err_set(err, r.rc, "cannot read the sweeps from the store: %s",
				  sw_status_str(r.rc));
	for (size_t i = 0; rc == SW_OK && i < d->host_n; i++)
		if (d->hosts[i]->ended_ms == 0)
			rc = recover(d->hosts[i], err);
	return rc;
}
