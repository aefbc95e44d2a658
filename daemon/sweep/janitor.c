#include "daemon/sweep/janitor.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/tree.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/checkpoint.h"
#include "daemon/sweep/running.h"
#include "proto/checkpoint_path.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sw_janitor_read_name(const char *name, struct sw_checkpoint *out, bool *whole)
{
	unsigned long long trial, step;
	char rest[16];

	*whole = sw_checkpoint_path_read(name, &out->trial, &out->step);
	if (*whole)
		return true;
	if (sscanf(name, ".tmp-%19llu-%19llu", &trial, &step) != 2) {
		if (sscanf(name, "%19llu.%15s", &trial, rest) != 2 ||
		    (strcmp(rest, "resume") != 0 && strncmp(rest, "live-", 5) != 0))
			return false;
		step = UINT64_MAX; /* after all that are whole */
	}
	out->trial = trial;
	out->step = step;
	return true;
}

int sw_janitor_folder(int at, const char *path)
{
	const char *name = at == AT_FDCWD ? path : strrchr(path, '/') + 1;
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	const int code = errno;

	if (fd < 0 && code != ENOENT)
		sw_log(SW_LOG_WARN, "checkpoint.folder",
		       "path=\"%s\" why=\"%s: nothing is removed\"", path,
		       code == ENOTDIR ? "it is a link, or not a folder" : strerror(code));
	errno = code;
	return fd;
}

DIR *sw_janitor_open(const struct sw_daemon *d, int64_t sweep)
{
	char path[PATH_MAX + 64];
	const int n = snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER, d->config.state);
	int fd = sw_janitor_folder(AT_FDCWD, path);

	if (fd >= 0 && sweep != 0) {
		const int all = fd;

		(void)snprintf(path + n, sizeof path - (size_t)n, "/%lld", (long long)sweep);
		fd = sw_janitor_folder(all, path);
		(void)close(all);
	}
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && dir == NULL)
		(void)close(fd);
	return dir;
}

/* --- removal --- */

struct sw_janitor {
	struct sw_daemon *d;
	uv_work_t work;
	bool busy;
	struct task {
		struct sw_checkpoint what;
		struct sw_janitor_keeps keeps; /* of a sweep's: what stays; of one over its budget:
				       what may go, the worst first */
		uint64_t most; /* bytes of the sweep's files; 0: no matter of a budget */
		size_t least;  /* of these go in any case, for there are too many */
	} * todo, *doing;
	size_t todo_n, todo_cap, doing_n;
};

void sw_janitor_keep(struct sw_janitor_keeps *k, uint64_t trial, uint64_t from, uint64_t to)
{
	if (!sw_array_reserve(&k->v, &k->cap, k->n + 1, sizeof *k->v))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	k->v[k->n++] = (struct sw_janitor_one){.trial = trial, .from = from, .to = to};
}

int sw_janitor_by_trial(const void *a, const void *b)
{
	const struct sw_janitor_one *x = a, *y = b;

	return (x->trial > y->trial) - (x->trial < y->trial);
}

static bool stays(const struct sw_janitor_keeps *k, const struct sw_checkpoint *file, bool whole)
{
	size_t i = sw_array_place(k->v, k->n, sizeof *k->v, file->trial);

	for (; i < k->n && k->v[i].trial == file->trial; i++)
		if (file->step >= k->v[i].from && file->step <= k->v[i].to &&
		    (whole || k->v[i].to == UINT64_MAX))
			return true;
	return false;
}

/* Of a program it is a folder. */
static void remove_file(int folder, const char *name)
{
	if (!sw_tree_remove(folder, name) && errno != ENOENT)
		sw_log(SW_LOG_WARN, "checkpoint.remove", "file=\"%s\" why=\"%s\"", name,
		       strerror(errno));
}

void sw_janitor_clean(const struct sw_daemon *d, int64_t sweep, const struct sw_janitor_keeps *k,
		      uint64_t last)
{
	char path[PATH_MAX + 64];
	const struct dirent *e;
	DIR *dir = sw_janitor_open(d, sweep);

	/* There is no such folder, or it is not one to touch (sw_janitor_folder() has said why). */
	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		struct sw_checkpoint file = {.trial = 0};
		bool whole;

		if (sw_janitor_read_name(e->d_name, &file, &whole) && file.trial <= last &&
		    !stays(k, &file, whole))
			remove_file(dirfd(dir), e->d_name);
	}
	(void)closedir(dir);
	(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER "/%lld", d->config.state,
		       (long long)sweep);
	/* Fails where something is left in it, as it should. */
	(void)rmdir(path);
}

/* The bytes of a folder's checkpoints. */
static uint64_t folder_bytes(DIR *dir)
{
	const struct dirent *e;
	uint64_t bytes = 0;

	while ((e = readdir(dir)) != NULL) {
		struct sw_checkpoint file;
		bool whole;

		if (sw_janitor_read_name(e->d_name, &file, &whole) && whole)
			bytes += sw_tree_bytes(dirfd(dir), e->d_name);
	}
	return bytes;
}

