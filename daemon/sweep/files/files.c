#include "daemon/sweep/files/files.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/tree.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/change.h"
#include "daemon/sweep/files/checkpoint.h"
#include "daemon/sweep/files/files_read.h"
#include "daemon/sweep/running.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVERY_US ((int64_t)1000000)
#define SHARE    20 /* so many times as long as a pass looked is waited for the sweep's next */

struct sw_files_pass {
	struct sw_files_read rows;
	struct sw_daemon *d;
	int64_t looked_us; /* without its waits for a thread and for the store */
	struct sw_store_client reads;
	uv_work_t work;
	bool over;
	bool held; /* a worker of the sweep may still write, or end, what a trial leaves */
	bool last; /* no further trial of the sweep begins: its folder goes when it is empty */
};

/* --- the marks --- */

static struct sw_running *running_of(const struct sw_daemon *d, int64_t sweep)
{
	return (uint64_t)sweep <= d->sweep.sweep_n ? d->sweep.sweeps[sweep - 1] : NULL;
}

static void mark_sweep(struct sw_daemon *d, int64_t sweep)
{
	struct sw_files_work *w = &d->sweep.files;
	struct sw_running *live = running_of(d, sweep);

	if (live != NULL && live->files.marked)
		return;
	if (!sw_array_reserve(&w->marked, &w->cap, w->n + 1, sizeof *w->marked))
		sw_daemon_die("note a checkpoint", SW_NOMEM);
	w->marked[w->n++] = sweep;
	if (live != NULL)
		live->files.marked = true;
}

static void on_stored(void *arg)
{
	struct sw_running *live = arg;

	/* Counted, not a flag: several steps may be on their way to the disk at once, and the rows
	 * are whole when none is. */
	live->files.storing--;
	mark_sweep(live->d, live->sweep);
	sw_files_tick(live->d, live->d->clock->mono_us());
}

/* A value below a threshold, or of a trial that failed, is no record: the best of the others is,
 * which the next pass reads. */
static void take_record(struct sw_running *live, uint64_t trial, double value)
{
	struct sw_files_of *f = &live->files;

	if (!sw_sweep_believes(live->sched, value)) {
		if (f->record_trial == trial)
			f->record_trial = 0;
	} else if (f->record_trial == 0 ||
		   (live->maximize ? value > f->record : value < f->record)) {
		f->record_trial = trial;
		f->record = value;
	}
}

void sw_files_stepped(struct sw_change *c, struct sw_running *live, const struct sw_event *event)
{
	bool changed = event->checkpoint;

	/* Clients keep their own files. */
	if (live->driven)
		return;
	if (event->kind == SW_EVENT_REPORT && event->has_value)
		take_record(live, event->trial, event->value);
	for (size_t i = 0; i < c->actions.n; i++) {
		const struct sw_action *a = &c->actions.v[i];

		if (a->kind == SW_ACTION_END && a->trial == live->files.record_trial &&
		    (a->end == SW_TRIAL_FAILED || a->end == SW_TRIAL_INFEASIBLE))
			live->files.record_trial = 0;
		changed |= a->kind == SW_ACTION_PAUSE || a->kind == SW_ACTION_END ||
			   a->kind == SW_ACTION_SWEEP;
	}
	if (!changed)
		return;
	/* After the commit: a pass that read the rows before it would judge by the state before
	 * this step, and delete what this step has just called for. */
	live->files.storing++;
	sw_change_after(c, on_stored, live);
}

void sw_files_start(struct sw_daemon *d)
{
	DIR *dir = sw_checkpoint_open_sweep(d, 0);
	const struct dirent *e;

	/* Nothing has been kept yet, or it is no folder to touch. */
	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		char *end;
		const long long sweep = strtoll(e->d_name, &end, 10);

		/* Folders, not sweeps: one whose sweep is gone from the store is cleared, too
		 * (running_of() gives NULL for it). */
		if (sweep >= 1 && *end == '\0')
			mark_sweep(d, sweep);
	}
	(void)closedir(dir);
}

/* --- list --- */

