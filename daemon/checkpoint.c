#include "daemon/checkpoint.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/driver.h"
#include "daemon/host.h"
#include "store/read.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER   "checkpoints"
#define PATH_CAP (PATH_MAX + 96)

/* --- names --- */

sw_status sw_checkpoint_folder(struct sw_host *h, bool make, char *out, size_t cap,
			       struct sw_err *err)
{
	const char *state = h->d->config.state;

	for (int depth = make ? 0 : 1; depth < 2; depth++) {
		const int n = depth == 0 ? snprintf(out, cap, "%s/" FOLDER, state)
					 : snprintf(out, cap, "%s/" FOLDER "/%lld", state,
						    (long long)h->sweep);

		if (n < 0 || (size_t)n >= cap)
			return sw_err_set(err, SW_TOO_BIG,
					  "the path of the checkpoints is too long");
		if (make && mkdir(out, 0700) != 0 && errno != EEXIST)
			return sw_err_set(err, SW_IO, "cannot make the folder %s: %s", out,
					  strerror(errno));
	}
	h->has_checkpoints = h->has_checkpoints || make;
	return SW_OK;
}

/* "12-27.ckpt", or a worker's file under way, ".tmp-12-27-Ab3dEf". */
static bool read_name(const char *name, struct sw_checkpoint *out, bool *whole)
{
	unsigned long long trial, step;
	char rest[16];

	*whole = sscanf(name, "%19llu-%19llu%15s", &trial, &step, rest) == 3 &&
		 strcmp(rest, ".ckpt") == 0;
	if (!*whole && sscanf(name, ".tmp-%19llu-%19llu", &trial, &step) != 2)
		return false;
	out->trial = trial;
	out->step = step;
	return true;
}

/* --- who needs what --- */

struct sw_checkpoint sw_checkpoint_of(const struct sw_host *h, uint64_t trial)
{
	const struct sw_trial *t = h->driven ? NULL : sw_sweep_trial(h->sched, trial);
	struct sw_checkpoint c = {.sweep = h->sweep};

	if (t != NULL && t->resume_step != 0) {
		c.trial = sw_sweep_from(h->sched, trial);
		c.step = t->resume_step;
	}
	return c;
}

static bool same(const struct sw_checkpoint *a, const struct sw_checkpoint *b)
{
	return a->trial == b->trial && a->step == b->step;
}

static bool is_needed(const struct sw_host *h, const struct sw_checkpoint *file)
{
	const struct sw_checkpoint own = sw_checkpoint_of(h, file->trial);
	const struct sw_trial *t = sw_sweep_trial(h->sched, file->trial);

	if (same(&own, file) &&
	    (!sw_trial_ended((enum sw_trial_state)t->state) || t->state == SW_TRIAL_COMPLETED))
		return true;
	for (size_t i = 0; i < h->heirs.n; i++)
		if (h->heirs.v[i].from == file->trial && h->heirs.v[i].step == file->step)
			return true;
	return false;
}

static void add_unneeded(struct sw_change *c, const struct sw_checkpoint *file)
{
	if (c->unneeded_n == c->unneeded_cap) {
		const size_t cap = c->unneeded_cap == 0 ? 4 : c->unneeded_cap * 2;
		struct sw_checkpoint *grown = sw_realloc(c->unneeded, cap * sizeof *grown);

		if (grown == NULL)
			sw_daemon_die("note a checkpoint", SW_NOMEM);
		c->unneeded = grown;
		c->unneeded_cap = cap;
	}
	c->unneeded[c->unneeded_n++] = *file;
}

static void release(struct sw_change *c, const struct sw_host *h, const struct sw_checkpoint *file)
{
	if (file->trial != 0 && !is_needed(h, file))
		add_unneeded(c, file);
}