/* Removes files from the first on until the rest fits. `from` becomes UINT64_MAX for each that
 * went, which note_shrunk() reads on the loop thread. */
static void shrink_folder(const struct sw_janitor *j, struct task *t)
{
	DIR *dir = sw_janitor_open(j->d, t->what.sweep);
	char name[SW_CHECKPOINT_NAME_MAX];

	if (dir == NULL)
		return;
	uint64_t bytes = folder_bytes(dir);
	for (size_t i = 0; i < t->keeps.n && (i < t->least || bytes > t->most); i++) {
		struct sw_janitor_one *k = &t->keeps.v[i];

		sw_checkpoint_path(name, sizeof name, NULL, k->trial, k->from);
		const uint64_t of_it = sw_tree_bytes(dirfd(dir), name);
		remove_file(dirfd(dir), name);
		bytes -= bytes < of_it ? bytes : of_it;
		k->from = UINT64_MAX;
	}
	(void)closedir(dir);
	if (bytes > t->most)
		sw_log(SW_LOG_WARN, "checkpoint.max_mb",
		       "sweep=%lld bytes=%llu why=\"the best trial's and those that open trials go "
		       "on "
		       "from are over max_mb\"",
		       (long long)t->what.sweep, (unsigned long long)bytes);
}

static void remove_one(const struct sw_janitor *j, const struct sw_checkpoint *file)
{
	DIR *dir = sw_janitor_open(j->d, file->sweep);
	char name[SW_CHECKPOINT_NAME_MAX];

	if (dir == NULL)
		return;
	sw_checkpoint_path(name, sizeof name, NULL, file->trial, file->step);
	remove_file(dirfd(dir), name);
	(void)closedir(dir);
}

static void run_tasks(uv_work_t *work)
{
	const struct sw_janitor *j = work->data;

	for (size_t i = 0; i < j->doing_n; i++) {
		struct task *t = &j->doing[i];

		if (t->what.trial != 0)
			remove_one(j, &t->what);
		else if (t->most != 0)
			shrink_folder(j, t);
		else
			sw_janitor_clean(j->d, t->what.sweep, &t->keeps, t->what.step);
	}
}

