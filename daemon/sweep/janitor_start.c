/*
 * daemon/sweep/janitor_start.c — at start, checkpoints that are still needed are noted, and those
 * that a crash left behind are removed.
 */
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/sweep/janitor.h"
#include "daemon/sweep/running.h"
#include "store/read.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A running trial keeps all its files from the last reported one on: its worker may have written
 * more than it could report. A program's keeps them until the next attempt begins. */
static struct sw_janitor_keeps keeps_of_open(const struct sw_running *live)
{
	const uint64_t n = sw_sweep_trial_n(live->sched);
	struct sw_janitor_keeps k = sw_janitor_keeps_of_ended(live);

	for (uint64_t trial = 1; trial <= n; trial++) {
		const enum sw_trial_state state =
			(enum sw_trial_state)sw_sweep_trial(live->sched, trial)->state;
		const struct sw_checkpoint c = sw_checkpoint_of(live, trial);

		/* Its file is in the list of the ended. */
		if (sw_trial_ended(state))
			continue;
		if (state == SW_TRIAL_RUNNING || live->spec->command != NULL)
			sw_janitor_keep(&k, trial, c.trial == trial ? c.step : 0, UINT64_MAX);
		if (live->spec->command != NULL)
			sw_janitor_keep(&k, trial, 0, 0);
		if (c.trial != 0)
			sw_janitor_keep(&k, c.trial, c.step, c.step);
	}
	for (size_t i = 0; i < live->files.keeping.open_n; i++) {
		const struct sw_keeping_open *o = &live->files.keeping.open[i];

		if (o->before != 0 && !o->gone)
			sw_janitor_keep(&k, o->trial, o->before, o->before);
		if (o->best != 0 && !o->gone)
			sw_janitor_keep(&k, o->trial, o->best, o->best);
	}
	if (k.n > 0)
		qsort(k.v, k.n, sizeof *k.v, sw_janitor_by_trial);
	return k;
}

/* Files of a sweep at start, and what the store says of their trials. */
struct found {
	struct sw_running *live;
	struct found_file {
		uint64_t trial, step;
		bool folder;               /* a program's */
		enum sw_trial_state state; /* FAILED: of no stored trial, too */
		int64_t ended_ms;          /* 0: it has not */
		struct sw_row_trial row;   /* its numbers */
	} * v;
	size_t n, cap;
	size_t at; /* the one that is read */
	sw_status rc;
};

static bool find_row(const struct sw_row_trial *row, void *arg)
{
	struct found *f = arg;
	struct found_file *file = &f->v[f->at];

	if (row->state == NULL || sw_trial_state_find(row->state, &file->state) != SW_OK)
		file->state = SW_TRIAL_FAILED;
	file->row = *row; /* its texts are not read */
	file->ended_ms = sw_trial_ended(file->state) ? row->ended_ms : 0;
	return true;
}

static void read_found(struct sw_db *db, void *arg)
{
	struct found *f = arg;

	for (f->at = 0; f->at < f->n && f->rc == SW_OK; f->at++) {
		struct sw_err err = SW_ERR_INIT;

		f->v[f->at].state = SW_TRIAL_FAILED;
		f->rc = sw_read_trial(db, f->live->sweep, (int64_t)f->v[f->at].trial, find_row, f,
				      &err);
		if (f->rc == SW_NOT_FOUND)
			f->rc = SW_OK;
	}
}

static void add_found(struct found *f, uint64_t trial, uint64_t step, bool folder)
{
	if (!sw_array_reserve(&f->v, &f->cap, f->n + 1, sizeof *f->v))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	f->v[f->n++] = (struct found_file){.trial = trial, .step = step, .folder = folder};
}

static void list_folder(struct found *f, const struct sw_daemon *d, int64_t sweep)
{
	DIR *dir = sw_janitor_open(d, sweep);
	const struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		struct sw_checkpoint file;
		struct stat st;
		bool whole;

		/* No name of ours, or one that was never finished: sw_janitor_clean() removes
		 * those. */
		if (!sw_janitor_read_name(e->d_name, &file, &whole) || !whole)
			continue;
		add_found(f, file.trial, file.step,
			  fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				  S_ISDIR(st.st_mode));
	}
	(void)closedir(dir);
}

static int by_end(const void *a, const void *b)
{
	const struct found_file *x = a, *y = b;

	if (x->ended_ms != y->ended_ms)
		return x->ended_ms < y->ended_ms ? -1 : 1;
	return (x->trial > y->trial) - (x->trial < y->trial);
}

/* The step of a program's best checkpoint among those that are there: of its best report, else the
 * first. 0: of a trainer, or there is no best. Those of a trial stand together. */