static void add_heir(struct sw_host *h, uint64_t child, uint64_t from, uint64_t step)
{
	struct sw_heirs *v = &h->heirs;

	if (v->n == v->cap) {
		const size_t cap = v->cap == 0 ? 16 : v->cap * 2;
		struct sw_heir *grown = sw_realloc(v->v, cap * sizeof *grown);

		if (grown == NULL)
			sw_daemon_die("note a checkpoint", SW_NOMEM);
		v->v = grown;
		v->cap = cap;
	}
	v->v[v->n++] = (struct sw_heir){.child = child, .from = from, .step = step};
}

/* The trial has one of its own now, or needs none. */
static void drop_heir(struct sw_change *c, struct sw_host *h, uint64_t child)
{
	struct sw_heirs *v = &h->heirs;

	for (size_t i = 0; i < v->n; i++) {
		if (v->v[i].child != child)
			continue;
		const struct sw_checkpoint file = {
			.sweep = h->sweep, .trial = v->v[i].from, .step = v->v[i].step};
		v->v[i] = v->v[--v->n];
		release(c, h, &file);
		return;
	}
}

void sw_checkpoint_created(struct sw_host *h, const struct sw_action *create)
{
	if (!h->driven && create->from != 0 && create->from != create->trial)
		add_heir(h, create->trial, create->from, create->resume_step);
}

void sw_checkpoint_stepped(struct sw_change *c, struct sw_host *h, uint64_t trial,
			   const struct sw_checkpoint *before, const struct sw_actions *step)
{
	if (h->driven)
		return;
	const struct sw_checkpoint now = sw_checkpoint_of(h, trial);
	if (trial != 0 && now.trial == trial && !same(&now, before)) {
		drop_heir(c, h, trial);
		release(c, h, before);
	}
	for (size_t i = 0; i < step->n; i++) {
		const struct sw_action *a = &step->v[i];

		if (a->kind == SW_ACTION_END) {
			const struct sw_checkpoint last = sw_checkpoint_of(h, a->trial);

			drop_heir(c, h, a->trial);
			release(c, h, &last);
		} else if (a->kind == SW_ACTION_SWEEP && h->has_checkpoints && h->ended_ms != 0) {
			const struct sw_checkpoint all = {.sweep = h->sweep,
							  .step = sw_sweep_trial_n(h->sched)};

			add_unneeded(c, &all);
		}
	}
}

void sw_checkpoint_recovered(struct sw_host *h)
{
	const uint64_t n = sw_sweep_trial_n(h->sched);

	for (uint64_t trial = 1; !h->driven && trial <= n; trial++) {
		const struct sw_trial *t = sw_sweep_trial(h->sched, trial);
		const struct sw_checkpoint c = sw_checkpoint_of(h, trial);

		if (c.trial != 0 && c.trial != trial &&
		    !sw_trial_ended((enum sw_trial_state)t->state))
			add_heir(h, trial, c.trial, c.step);
	}
}

/* --- removal --- */

/* Files of `trial` from one step to another stay. */
struct keep {
	uint64_t trial, from, to;
};

struct keeps {
	struct keep *v; /* by trial */
	size_t n, cap;
};

struct sw_janitor {
	struct sw_daemon *d;
	uv_work_t work;
	bool busy;
	struct task {
		struct sw_checkpoint what;
		struct keeps keeps; /* of a sweep's */
	} * todo, *doing;
	size_t todo_n, todo_cap, doing_n;
};

static void add_keep(struct keeps *k, uint64_t trial, uint64_t from, uint64_t to)
{
	if (k->n == k->cap) {
		const size_t cap = k->cap == 0 ? 64 : k->cap * 2;
		struct keep *grown = sw_realloc(k->v, cap * sizeof *grown);

		if (grown == NULL)
			sw_daemon_die("note a checkpoint", SW_NOMEM);
		k->v = grown;
		k->cap = cap;
	}
	k->v[k->n++] = (struct keep){.trial = trial, .from = from, .to = to};
}

