/* daemon/api/handlers_sweep_read.c — sweep.list, sweep.get, sweep.watch. */
#include "daemon/api/codec.h"
#include "daemon/api/front.h"
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/api/watch.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/edit.h"
#include "daemon/sweep/host.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>

static bool add_count(const char *state, int64_t n, void *arg)
{
	enum sw_trial_state s;
	uint64_t *counts = arg;

	if (sw_trial_state_find(state, &s) == SW_OK)
		counts[s] = (uint64_t)n;
	return true;
}

/* --- list --- */

static bool write_list_best(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "trial", row->trial);
	sw_jw_knum(&q->w, "value", row->value);
	sw_jw_obj_end(&q->w);
	q->count++;
	return true;
}

/* Of several metrics none is the best: how many no other beats. */
static void write_list_front(const struct sw_front *f, struct sw_jw *w)
{
	sw_jw_knull(w, "best");
	sw_jw_key(w, "pareto");
	sw_jw_obj(w);
	sw_jw_kint(w, "trials", (int64_t)f->front_n);
	sw_jw_obj_end(w);
	sw_jw_key(w, "metrics");
	sw_jw_arr(w);
	for (size_t k = 0; k < f->spec->n_metrics; k++)
		sw_jw_str(w, f->spec->metrics[k].name);
	sw_jw_arr_end(w);
}

static void write_best_or_front(struct sw_lookup *q, struct sw_db *db,
				const struct sw_row_sweep *row)
{
	struct sw_front f = {.no_volume = true};

	if (q->rc == SW_OK)
		q->rc = sw_front_read_row(&f, db, row, &q->err);
	if (q->rc == SW_OK && f.spec != NULL) {
		write_list_front(&f, &q->w);
		sw_front_fini(&f);
		return;
	}
	sw_front_fini(&f);
	sw_jw_key(&q->w, "best");
	q->count = 0;
	if (q->rc == SW_OK)
		q->rc = sw_read_best(db, row->sweep, row->maximize, "last", 1, write_list_best, q,
				     &q->err);
	if (q->count == 0)
		sw_jw_null(&q->w);
	sw_jw_knull(&q->w, "pareto");
}

struct listed {
	struct sw_lookup *q;
	struct sw_db *db;
	int64_t n; /* written */
};

static void write_listed(struct sw_lookup *q, struct sw_db *db, const struct sw_row_sweep *row)
{
	const int64_t end_ms = row->ended_ms != 0 ? row->ended_ms : q->now_ms;
	uint64_t counts[SW_TRIAL_STATE_N] = {0};

	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "sweep", row->sweep);
	sw_jw_kstr(&q->w, "name", row->name);
	sw_jw_kstr(&q->w, "state", row->state);
	sw_jw_kstr(&q->w, "cause", row->cause);
	sw_jw_kstr(&q->w, "method", row->method);
	sw_jw_kstr(&q->w, "metric", row->metric);
	sw_jw_kstr(&q->w, "goal", row->maximize ? "maximize" : "minimize");
	if (q->rc == SW_OK)
		q->rc = sw_read_counts(db, row->sweep, add_count, counts, &q->err);
	sw_jw_key(&q->w, "counts");
	sw_codec_counts(&q->w, counts);
	if (row->run_cap > 0)
		sw_jw_kint(&q->w, "run_cap", row->run_cap);
	else
		sw_jw_knull(&q->w, "run_cap");
	write_best_or_front(q, db, row);
	sw_jw_kint(&q->w, "created_ms", row->created_ms);
	sw_jw_knum(&q->w, "seconds",
		   end_ms > row->created_ms ? (double)(end_ms - row->created_ms) / 1000.0 : 0.0);
	sw_jw_obj_end(&q->w);
}

static bool write_sweep_row(const struct sw_row_sweep *row, void *arg)
{
	struct listed *l = arg;

	if (l->q->text[0] == '\0' || strcmp(l->q->text, row->state) == 0) {
		l->q->next = row->sweep;
		l->n++;
		write_listed(l->q, l->db, row);
	}
	return l->q->rc == SW_OK;
}

/* The newest first: sweep numbers are dense, so each is read by its number, from q->a down. */
static void read_list(struct sw_db *db, struct sw_lookup *q)
{
	struct listed l = {.q = q, .db = db};
	int64_t sweep;

	sw_jw_obj(&q->w);
	sw_jw_key(&q->w, "sweeps");
	sw_jw_arr(&q->w);
	for (sweep = q->a; sweep >= 1 && q->rc == SW_OK && l.n < q->limit; sweep--) {
		const sw_status rc = sw_read_sweeps(db, sweep, write_sweep_row, &l, &q->err);

		if (q->rc == SW_OK)
			q->rc = rc;
	}
	sw_jw_arr_end(&q->w);
	if (sweep >= 1 && l.n > 0)
		sw_jw_kint(&q->w, "next", q->next);
	else
		sw_jw_knull(&q->w, "next");
	sw_jw_obj_end(&q->w);
}

