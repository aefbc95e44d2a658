#include "daemon/sweep/files/files_read.h"
#include "proto/json.h"
#include "store/read.h"
#include <stdlib.h>
#include <string.h>

#define SLICE 1000 /* trials whose rows are read at once: others read in between */

/* --- a program's best --- */

struct best_search {
	bool maximize, any;
	double value;
	uint64_t step;
	bool (*has)(uint64_t step, void *arg);
	void *arg;
};

/* The first of equals is the best. */
static bool take_report(const struct sw_row_report *row, void *arg)
{
	struct best_search *b = arg;
	const bool better = !b->any ||
			    (b->maximize ? row->value > b->value : row->value < b->value);

	/* Only steps whose file is listed: the best report may be of a step that has none. */
	if (!row->diverged && better && b->has((uint64_t)row->step, b->arg)) {
		b->any = true;
		b->value = row->value;
		b->step = (uint64_t)row->step;
	}
	return true;
}

sw_status sw_files_best(struct sw_db *db, int64_t sweep, int64_t trial, bool maximize,
			bool (*has)(uint64_t step, void *arg), void *arg, uint64_t *out,
			struct sw_err *err)
{
	struct best_search b = {.maximize = maximize, .has = has, .arg = arg};
	const sw_status rc = sw_read_curve(db, sweep, trial, -1, take_report, &b, err);

	*out = b.step;
	return rc;
}

/* --- the rows --- */

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct sw_files_read *r = arg;
	struct sw_spec *spec = NULL;
	cJSON *tree = NULL;

	/* Nothing is left but its number: what is in its folder came late. */
	if (row->gone == SW_GONE_ALL)
		return false;
	/* The stored spec, not the one in memory: a pass also goes over sweeps that are unloaded,
	 * and this thread may not touch those that are not. */
	r->rc = sw_json_parse(&tree, row->spec, strlen(row->spec), &r->err);
	if (r->rc == SW_OK)
		r->rc = sw_spec_read(&spec, tree, &r->err);
	cJSON_Delete(tree);
	if (r->rc != SW_OK)
		return false;
	r->known = true;
	r->children = spec->pruner.kind == SW_PRUNER_PBT;
	r->several = spec->n_metrics > 1;
	r->files.spec = spec->checkpoint;
	r->files.program = spec->command != NULL;
	r->files.maximize = row->maximize;
	sw_spec_destroy(spec);
	return false;
}

static bool take_trial(const struct sw_row_trial *row, void *arg)
{
	struct sw_files_read *r = arg;
	struct sw_files_trial *t = &r->files.trials[r->at];
	/* With one metric its best counts, as for who asks for the best trial, but not that of one
	 * that ended with a value below a threshold; with several the last, as for the front. */
	const bool best = !r->several && row->has_best_value;

	if (row->state == NULL || sw_trial_state_find(row->state, &t->state) != SW_OK) {
		r->rc = sw_err_set(&r->err, SW_IO, "trial %lld has no state", (long long)t->trial);
		return false;
	}
	/* A file whose trial has no row is a leftover of a step that was never stored, and goes. */
	t->known = true;
	t->ended_ms = row->ended_ms;
	t->last = (uint64_t)row->resume_step;
	t->has_value = row->has_value && (best || r->several);
	t->value = best ? row->best_value : row->value;
	return true;
}

static bool is_listed(uint64_t step, void *arg)
{
	const struct sw_files_read *r = arg;

	return sw_files_at(&r->files, r->files.trials[r->at].trial, step) != NULL;
}

static sw_status read_trial(struct sw_files_read *r, struct sw_db *db)
{
	struct sw_files_trial *t = &r->files.trials[r->at];
	struct sw_err err = SW_ERR_INIT;
	/* One read by key each; a folder with thousands of trials is gone through SLICE at a time,
	 * between which clients read. */
	sw_status rc = sw_read_trial(db, r->sweep, (int64_t)t->trial, take_trial, r, &err);

	if (rc == SW_NOT_FOUND || r->rc != SW_OK)
		return r->rc; /* it is nobody's, or its row is damaged */
	/* A trainer's last file has its best weights, too. With one file there is nothing to
	 * choose. */
	if (rc == SW_OK && r->files.program && !r->several && t->n > 1 &&
	    r->files.spec.keep != SW_SPEC_KEEP_NONE)
		rc = sw_files_best(db, r->sweep, (int64_t)t->trial, r->files.maximize, is_listed, r,
				   &t->best, &err);
	if (rc != SW_OK)
		r->err = err;
	return rc;
}

static bool take_child(const struct sw_row_trial *row, void *arg)
{
	struct sw_files_read *r = arg;
	const uint64_t step = (uint64_t)row->resume_step;
	struct sw_file *from = sw_files_at(&r->files, (uint64_t)row->parent, step);

	/* As long as the child has no checkpoint of its own, its donor's file is the only copy of
	 * what it goes on from. */
	if (from != NULL && step != 0 && sw_files_at(&r->files, (uint64_t)row->trial, step) == NULL)
		from->heir = true;
	return true;
}

static bool take_best(const struct sw_row_trial *row, void *arg)
{
	struct sw_files_read *r = arg;

	r->record_trial = (uint64_t)row->trial;
	r->record = row->value;
	return false;
}

/* Behind all trials: a child that is made after this goes on from what its donor's row calls
 * for. */
static void read_rest(struct sw_files_read *r, struct sw_db *db)
{
	static const char *const open[] = {"PENDING", "RUNNING", "PAUSED"};

	for (size_t i = 0; r->children && r->rc == SW_OK && i < sizeof open / sizeof open[0]; i++)
		r->rc = sw_read_trials(db, r->sweep, open[i], 0, -1, take_child, r, &r->err);
	if (r->rc == SW_OK && !r->several)
		r->rc = sw_read_best(db, r->sweep, r->files.maximize, "all", 1, take_best, r,
				     &r->err);
}

void sw_files_read_rows(struct sw_db *db, void *arg)
{
	struct sw_files_read *r = arg;
	const size_t left = r->files.trial_n - r->at, n = left < SLICE ? left : SLICE;

	if (r->at == 0) {
		const sw_status rc = sw_read_sweeps(db, r->sweep, take_sweep, r, &r->err);

		r->rc = r->rc != SW_OK ? r->rc : rc;
	}
	/* r->at counts on over the slices, so the next call begins where this one ended. */
	for (size_t end = r->at + n; r->rc == SW_OK && r->known && r->at < end; r->at++)
		r->rc = read_trial(r, db);
	if (r->rc == SW_OK && r->known && r->at == r->files.trial_n)
		read_rest(r, db);
}

bool sw_files_read_more(const struct sw_files_read *r)
{
	return r->rc == SW_OK && r->known && r->at < r->files.trial_n;
}