static int by_trial(const void *a, const void *b)
{
	const struct keep *x = a, *y = b;

	return (x->trial > y->trial) - (x->trial < y->trial);
}

static bool stays(const struct keeps *k, const struct sw_checkpoint *file, bool whole)
{
	size_t low = 0, high = k->n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (k->v[mid].trial < file->trial)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < k->n && k->v[low].trial == file->trial; low++)
		if (file->step >= k->v[low].from && file->step <= k->v[low].to &&
		    (whole || k->v[low].to == UINT64_MAX))
			return true;
	return false;
}

static void remove_path(const char *path)
{
	if (unlink(path) != 0 && errno != ENOENT)
		sw_log(SW_LOG_WARN, "checkpoint.remove", "path=\"%s\" why=\"%s\"", path,
		       strerror(errno));
}

/* Removes what does not stay, of trials up to `last`, then the folder if it is empty. */
static void clean_folder(const char *folder, const struct keeps *k, uint64_t last)
{
	char path[PATH_CAP];
	const struct dirent *e;
	DIR *dir = opendir(folder);

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		struct sw_checkpoint file = {.trial = 0};
		bool whole;

		if (!read_name(e->d_name, &file, &whole) || file.trial > last ||
		    stays(k, &file, whole) ||
		    snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path)
			continue;
		remove_path(path);
	}
	(void)closedir(dir);
	(void)rmdir(folder);
}

static void run_tasks(uv_work_t *work)
{
	const struct sw_janitor *j = work->data;
	char path[PATH_CAP];

	for (size_t i = 0; i < j->doing_n; i++) {
		const struct task *t = &j->doing[i];
		const long long sweep = t->what.sweep;

		if (t->what.trial != 0) {
			(void)snprintf(path, sizeof path, "%s/" FOLDER "/%lld/%llu-%llu.ckpt",
				       j->d->config.state, sweep, (unsigned long long)t->what.trial,
				       (unsigned long long)t->what.step);
			remove_path(path);
		} else {
			(void)snprintf(path, sizeof path, "%s/" FOLDER "/%lld", j->d->config.state,
				       sweep);
			clean_folder(path, &t->keeps, t->what.step);
		}
	}
}

static void free_tasks(struct task *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i].keeps.v);
	free(v);
}

static void start_tasks(struct sw_janitor *j);

static void on_tasks(uv_work_t *work, int status)
{
	struct sw_janitor *j = work->data;

	(void)status; /* never cancelled */
	free_tasks(j->doing, j->doing_n);
	j->doing = NULL;
	j->busy = false;
	start_tasks(j);
}

static void start_tasks(struct sw_janitor *j)
{
	if (j->busy || j->todo_n == 0)
		return;
	j->doing = j->todo;
	j->doing_n = j->todo_n;
	j->todo = NULL;
	j->todo_n = j->todo_cap = 0;
	j->busy = true;
	if (uv_queue_work(j->d->loop, &j->work, run_tasks, on_tasks) != 0)
		sw_daemon_die("remove checkpoints", SW_INTERNAL);
}

/* Of a sweep that has ended: the last file of each trial that is COMPLETED. */
static struct keeps keeps_of_ended(const struct sw_host *h)
{
	const uint64_t n = sw_sweep_trial_n(h->sched);
	struct keeps k = {.n = 0};

	for (uint64_t trial = 1; trial <= n; trial++) {
		const struct sw_checkpoint c = sw_checkpoint_of(h, trial);

		if (c.trial == trial &&
		    sw_sweep_trial(h->sched, trial)->state == SW_TRIAL_COMPLETED)
			add_keep(&k, trial, c.step, c.step);
	}
	return k;
}