void sw_handle_sweep_list(struct sw_call *call)
{
	struct sw_lookup *q = sw_lookup_create(call, NULL);
	const int64_t after = sw_call_int(call, "after", 0), n = (int64_t)call->d->host_n;

	if (q == NULL)
		return;
	q->a = after > 0 && after <= n ? after - 1 : n;
	q->limit = sw_call_int(call, "limit", 100);
	(void)snprintf(q->text, sizeof q->text, "%s", sw_call_str(call, "state", ""));
	q->is_long = true;
	q->work = read_list;
	sw_lookup_run(q);
}

/* --- get --- */

static bool write_get_best(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	q->count++;
	sw_jw_obj(&q->w);
	sw_codec_trial(&q->w, row, q->now_ms);
	sw_jw_obj_end(&q->w);
	return true;
}

static bool write_edit(const struct sw_row_event *row, void *arg)
{
	struct sw_lookup *q = arg;
	const char *text = row->cause != NULL ? row->cause : "";
	cJSON *tree = NULL;

	q->rc = sw_json_parse(&tree, text, strlen(text), &q->err);
	if (q->rc != SW_OK)
		return false;
	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "time_ms", row->time_ms);
	sw_jw_kint(&q->w, "uid", row->uid);
	sw_jw_key(&q->w, "changes");
	sw_edits_changes(tree, &q->w);
	sw_jw_obj_end(&q->w);
	cJSON_Delete(tree);
	return true;
}

static void read_edits(struct sw_db *db, struct sw_lookup *q)
{
	sw_jw_key(&q->w, "edits");
	sw_jw_arr(&q->w);
	const sw_status rc = sw_read_edits(db, q->sweep, write_edit, q, &q->err);
	if (q->rc == SW_OK)
		q->rc = rc;
	sw_jw_arr_end(&q->w);
}

static bool write_spec(const struct sw_row_sweep *row, void *arg)
{
	sw_codec_stored(&((struct sw_lookup *)arg)->w, "spec", row->spec, row->sweep, 0);
	return true;
}

/* Goes on where get_loaded() began: the header has happened, so the read shows at least that. */
static void read_get(struct sw_db *db, struct sw_lookup *q)
{
	read_edits(db, q);
	if (q->rc == SW_OK)
		q->rc = sw_read_sweeps(db, q->sweep, write_spec, q, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_jw_key(&q->w, "best");
	q->count = 0;
	q->rc = sw_read_best(db, q->sweep, q->flag, "last", 1, write_get_best, q, &q->err);
	if (q->count == 0)
		sw_jw_null(&q->w);
	struct sw_front f = {.n = 0};
	if (q->rc == SW_OK && q->is_long)
		q->rc = sw_front_read(&f, db, q->sweep, &q->err);
	if (q->rc == SW_OK)
		sw_front_write(&f, &q->w);
	sw_front_fini(&f);
	sw_jw_obj_end(&q->w);
}

static void get_loaded(struct sw_host *h, struct sw_call *call)
{
	struct sw_lookup *q = sw_lookup_create(call, h);
	uint64_t counts[SW_TRIAL_STATE_N];

	if (q == NULL)
		return;
	sw_sweep_counts(h->sched, counts);
	sw_jw_obj(&q->w);
	sw_codec_sweep(&q->w, h, q->now_ms);
	sw_jw_kint(&q->w, "seed", (int64_t)h->seed);
	sw_jw_key(&q->w, "counts");
	sw_codec_counts(&q->w, counts);
	sw_jw_key(&q->w, "rungs");
	sw_codec_rungs(&q->w, h);
	if (sw_spec_max_t(h->spec) > 0)
		sw_jw_kint(&q->w, "max_t", (int64_t)sw_spec_max_t(h->spec));
	else
		sw_jw_knull(&q->w, "max_t");
	sw_jw_kint(&q->w, "created_ms", h->created_ms);
	if (h->ended_ms != 0)
		sw_jw_kint(&q->w, "ended_ms", h->ended_ms);
	else
		sw_jw_knull(&q->w, "ended_ms");
	sw_jw_knum(&q->w, "seconds", sw_codec_seconds(h, q->now_ms));
	q->flag = h->maximize;
	q->is_long = h->spec->n_metrics > 1; /* its front is of all trials */
	q->work = read_get;
	sw_lookup_run(q);
}

void sw_handle_sweep_get(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_host *h = sw_host_find(call->d, sw_call_int(call, "sweep", 0), &err);

	if (h == NULL)
		sw_call_error(call, &err);
	else
		sw_host_need(h, call, get_loaded);
}

void sw_handle_sweep_watch(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_host *h = sw_host_find(call->d, sw_call_int(call, "sweep", 0), &err);

	if (h == NULL)
		sw_call_error(call, &err);
	else
		sw_host_need(h, call, sw_watch_start);
}
