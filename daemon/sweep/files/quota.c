#include "daemon/sweep/files/quota.h"
#include "base/log.h"
#include "base/tree.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/sweep/files/erase.h"
#include "daemon/sweep/running.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define WALK_EVERY_US ((int64_t)10 * 1000000)
#define WALK_SHARE    20 /* so many times as long as a walk took is waited for the next */
#define AGES_EVERY_US ((int64_t)600 * 1000000)
#define DAY_MS        ((int64_t)24 * 3600 * 1000)
#define NEVER_SET_MS  ((int64_t)1000000000000) /* 2001 */
#define NEAR_PERCENT  90

const char *sw_quota_full(const struct sw_daemon *d)
{
	return d->sweep.quota.line[0] != '\0' ? d->sweep.quota.line : NULL;
}

static bool add_file(int at, const char *name, bool folder, void *arg)
{
	struct sw_daemon *d = arg;
	struct stat st;

	/* A folder has no bytes that count, and a file may be gone by now. */
	if (!folder && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		d->sweep.quota.bytes += (uint64_t)st.st_size;
	return !atomic_load(&d->sweep.stopping); /* a stop does not wait for a large folder */
}

/* On the pool. */
static void run_walk(uv_work_t *work)
{
	struct sw_daemon *d = work->data;
	struct sw_quota *k = &d->sweep.quota;

	/* The pool's alone while `busy`: the loop reads used and added, which only it writes. */
	k->bytes = 0;
	k->whole = sw_tree_walk(AT_FDCWD, d->config.state, add_file, d);
}

/* Asks that wait are served, and slots filled, as when a trial ended. */
static void begin_again(struct sw_daemon *d)
{
	d->slot.due = true;
	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		if (d->sweep.sweeps[i]->ended_ms == 0)
			sw_running_due(d->sweep.sweeps[i]);
}

static void take_bytes(struct sw_daemon *d)
{
	struct sw_quota *k = &d->sweep.quota;
	/* In double: a quota near 2^63 times NEAR_PERCENT would overflow. */
	const double used = (double)k->used, quota = (double)d->config.quota;
	const bool was_full = k->line[0] != '\0', full = used >= quota;
	const bool near = used >= quota * NEAR_PERCENT / 100;
	char of[80];

	(void)snprintf(of, sizeof of, "the state directory has %.4g MB of its quota of %.4g MB",
		       used / 1e6, quota / 1e6);
	if (near && !k->near && !full)
		sw_log(SW_LOG_WARN, "state.quota",
		       "why=\"%s: when it is met no trial begins; sweep rm makes room\"", of);
	k->near = near;
	k->line[0] = '\0';
	if (full)
		(void)snprintf(k->line, sizeof k->line, "%s: no trial begins; sweep rm makes room",
			       of);
	if (full == was_full)
		return;
	sw_log(full ? SW_LOG_WARN : SW_LOG_INFO, "state.quota", "why=\"%s%s\"", of,
	       full ? ": no trial begins; those that run go on" : ": trials begin again");
	/* A full quota needs no act: every path that begins a trial asks sw_quota_full() first. */
	if (!full)
		begin_again(d);
}

static void on_walked(uv_work_t *work, int status)
{
	struct sw_daemon *d = work->data;
	struct sw_quota *k = &d->sweep.quota;
	const int64_t now_us = d->clock->mono_us(), rest = (now_us - k->began_us) * WALK_SHARE;

	(void)status; /* never cancelled */
	k->busy = false;
	/* A walk of millions of files reads as many inodes: a twentieth of the time is what it may
	 * cost the disk. */
	k->due_us = now_us + (rest > WALK_EVERY_US ? rest : WALK_EVERY_US);
	/* A folder that went while it was walked ends the walk: the next one says more. */
	if (!k->whole)
		return;
	/* A journal's entries since the walk began may be counted twice, once as bytes of the file:
	 * too much by a little, until the next walk. */
	k->used = k->bytes + k->added;
	take_bytes(d);
}

void sw_quota_add(struct sw_daemon *d, uint64_t bytes)
{
	if (d->config.quota == 0)
		return;
	d->sweep.quota.used += bytes;
	d->sweep.quota.added += bytes;
	take_bytes(d);
}

/* When to look first. Where the clock is wrong all sweeps may seem old, and a deletion cannot be
 * taken back: if the last that is known lies more than a day back, that day passes first. */
static int64_t first_look(const struct sw_daemon *d, int64_t now_us)
{
	int64_t last_ms = 0;

	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		const struct sw_running *live = d->sweep.sweeps[i];

		last_ms = live->created_ms > last_ms ? live->created_ms : last_ms;
		last_ms = live->ended_ms > last_ms ? live->ended_ms : last_ms;
	}
	/* A machine without a battery has no other clock than the times that are stored. */
	const int64_t ahead_ms = d->clock->wall_ms() - last_ms;
	if (last_ms == 0 || ahead_ms <= DAY_MS)
		return now_us;
	sw_log(SW_LOG_WARN, "keep.clock",
	       "days=%.1f why=\"the clock is so far ahead of all that is stored: in case it is "
	       "wrong, --keep-days deletes nothing within a day\"",
	       (double)ahead_ms / DAY_MS);
	return now_us + DAY_MS * 1000;
}

static void delete_old(struct sw_daemon *d)
{
	/* It may have been set back since the start: then fewer are old. */
	const int64_t set_ms = d->clock->set_ms();
	const int64_t before_ms =
		d->clock->wall_ms() + (set_ms < 0 ? set_ms : 0) - d->config.retain_days * DAY_MS;
	int64_t made_ms = 0; /* of the sweeps so far, by number, the latest */

	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		/* None ended before it was made, or before an earlier one was: the clock was set
		 * back then. Before NEVER_SET_MS it was not set: nobody knows how old it is. */
		made_ms = live->created_ms > made_ms ? live->created_ms : made_ms;
		if (live->ended_ms >= NEVER_SET_MS && live->ended_ms < before_ms &&
		    made_ms < before_ms && live->gone == SW_GONE_NOT)
			/* Only marks: one deletion is under way at a time, and those that wait are
			 * one a sweep at most. */
			sw_erase_begin(live, false, NULL);
	}
}

void sw_quota_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_quota *k = &d->sweep.quota;

	if (d->config.retain_days > 0 && k->days_due_us == 0)
		k->days_due_us = first_look(d, now_us);
	/* A disk that is stuck takes no marks. */
	if (d->config.retain_days > 0 && now_us >= k->days_due_us &&
	    sw_store_stuck(d->store) == NULL) {
		k->days_due_us = now_us + AGES_EVERY_US;
		delete_old(d);
	}
	if (d->config.quota == 0 || k->busy || now_us < k->due_us)
		return;
	k->busy = true;
	k->began_us = now_us;
	k->added = 0;
	k->work.data = d;
	if (uv_queue_work(d->loop, &k->work, run_walk, on_walked) != 0)
		sw_daemon_die("measure the state directory", SW_INTERNAL);
}