void sw_checkpoint_remove(struct sw_daemon *d, const struct sw_checkpoint *v, size_t n)
{
	struct sw_janitor *j = d->janitor;

	if (n == 0)
		return;
	if (j == NULL) {
		j = d->janitor = sw_calloc(1, sizeof *j);
		if (j == NULL)
			sw_daemon_die("remove checkpoints", SW_NOMEM);
		j->d = d;
		j->work.data = j;
	}
	if (j->todo_n + n > j->todo_cap) {
		const size_t cap = 2 * (j->todo_n + n);
		struct task *grown = sw_realloc(j->todo, cap * sizeof *grown);

		if (grown == NULL)
			sw_daemon_die("remove checkpoints", SW_NOMEM);
		j->todo = grown;
		j->todo_cap = cap;
	}
	for (size_t i = 0; i < n; i++) {
		j->todo[j->todo_n++] = (struct task){.what = v[i]};
		if (v[i].trial == 0)
			j->todo[j->todo_n - 1].keeps = keeps_of_ended(d->hosts[v[i].sweep - 1]);
	}
	start_tasks(j);
}

void sw_checkpoint_free(struct sw_daemon *d)
{
	struct sw_janitor *j = d->janitor;

	if (j == NULL)
		return;
	assert(!j->busy);
	free_tasks(j->todo, j->todo_n);
	free(j);
	d->janitor = NULL;
}

/* --- at start --- */

/* A running trial's worker may have written more than it could report. */
static struct keeps keeps_of_open(const struct sw_host *h)
{
	const uint64_t n = sw_sweep_trial_n(h->sched);
	struct keeps k = {.n = 0};

	for (uint64_t trial = 1; trial <= n; trial++) {
		const enum sw_trial_state state =
			(enum sw_trial_state)sw_sweep_trial(h->sched, trial)->state;
		const struct sw_checkpoint c = sw_checkpoint_of(h, trial);

		if (sw_trial_ended(state) && (state != SW_TRIAL_COMPLETED || c.trial != trial))
			continue;
		if (state == SW_TRIAL_RUNNING)
			add_keep(&k, trial, c.trial == trial ? c.step : 0, UINT64_MAX);
		if (c.trial != 0)
			add_keep(&k, c.trial, c.step, c.step);
	}
	if (k.n > 0)
		qsort(k.v, k.n, sizeof *k.v, by_trial);
	return k;
}

static bool keep_row(const struct sw_row_trial *row, void *arg)
{
	if (row->resume_step > 0)
		add_keep(arg, (uint64_t)row->trial, (uint64_t)row->resume_step,
			 (uint64_t)row->resume_step);
	return true;
}

struct ended_read {
	int64_t sweep;
	struct keeps keeps;
	sw_status rc;
};

static void read_ended(struct sw_db *db, void *arg)
{
	struct ended_read *r = arg;
	struct sw_err err = SW_ERR_INIT;

	r->rc = sw_read_trials(db, r->sweep, "COMPLETED", 0, INT64_MAX, keep_row, &r->keeps, &err);
}

static void clean_sweep(struct sw_daemon *d, const char *folder, long long sweep)
{
	struct ended_read r = {.sweep = sweep, .rc = SW_OK};

	if ((unsigned long long)sweep <= d->host_n) {
		struct sw_host *h = d->hosts[sweep - 1];

		h->has_checkpoints = true;
		if (h->sched != NULL)
			r.keeps = keeps_of_open(h);
		else
			sw_store_read_now(d->store, read_ended, &r);
	}
	if (r.rc == SW_OK)
		clean_folder(folder, &r.keeps, UINT64_MAX);
	free(r.keeps.v);
}

void sw_checkpoint_clean(struct sw_daemon *d)
{
	char folder[PATH_CAP], path[PATH_CAP];
	const struct dirent *e;

	(void)snprintf(folder, sizeof folder, "%s/" FOLDER, d->config.state);
	DIR *dir = opendir(folder);
	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		char *end;
		const long long sweep = strtoll(e->d_name, &end, 10);

		if (sweep >= 1 && *end == '\0' &&
		    snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
			clean_sweep(d, path, sweep);
	}
	(void)closedir(dir);
}
