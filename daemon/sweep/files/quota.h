/*
 * daemon/sweep/files/quota.h — how much stays: --keep-days deletes old sweeps, --quota bounds the
 * state directory.
 *
 * The directory is walked on libuv's pool: at the start, every 10 s, and never for more than a
 * twentieth of the time. So it may pass its quota by what is written in between, but for journals,
 * whose entries count as they come. Then no trial begins and no journal grows; trials that run go
 * on, and all they report is kept.
 */
#ifndef SW_DAEMON_SWEEP_FILES_QUOTA_H
#define SW_DAEMON_SWEEP_FILES_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct sw_daemon;

struct sw_quota {
	uv_work_t work;
	bool busy, whole;    /* the directory is walked; the last walk saw all of it */
	uint64_t bytes;      /* of the walk */
	uint64_t used;       /* of the last whole walk, and of what journals took since */
	uint64_t added;      /* by journals, since the walk began */
	int64_t began_us;    /* the walk */
	int64_t due_us;      /* the next */
	int64_t days_due_us; /* the next look at the ages of sweeps */
	bool near;           /* the log has the line that comes before it is met */
	char line[160];      /* why no trial begins; "" if one may */
};

void sw_quota_tick(struct sw_daemon *d, int64_t now_us);
/* So many bytes go into a journal. */
void sw_quota_add(struct sw_daemon *d, uint64_t bytes);
/* NULL, or a line that says why no trial begins. */
const char *sw_quota_full(const struct sw_daemon *d);

#endif
