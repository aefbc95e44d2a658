/* daemon/api/handlers_sweep.c — sweep.*: pause, resume, cancel, extend, delete, best. */
#include "daemon/api/front.h"
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/trial_json.h"
#include "daemon/daemon.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/erase.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/settle.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>

/* --- pause, resume, cancel, extend --- */

static void control_sweep(struct sw_running *live, struct sw_call *call, enum sw_event_kind kind)
{
	const struct sw_event event = {.kind = kind,
				       .run_cap = (uint64_t)sw_call_int(call, "run_cap", 0)};
	struct sw_change *c = sw_change_allowed(call) ? sw_driver_change(live, call, &event) : NULL;

	if (c == NULL)
		return;
	/* Many trials are still to end, in slices: the answer comes with the last of them. */
	if (kind == SW_EVENT_CANCEL && sw_sweep_settling(live->sched)) {
		sw_settle_wait(live, call);
		c->call = NULL;
	} else {
		sw_running_write_state(live, kind == SW_EVENT_EXTEND, &c->reply);
	}
	sw_change_commit(c);
	sw_marks_note(&live->view.changes, 0);
}

#define CONTROL(verb, event)                                                                       \
	void sw_handle_sweep_##verb(struct sw_running *live, struct sw_call *call)                 \
	{                                                                                          \
		control_sweep(live, call, event);                                                  \
	}

CONTROL(pause, SW_EVENT_PAUSE)
CONTROL(resume, SW_EVENT_RESUME)
CONTROL(cancel, SW_EVENT_CANCEL)
CONTROL(extend, SW_EVENT_EXTEND)

/* --- delete --- */

void sw_handle_sweep_delete(struct sw_running *live, struct sw_call *call)
{
	sw_erase_begin(live, cJSON_IsTrue(sw_json_get(call->params, "keep_best")), call);
}

/* --- best --- */

struct best_question {
	struct sw_lookup q;
	int64_t n; /* trials; 0: as many as there are, of a front; of one metric the best alone */
	bool has_scope; /* else it is "all", of several metrics "last" */
	char scope[64]; /* "last", "all", "last-3-avg", as it was asked for */
	bool maximize;
};

static bool write_best(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	sw_trial_json_obj(&q->w, row, q->now_ms);
	return true;
}

#define FRONT_MOST 1000 /* trials of a front in one answer */

static sw_status read_trials(struct sw_db *db, struct best_question *b, const struct sw_front *f)
{
	struct sw_lookup *q = &b->q;
	const int64_t n = b->n != 0 ? b->n : f->spec != NULL ? FRONT_MOST : 1;

	/* One metric: an index has the best. */
	if (f->spec == NULL)
		return sw_read_best(db, q->sweep, b->maximize, b->has_scope ? b->scope : "all", n,
				    write_best, q, &q->err);
	if (b->has_scope && strcmp(b->scope, "last") != 0)
		return sw_err_at(&q->err, SW_INVALID, "/scope",
				 "scope \"%s\" goes with one metric, and the sweep has %zu",
				 b->scope, f->spec->n_metrics);
	return sw_front_trials(f, db, q->sweep, (size_t)n, q->now_ms, &q->w, &q->err);
}

static void read_best(struct sw_db *db, struct sw_lookup *q)
{
	struct sw_front f = {.n = 0};

	sw_jw_obj(&q->w);
	sw_jw_karr(&q->w, "trials");
	if (q->is_long) /* else it has one metric, and no front */
		q->rc = sw_front_read(&f, db, q->sweep, &q->err);
	if (q->rc == SW_OK)
		q->rc = read_trials(db, (struct best_question *)q, &f);
	sw_jw_arr_end(&q->w);
	if (q->rc == SW_OK)
		sw_front_write(&f, &q->w);
	sw_jw_obj_end(&q->w);
	sw_front_fini(&f);
}

void sw_handle_sweep_best(struct sw_running *live, struct sw_call *call)
{
	struct best_question *b = sw_lookup_create(call, live, sizeof *b, read_best);

	if (b == NULL)
		return;
	b->maximize = live->maximize;
	b->n = sw_call_int(call, "n", 0);
	const char *scope = sw_call_str(call, "scope", NULL);
	b->has_scope = scope != NULL;
	(void)snprintf(b->scope, sizeof b->scope, "%s", b->has_scope ? scope : "");
	/* The best by the best value stand in an index; else each trial is looked at. */
	b->q.is_long = (b->has_scope && strcmp(b->scope, "all") != 0) || live->spec == NULL ||
		       live->spec->n_metrics > 1;
	sw_lookup_run(&b->q);
}
