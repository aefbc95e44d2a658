/*
 * daemon/api/handlers_simulate.c — sweep.simulate: read on the store's thread, re-run on libuv's
 * pool, answered on the loop.
 */
#include "base/memory.h"
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/net/pool.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/running.h"
#include "daemon/verify/curves.h"
#include "proto/json.h"
#include "sched/sweep/simulate.h"
#include "store/store.h"
#include <stdlib.h>

#define AT_ONCE 2 /* each holds the curves of a sweep */

struct simulation {
	struct sw_call *call;
	int64_t sweep;
	uint64_t lanes; /* 0: as many as the sweep had at most */
	cJSON *wanted;  /* the "early_terminate" */
	const struct sw_running *live;
	struct sw_curves curves;
	bool more; /* curves are still to be read */
	struct sw_simulate_result result;
	sw_status rc;
	struct sw_err err;
	struct sw_pool_job job;
};

static unsigned under_way; /* the loop thread's */

static void write_best(struct sw_jw *w, const struct sw_simulate_best *b, const bool *survived)
{
	/* No trial came to a value. */
	if (b->trial == 0) {
		sw_jw_null(w);
		return;
	}
	sw_jw_obj(w);
	sw_jw_kint(w, "trial", (int64_t)b->trial);
	sw_jw_knum(w, "value", b->value);
	if (survived != NULL)
		sw_jw_kbool(w, "survived", *survived);
	sw_jw_obj_end(w);
}

static void write_result(const struct simulation *s)
{
	const struct sw_simulate_result *r = &s->result;
	struct sw_jw *w = sw_call_reply(s->call);

	sw_jw_kint(w, "sweep", s->sweep);
	sw_jw_kint(w, "workers", (int64_t)s->lanes);
	sw_jw_kint(w, "recorded", (int64_t)r->recorded);
	sw_jw_kint(w, "resource", (int64_t)r->resource);
	sw_jw_knum_opt(w, "saved", r->recorded > 0,
		       1.0 - (double)r->resource / (double)r->recorded);
	sw_jw_knum(w, "wall_s", r->wall_s);
	sw_jw_knum(w, "recorded_wall_s", s->curves.recorded_wall_s);
	sw_jw_kint(w, "trials", (int64_t)r->trials);
	sw_jw_kint(w, "stopped", (int64_t)r->stopped);
	sw_jw_kint(w, "completed", (int64_t)r->completed);
	sw_jw_kint(w, "failed", (int64_t)r->failed);
	sw_jw_kint(w, "short", (int64_t)r->cut_short);
	sw_jw_kstr(w, "metric", s->curves.spec->metric);
	sw_jw_kstr(w, "goal", s->curves.spec->maximize ? "maximize" : "minimize");
	sw_jw_key(w, "best");
	write_best(w, &r->best, &r->survived);
	sw_jw_key(w, "chosen");
	write_best(w, &r->chosen, NULL);
	sw_call_reply_end(s->call);
}

static void answer(struct simulation *s)
{
	if (s->rc != SW_OK)
		sw_call_error(s->call, &s->err);
	else
		write_result(s);
	/* Also after a failure: each simulation that was counted ends here. */
	under_way--;
	sw_curves_fini(&s->curves);
	cJSON_Delete(s->wanted);
	free(s);
}

/* --- the re-run, on the pool --- */

static void run_simulate(void *arg)
{
	struct simulation *s = arg;
	const struct sw_curves *c = &s->curves;
	struct sw_pruner_config pruner;
	struct sw_simulate_config config = {
		.seed = c->seed,
		.maximize = c->spec->maximize,
		.curves = c->curve,
		.n = c->n,
		.points = c->point,
	};

	s->rc = sw_spec_pruner_read(&pruner, c->spec, s->wanted, &s->err);
	if (s->rc == SW_OK && pruner.kind == SW_PRUNER_PBT)
		s->rc = sw_err_at(&s->err, SW_INVALID, "/type",
				  "\"pbt\" trains trials from one another's checkpoints, and what "
				  "they would have reported is in no stored curve");
	if (s->rc != SW_OK) {
		sw_err_prefix(&s->err, "/early_terminate");
		return;
	}
	/* Known only now: it is counted while the curves are read. */
	if (s->lanes == 0)
		s->lanes = c->lanes;
	config.lanes = s->lanes;
	config.pruner = sw_plan_pruner(&pruner, c->spec->maximize);
	s->rc = sw_simulate(&config, &s->result, &s->err);
}

