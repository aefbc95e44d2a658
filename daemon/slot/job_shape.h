/*
 * daemon/slot/job_shape.h — what jobs are asked for with: the daemon's own options, and over them
 * those of a sweep's "executor". A pilot is of one shape, and serves sweeps of that shape alone.
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_SLOT_JOB_SHAPE_H
#define SW_DAEMON_SLOT_JOB_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_daemon;

#define SW_JOB_SHAPES 64 /* at a time: a sweep that needs a 65th shape waits until one is free */

/* Kept by daemon/pilot. */
struct sw_job_shape {
	uint64_t id;       /* of struct sw_spec, job_shape; 0: the place is free */
	char *options;     /* owned: lines key=value; NULL: the daemon's own, or not known yet */
	unsigned time_s;   /* of a job; 0: the cluster's own limit */
	int64_t wanted_us; /* when a sweep last had a trial for one */
	unsigned failed;   /* jobs, or submissions, in a row that never became a pilot */
	unsigned pauses;   /* since one last did */
	int64_t pause_us;  /* nothing is asked for before this moment; 0: it is */
	bool refused;      /* its last submission failed */
	bool blind;        /* its last pilot did not see the files of this machine */
	char last[240];    /* why the last one failed to start */
	char why[240];     /* what its sweeps wait for, in words; "": nothing */
};

/* Trials of the sweeps of one shape. */
struct sw_job_want {
	uint64_t id;
	const char *options; /* of the spec of one of these sweeps; NULL: none */
	size_t n;
};

/* NULL: not found. */
struct sw_job_shape *sw_job_shape_find(struct sw_daemon *d, uint64_t id);
/* The same, made if it is not there. NULL: SW_JOB_SHAPES others are. */
struct sw_job_shape *sw_job_shape_open(struct sw_daemon *d, uint64_t id);
void sw_job_shape_close(struct sw_job_shape *sh);

#endif