static uint64_t best_left(const struct found *f, const struct found_file *file)
{
	const uint64_t wanted = (uint64_t)file->row.best_step,
		       last = (uint64_t)file->row.resume_step;
	const struct found_file *of = file;
	uint64_t best = 0;

	while (of > f->v && of[-1].trial == file->trial)
		of--;
	for (; file->row.has_best_value && of < f->v + f->n && of->trial == file->trial; of++)
		if (of->folder && of->step != 0 && of->step <= last && best != wanted &&
		    (best == 0 || of->step == wanted || of->step < best))
			best = of->step;
	return best;
}

/* Notes again what the sweep knew of its files before the daemon was started again. */
static void take_found(struct found *f)
{
	/* An ended sweep has no spec in memory; what it did not keep was removed when it ended. */
	const struct sw_spec *spec = f->live->spec;
	const bool none = spec != NULL && spec->checkpoint.keep == SW_SPEC_KEEP_NONE;

	if (f->n > 0)
		qsort(f->v, f->n, sizeof *f->v, by_end);
	for (size_t i = 0; i < f->n; i++) {
		const struct found_file *file = &f->v[i];
		const uint64_t last = (uint64_t)file->row.resume_step;

		/* Nothing of it is kept; or it was written and never reported. */
		if (file->state == SW_TRIAL_FAILED || file->state == SW_TRIAL_INFEASIBLE ||
		    file->step > last)
			continue;
		const bool several = spec != NULL && spec->n_metrics > 1;
		const bool doubted = !several && file->row.has_best_value && !file->row.has_value;
		const bool has_value = several ? file->row.has_value
					       : file->row.has_best_value &&
							 !(doubted && file->ended_ms != 0);
		const double value = several ? file->row.value : file->row.best_value;
		if (has_value)
			sw_checkpoint_record(f->live, value);
		const uint64_t best = several || none ? 0 : best_left(f, file);
		if (file->ended_ms != 0 && !none &&
		    (file->step == last || file->step == best || file->step == 0)) {
			const struct sw_keeping_ended ended = {.trial = file->trial,
							       .step = file->step,
							       .completed = file->state ==
									    SW_TRIAL_COMPLETED,
							       .has_value = has_value,
							       .value = value};
			sw_checkpoint_ended(f->live, &ended);
		} else if (file->ended_ms == 0) {
			struct sw_keeping_open *o = sw_checkpoint_open(f->live, file->trial);

			o->has_value = has_value;
			o->value = value;
			if (file->step < last && file->state != SW_TRIAL_PAUSED &&
			    file->step > o->before)
				o->before = file->step;
			o->doubted = doubted;
			o->best = best;
			o->best_value = value;
		}
	}
}

/* A trial that goes on may have reported its best before it wrote any file: what it writes later is
 * kept by that. */
static void note_open(struct sw_daemon *d, struct sw_running *live)
{
	const uint64_t n = sw_sweep_trial_n(live->sched);
	struct found f = {.live = live, .rc = SW_OK};

	for (uint64_t trial = 1; trial <= n; trial++) {
		const struct sw_trial *t = sw_sweep_trial(live->sched, trial);

		if (!sw_trial_ended((enum sw_trial_state)t->state) && t->has_value)
			add_found(&f, trial, 0, false);
	}
	if (f.n > 0)
		sw_store_read_now(d->store, read_found, &f);
	if (f.rc == SW_OK)
		take_found(&f);
	free(f.v);
}

static void clean_sweep(struct sw_daemon *d, long long sweep)
{
	struct found f = {.rc = SW_OK};
	struct sw_janitor_keeps keeps = {.n = 0};

	if ((unsigned long long)sweep <= d->sweep.sweep_n) {
		f.live = d->sweep.sweeps[sweep - 1];
		f.live->files.made = true;
		list_folder(&f, d, sweep);
		sw_store_read_now(d->store, read_found, &f);
		if (f.rc == SW_OK)
			take_found(&f);
		if (d->config.keep_checkpoints != 0)
			sw_janitor_shrink(f.live);
		keeps = f.live->sched != NULL ? keeps_of_open(f.live)
					      : sw_janitor_keeps_of_ended(f.live);
	}
	if (f.rc == SW_OK)
		sw_janitor_clean(d, sweep, &keeps, UINT64_MAX);
	free(keeps.v);
	free(f.v);
}

void sw_janitor_start(struct sw_daemon *d)
{
	const struct dirent *e;
	DIR *dir = sw_janitor_open(d, 0);

	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		if (d->sweep.sweeps[i]->ended_ms == 0 && d->sweep.sweeps[i]->sched != NULL &&
		    !d->sweep.sweeps[i]->driven)
			note_open(d, d->sweep.sweeps[i]);
	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		char *end;
		const long long sweep = strtoll(e->d_name, &end, 10);

		if (sweep >= 1 && *end == '\0')
			clean_sweep(d, sweep);
	}
	(void)closedir(dir);
}