static void add_file(struct sw_files_pass *p, int folder, const char *name)
{
	struct sw_files *f = &p->rows.files;
	struct sw_file file = {.trial = 0};
	struct stat st;

	if (strlen(name) >= sizeof file.name ||
	    !sw_checkpoint_read_name(name, &file.trial, &file.step, &file.whole) ||
	    fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	/* A list that lacks a file is still safe, since what is not listed is not deleted; but a
	 * trial's best would be chosen among the wrong ones. */
	if (!sw_array_reserve(&f->v, &f->cap, f->n + 1, sizeof *f->v)) {
		p->rows.rc = SW_NOMEM;
		return;
	}
	file.inode = st.st_ino;
	memcpy(file.name, name, strlen(name) + 1);
	f->v[f->n++] = file;
}

/* On the pool, as remove_files(). */
static void list_files(uv_work_t *work)
{
	struct sw_files_pass *p = work->data;
	const int64_t from_us = p->d->clock->mono_us();
	DIR *dir = sw_checkpoint_open_sweep(p->d, p->rows.sweep);
	const struct dirent *e;

	if (dir == NULL)
		return;
	while (p->rows.rc == SW_OK && (e = readdir(dir)) != NULL)
		add_file(p, dirfd(dir), e->d_name);
	(void)closedir(dir);
	if (p->rows.rc == SW_OK && !sw_files_group(&p->rows.files))
		p->rows.rc = SW_NOMEM;
	p->looked_us += p->d->clock->mono_us() - from_us;
}

/* --- remove --- */

/* A program's checkpoint is a folder. */
static void remove_file(int folder, const struct sw_file *file)
{
	struct stat st;

	/* A worker has written another of that name since, or it is gone. By inode: the name says
	 * trial and step, and an attempt that was repeated from an earlier checkpoint writes the
	 * same step again. */
	if (fstatat(folder, file->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_ino != file->inode)
		return;
	if (!sw_tree_remove(folder, file->name) && errno != ENOENT)
		sw_log(SW_LOG_WARN, "checkpoint.remove", "file=\"%s\" why=\"%s\"", file->name,
		       strerror(errno));
}

static void remove_files(uv_work_t *work)
{
	struct sw_files_pass *p = work->data;
	struct sw_files *f = &p->rows.files;
	DIR *dir = sw_checkpoint_open_sweep(p->d, p->rows.sweep);
	char path[SW_CHECKPOINT_FOLDER_MAX];
	uint64_t bytes;

	if (dir == NULL)
		return;
	sw_files_judge(f);
	for (size_t i = 0; f->spec.max_mb != 0 && i < f->n; i++)
		if (f->v[i].stays && f->v[i].whole)
			/* Only of those that stay, and only where a limit is: a program's
			 * checkpoint may be a folder of thousands of files. */
			f->v[i].bytes = sw_tree_bytes(dirfd(dir), f->v[i].name);
	p->rows.rc = sw_files_shrink(f, &p->over, &bytes);
	for (size_t i = 0; p->rows.rc == SW_OK && i < f->n; i++)
		/* The next start finds what a stop leaves here: it marks every sweep that has a
		 * folder. */
		if (!f->v[i].stays && !atomic_load(&p->d->sweep.stopping))
			remove_file(dirfd(dir), &f->v[i]);
	(void)closedir(dir);
	(void)snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER "/%lld", p->d->config.state,
		       (long long)p->rows.sweep);
	/* Fails where something is left in it, as it should. Of a sweep that goes on the next trial
	 * has been given the folder, and makes its own in it. */
	if (p->last)
		(void)rmdir(path);
}

/* --- a pass --- */

static void finish_pass(struct sw_files_pass *p)
{
	struct sw_daemon *d = p->d;
	const int64_t now_us = d->clock->mono_us(), rest = p->looked_us * SHARE;
	struct sw_running *live = running_of(d, p->rows.sweep);

	if (p->rows.rc != SW_OK)
		sw_log(SW_LOG_WARN, "checkpoint.files", "sweep=%lld why=\"%s\"",
		       (long long)p->rows.sweep,
		       p->rows.err.msg[0] != '\0' ? p->rows.err.msg : sw_status_str(p->rows.rc));
	/* These pass; of a row that cannot be read the next pass would say the same. Held: also if
	 * that worker has asked meanwhile, for nothing else marks the sweep then. */
	if (live != NULL && (p->rows.rc == SW_NOMEM || p->rows.rc == SW_BUSY || p->held))
		mark_sweep(d, p->rows.sweep);
	if (live != NULL)
		/* At most a twentieth of the time goes into looking, however large the folder
		 * is. */
		live->files.due_us = now_us + (rest > EVERY_US ? rest : EVERY_US);
	sw_files_fini(&p->rows.files);
	d->sweep.files.busy = false;
	sw_files_tick(d, now_us);
}

/* Does a worker still write, or end, what a trial of the sweep leaves? */
static bool is_over_on(const struct sw_slot *s, int64_t sweep)
{
	/* A worker that has told its trial's end may still be writing that trial's last file, or
	 * removing a program's folder, until it asks for the next. */
	return s->state != SW_SLOT_BUSY &&
	       ((s->program && s->last_trial == 0) || (s->writes && s->last_sweep == sweep));
}

static void on_removed(uv_work_t *work, int status)
{
	struct sw_files_pass *p = work->data;
	struct sw_running *live = running_of(p->d, p->rows.sweep);

	(void)status; /* never cancelled */
	if (p->over && live != NULL && !live->files.over)
		sw_log(SW_LOG_WARN, "checkpoint.max_mb",
		       "sweep=%lld why=\"the best trial's and those that open trials go on from "
		       "are over max_mb\"",
		       (long long)p->rows.sweep);
	if (live != NULL)
		live->files.over = p->over;
	/* The best by the rows is as old as they are. A step since then may have brought
	 * a better one, which take_record() has noted already. */
	if (live != NULL && p->rows.rc == SW_OK && !live->files.marked &&
	    live->files.storing == 0) {
		live->files.record_trial = p->rows.record_trial;
		live->files.record = p->rows.record;
	}
	finish_pass(p);
}

/* Notes whose files workers still write or end. Of a trial that runs its row says all. */
static void hold_files(struct sw_files_pass *p)
{
	struct sw_files *f = &p->rows.files;
	const struct sw_running *live = running_of(p->d, p->rows.sweep);

	/* On the loop, and after the rows were read: a worker that has asked for its next trial
	 * since then is no longer held, and its row says the rest. */
	p->last = live == NULL || live->ended_ms != 0;
	/* Nobody writes for a sweep that is not known. */
	for (size_t i = 0; live != NULL && i < p->d->slot.slot_n; i++) {
		const struct sw_slot *s = &p->d->slot.slots[i];

		if (!is_over_on(s, p->rows.sweep))
			continue;
		p->held = true;
		/* 0: an earlier daemon's, and nobody knows which. */
		for (size_t k = 0; s->last_trial == 0 && k < f->trial_n; k++)
			f->trials[k].held = true;
		struct sw_files_trial *t = sw_files_find(f, (uint64_t)s->last_trial);
		if (t != NULL)
			t->held = true;
	}
}

static void read_more(struct sw_files_pass *p);

/* On the store's thread. */
static void read_rows(struct sw_db *db, void *arg)
{
	struct sw_files_pass *p = arg;
	const int64_t from_us = p->d->clock->mono_us();

	sw_files_read_rows(db, &p->rows);
	p->looked_us += p->d->clock->mono_us() - from_us;
}

static void on_read(void *arg)
{
	struct sw_files_pass *p = arg;

	if (p->rows.rc != SW_OK || p->d->phase != SW_UP)
		/* A stop: what was found is forgotten, for the start does it again. */
		finish_pass(p);
	else if (sw_files_read_more(&p->rows))
		read_more(p);
	else {
		hold_files(p);
		if (uv_queue_work(p->d->loop, &p->work, remove_files, on_removed) != 0)
			sw_daemon_die("remove checkpoints", SW_INTERNAL);
	}
}

static void read_more(struct sw_files_pass *p)
{
	if (sw_store_read(p->d->store, SW_READ_LONG, &p->reads, read_rows, on_read, p) == SW_OK)
		return;
	mark_sweep(p->d, p->rows.sweep); /* too much waits for the store */
	finish_pass(p);
}

static void on_listed(uv_work_t *work, int status)
{
	struct sw_files_pass *p = work->data;

	(void)status; /* never cancelled */
	if (p->rows.rc == SW_OK && p->rows.files.n > 0 && p->d->phase == SW_UP) {
		read_more(p);
		return;
	}
	hold_files(p); /* an empty folder costs no read of rows */
	finish_pass(p);
}

static void begin_pass(struct sw_daemon *d, int64_t sweep)
{
	struct sw_files_work *w = &d->sweep.files;
	struct sw_running *live = running_of(d, sweep);

	if (w->pass == NULL)
		w->pass = sw_daemon_calloc(1, sizeof *w->pass, "remove checkpoints");
	struct sw_files_pass *p = w->pass;
	/* The account of the store's reads goes over from pass to pass, or each would start level
	 * with the clients and go before them. */
	const struct sw_store_client reads = p->reads;
	*p = (struct sw_files_pass){
		.rows = {.sweep = sweep, .err = SW_ERR_INIT}, .d = d, .reads = reads};
	p->rows.files.most = (uint64_t)d->config.retain_checkpoints;
	p->work.data = p;
	w->busy = true;
	if (live != NULL)
		/* Cleared as it begins: a step that is stored during the pass marks the sweep
		 * again. */
		live->files.marked = false;
	if (uv_queue_work(d->loop, &p->work, list_files, on_listed) != 0)
		sw_daemon_die("remove checkpoints", SW_INTERNAL);
}

void sw_files_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_files_work *w = &d->sweep.files;

	if (w->busy || d->phase != SW_UP)
		return;
	for (size_t i = 0; i < w->n; i++) {
		const int64_t sweep = w->marked[i];
		const struct sw_running *live = running_of(d, sweep);

		if (live != NULL && live->files.due_us > now_us)
			continue;
		w->n--;
		/* In the order of their marks, past those that rest: one huge folder does not hold
		 * up the others. */
		memmove(&w->marked[i], &w->marked[i + 1], (w->n - i) * sizeof *w->marked);
		begin_pass(d, sweep);
		return;
	}
}

void sw_files_free(struct sw_daemon *d)
{
	struct sw_files_work *w = &d->sweep.files;

	/* A read that was dropped with the store had its list. */
	if (w->pass != NULL)
		sw_files_fini(&w->pass->rows.files);
	free(w->pass);
	free(w->marked);
	*w = (struct sw_files_work){.n = 0};
}