/* Forgets the ended trials whose file the budget took. */
static void note_shrunk(struct sw_daemon *d, const struct task *t)
{
	struct sw_keeping *k = &d->sweep.sweeps[t->what.sweep - 1]->files.keeping;

	for (size_t i = 0; i < t->keeps.n && t->keeps.v[i].from == UINT64_MAX; i++)
		for (size_t m = 0; m < k->ended_n; m++)
			if (k->ended[m].trial == t->keeps.v[i].trial &&
			    k->ended[m].step == t->keeps.v[i].to) {
				k->ended_n--;
				memmove(&k->ended[m], &k->ended[m + 1],
					(k->ended_n - m) * sizeof *k->ended);
				break;
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
	for (size_t i = 0; i < j->doing_n; i++)
		if (j->doing[i].most != 0)
			note_shrunk(j->d, &j->doing[i]);
	free_tasks(j->doing, j->doing_n);
	j->doing = NULL;
	j->busy = false;
	start_tasks(j);
}

static void start_tasks(struct sw_janitor *j)
{
	/* on_tasks() comes back for what is added meanwhile. */
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

struct sw_janitor_keeps sw_janitor_keeps_of_ended(const struct sw_running *live)
{
	struct sw_janitor_keeps k = {.n = 0};

	for (size_t i = 0; i < live->files.keeping.ended_n; i++)
		sw_janitor_keep(&k, live->files.keeping.ended[i].trial,
				live->files.keeping.ended[i].step,
				live->files.keeping.ended[i].step);
	/* One that is still being ended has its own folder until its worker asks again. */
	for (size_t i = 0; i < live->d->slot.slot_n; i++) {
		const struct sw_slot *s = &live->d->slot.slots[i];

		if (s->program && s->state == SW_SLOT_BUSY && s->sweep == live->sweep)
			sw_janitor_keep(&k, (uint64_t)s->trial, 0, 0);
		else if (s->program && s->last_sweep == live->sweep)
			sw_janitor_keep(&k, (uint64_t)s->last_trial, 0, 0);
	}
	if (k.n > 0)
		qsort(k.v, k.n, sizeof *k.v, sw_janitor_by_trial);
	return k;
}

/* Room for n more tasks. */
static struct sw_janitor *need_janitor(struct sw_daemon *d, size_t n)
{
	struct sw_janitor *j = d->sweep.janitor;

	if (j == NULL) {
		j = d->sweep.janitor = sw_daemon_calloc(1, sizeof *j, "remove checkpoints");
		j->d = d;
		j->work.data = j;
	}
	if (!sw_array_reserve(&j->todo, &j->todo_cap, j->todo_n + n, sizeof *j->todo))
		sw_daemon_die("remove checkpoints", SW_NOMEM);
	return j;
}

void sw_janitor_remove(struct sw_daemon *d, const struct sw_checkpoint *v, size_t n)
{
	if (n == 0)
		return;
	struct sw_janitor *j = need_janitor(d, n);
	for (size_t i = 0; i < n; i++) {
		j->todo[j->todo_n++] = (struct task){.what = v[i]};
		if (v[i].trial == 0)
			j->todo[j->todo_n - 1].keeps =
				sw_janitor_keeps_of_ended(d->sweep.sweeps[v[i].sweep - 1]);
	}
	start_tasks(j);
}

struct late {
	struct sw_daemon *d;
	struct sw_checkpoint all;
};

static void on_end_stored(void *arg)
{
	struct late *l = arg;
	const struct sw_running *live = l->d->sweep.sweeps[l->all.sweep - 1];
	const struct sw_checkpoint own = {.sweep = l->all.sweep, .trial = l->all.step};

	/* It was made to go on meanwhile: what is left goes with its next end. */
	if (live->ended_ms != 0)
		sw_janitor_remove(l->d, &l->all, 1);
	else if (live->spec != NULL && live->spec->command != NULL &&
		 sw_checkpoint_goes(live, own.trial))
		sw_janitor_remove(l->d, &own, 1);
	free(l);
}

/* Has its program left something in its own folder? Most have not: the worker has removed it. */
static bool has_own(const struct sw_running *live, uint64_t trial)
{
	char folder[SW_CHECKPOINT_FOLDER_MAX], path[sizeof folder + SW_CHECKPOINT_NAME_MAX];

	sw_checkpoint_folder(live, folder);
	sw_checkpoint_path(path, sizeof path, folder, trial, 0);
	return access(path, F_OK) == 0;
}

void sw_janitor_late(struct sw_daemon *d, int64_t sweep, uint64_t trial)
{
	const struct sw_running *live = d->sweep.sweeps[sweep - 1];

	/* While it goes on its end is still to come. */
	if (!live->files.made || (live->ended_ms == 0 && !has_own(live, trial)))
		return;
	struct late *l = sw_daemon_calloc(1, sizeof *l, "remove checkpoints");
	*l = (struct late){.d = d, .all = {.sweep = sweep, .step = trial}};
	/* Empty, behind the change that ended the sweep, or the trial: before that is stored a
	 * crash would make it go on, without its files. */
	struct sw_change *c = sw_change_begin(d, NULL);
	sw_change_after(c, on_end_stored, l);
	sw_change_commit(c);
}

/* The worst first, then those without a value; of equals the later trial. */
struct offer {
	struct sw_keeping_ended file;
	bool maximize;
};

static int worse_first(const void *a, const void *b)
{
	const struct offer *x = a, *y = b;

	/* The files that are named first go first. */
	if (x->file.has_value != y->file.has_value)
		return x->file.has_value ? 1 : -1;
	if (x->file.has_value && (x->file.value < y->file.value || x->file.value > y->file.value))
		return (x->file.value < y->file.value) == x->maximize ? -1 : 1;
	return (x->file.trial < y->file.trial) - (x->file.trial > y->file.trial);
}

void sw_janitor_shrink(struct sw_running *live)
{
	const struct sw_keeping *k = &live->files.keeping;
	const uint64_t max_mb = live->spec != NULL ? live->spec->checkpoint.max_mb : 0;
	const size_t keep = (size_t)live->d->config.keep_checkpoints;
	const size_t best = sw_checkpoint_best(live, false);
	struct task t = {.what = {.sweep = live->sweep},
			 .most = max_mb != 0 ? max_mb * 1000000 : UINT64_MAX};
	size_t n = 0, whole = 0;

	for (size_t i = 0; i < k->ended_n; i++)
		whole += k->ended[i].step != 0; /* a program's own folder is no checkpoint */
	/* It is within what it may have. */
	if (max_mb == 0 && (keep == 0 || whole <= keep))
		return;
	struct sw_janitor *j = need_janitor(live->d, 1);
	struct offer *v = sw_daemon_calloc(k->ended_n + 1, sizeof *v, "remove checkpoints");
	for (size_t i = 0; i < k->ended_n; i++)
		if ((best == k->ended_n || k->ended[i].trial != k->ended[best].trial) &&
		    !sw_checkpoint_has_heir(live, k->ended[i].trial, k->ended[i].step))
			v[n++] = (struct offer){k->ended[i], live->maximize};
	qsort(v, n, sizeof *v, worse_first);
	for (size_t i = 0; i < n; i++)
		sw_janitor_keep(&t.keeps, v[i].file.trial, v[i].file.step, v[i].file.step);
	for (; keep != 0 && whole > keep && t.least < n; t.least++)
		whole -= v[t.least].file.step != 0;
	free(v);
	/* One that has not begun knew of fewer files. */
	struct task *at = j->todo;
	while (at < j->todo + j->todo_n && (at->most == 0 || at->what.sweep != live->sweep))
		at++;
	if (at == j->todo + j->todo_n)
		j->todo_n++;
	else
		free(at->keeps.v);
	*at = t;
	start_tasks(j);
}

void sw_janitor_free(struct sw_daemon *d)
{
	struct sw_janitor *j = d->sweep.janitor;

	if (j == NULL)
		return;
	assert(!j->busy);
	free_tasks(j->todo, j->todo_n);
	free(j);
	d->sweep.janitor = NULL;
}