static void on_simulated(void *arg, bool stopping)
{
	struct simulation *s = arg;

	if (s->rc == SW_OK && stopping)
		s->rc = sw_err_set(&s->err, SW_BUSY, "the daemon is stopping");
	answer(s);
}

/* --- the reading, on the store's thread --- */

static void run_read(struct sw_db *db, void *arg)
{
	struct simulation *s = arg;

	s->rc = sw_curves_part(&s->curves, db, s->sweep, &s->more, &s->err);
}

static void on_read(void *arg);

static sw_status read_part(struct simulation *s)
{
	return sw_store_read(s->call->d->store, SW_READ_LONG, &s->call->conn->reads, run_read,
			     on_read, s);
}

static void on_read(void *arg)
{
	struct simulation *s = arg;
	struct sw_daemon *d = s->call->d;

	if (s->rc == SW_OK && d->phase != SW_UP)
		s->rc = sw_err_set(&s->err, SW_BUSY, "the daemon is stopping");
	/* Somebody has extended it meanwhile: its curves grow while they are read. */
	if (s->rc == SW_OK && s->live->ended_ms == 0)
		s->rc = sw_err_set(&s->err, SW_CONFLICT, "sweep %lld runs again",
				   (long long)s->sweep);
	if (s->rc == SW_OK && s->more) { /* others may read in between */
		if (read_part(s) == SW_OK)
			return;
		s->rc = sw_err_set(&s->err, SW_BUSY, SW_CALL_BUSY);
	}
	if (s->rc == SW_OK)
		sw_pool_start(&s->job, SW_POOL_LONG, s->call->conn, run_simulate, on_simulated, s);
	else
		answer(s);
}

/* NULL: the call was refused. */
static struct simulation *create(struct sw_call *call, const struct sw_running *live)
{
	struct simulation *s;

	/* A running sweep's curves are not whole. */
	if (live->ended_ms == 0) {
		sw_call_refuse(call, SW_CONFLICT, "",
			       "sweep %lld is %s: it can be simulated once it has ended",
			       (long long)live->sweep, sw_sweep_state_name(live->state));
		return NULL;
	}
	/* 2,000,000 reports are 48 MB: refused, not queued, so that the memory is bounded and the
	 * client knows. */
	if (under_way == AT_ONCE) {
		sw_call_refuse(call, SW_BUSY, "", "%d re-runs are under way; try again", AT_ONCE);
		return NULL;
	}
	s = sw_calloc(1, sizeof *s);
	if (s == NULL) {
		sw_call_refuse(call, SW_NOMEM, "", "out of memory");
		return NULL;
	}
	s->call = call;
	s->sweep = live->sweep;
	s->live = live;
	s->lanes = (uint64_t)sw_call_int(call, "workers", 0);
	/* A tree of its own: the pool reads it while the loop may answer other calls of the same
	 * message. */
	s->wanted = cJSON_Duplicate(sw_json_get(call->params, "early_terminate"), true);
	under_way++;
	return s;
}

void sw_handle_sweep_simulate(struct sw_running *live, struct sw_call *call)
{
	struct simulation *s = sw_running_refuse_record(live, call) ? NULL : create(call, live);

	if (s == NULL || (s->wanted != NULL && read_part(s) == SW_OK))
		return;
	s->rc = sw_err_set(&s->err, SW_BUSY, SW_CALL_BUSY);
	answer(s);
}
