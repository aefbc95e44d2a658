/*
 * store/rows.h — the rows of the store, as plain structs. Strings are borrowed for the call.
 *
 * Times are those of sw_clock_wall_ms(), ms since the epoch; 0 means "not yet". Text that may be
 * absent is NULL. A value that may be absent has a has_ flag beside it: NaN is never stored.
 */
#ifndef SW_STORE_ROWS_H
#define SW_STORE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#define SW_LOG_MAX_LINES 1000

/* What is left of a deleted sweep. */
enum sw_gone {
	SW_GONE_NOT,
	SW_GONE_SOON, /* it is being removed: nobody sees it any more */
	SW_GONE_ALL,
	SW_GONE_BUT_BEST, /* an archived record: the row, and one trial */
};

/* Nothing of it is to be seen. */
static inline bool sw_row_is_gone(enum sw_gone gone)
{
	return gone == SW_GONE_SOON || gone == SW_GONE_ALL;
}

struct sw_row_sweep {
	int64_t sweep; /* from 1 */
	const char *name;
	const char *spec; /* JSON, as given */
	const char *state;
	const char *cause;
	const char *metric;
	const char *method;
	int64_t seed;
	bool maximize;
	bool driven;     /* by a client's ask, report and tell */
	int64_t run_cap; /* 0: none */
	int64_t created_ms, ended_ms;
	int64_t uid;        /* the user that submitted it */
	int64_t bytes;      /* that a trial takes at most; 0: it runs a program, or at a client */
	int64_t data_bytes; /* of these its data set's */
	int64_t data_sum;   /* of its data set's files; 0: there are none */
	enum sw_gone gone;  /* read only, as the next three */
	int64_t kept;       /* the trial that stays; 0: none */
	const char *tags, *note; /* NULL: none; tags have a blank between two */
};

struct sw_row_trial {
	int64_t sweep, trial;
	const char *state;
	const char *cause;
	const char *params; /* JSON object */
	int64_t attempt;    /* the last one; 0: none yet */
	int64_t step;       /* of the last report; 0: none */
	bool has_value;
	double value;        /* the metric of the last report that carried it */
	const char *metrics; /* JSON object of the report of `step`; read only */
	bool has_best;       /* read only, as the next two */
	int64_t best_step;   /* of the best report that carried the metric, the first of equals */
	double best_value;
	int64_t created_ms, started_ms, ended_ms; /* started: the current attempt */
	int64_t heard_ms;     /* of one that runs: when it last reported, or began; else 0 */
	double seconds;       /* run time of ended attempts */
	int64_t parent;       /* the trial whose checkpoint it began from; 0: none */
	int64_t resume_step;  /* where its next attempt goes on; 0: from scratch */
	int64_t left_out;     /* reports that were not stored; read only, as the next */
	const char *left_why; /* the first of them; NULL: there is none */
};

/* A trial as a plot shows it. */
struct sw_row_point {
	int64_t trial;
	const char *state;
	int64_t step; /* of the last report */
	bool has_best;
	double best_value;
	const char *json; /* what was asked for; NULL: nothing, or it has none */
};

struct sw_row_attempt {
	int64_t sweep, trial, attempt;
	int64_t ev;   /* the sweep's event that began it */
	int64_t slot; /* -1: a client's */
	int64_t started_ms, ended_ms;
	const char *state; /* RUNNING, then the trial state or LOST or RELEASED */
	const char *cause;
	int64_t resume_step; /* the step it went on from; 0: from scratch */
	bool gpu;            /* its slot has one */
	double share;        /* the part of it that it has; 1 for all */
	bool has_usage;      /* ended, and NVML had said something while it ran */
	double gpu_bytes;    /* most bytes of its worker there */
	double gpu_util;     /* percent of the time in which the GPU worked, whoever made it */
	double joules;
};

/* The sums of a sweep's attempts that ended on slots. */
struct sw_row_use {
	int64_t attempts, ms;
	int64_t gpu_ms; /* of those whose slot has a GPU, by their share of it */
};

struct sw_row_report {
	int64_t sweep, trial, attempt, seq;
	int64_t ev; /* the sweep's event number: reports and events merge by it */
	int64_t step, time_ms;
	bool has_value;
	double value;
	bool diverged;       /* the metric was not finite, or (with a value) is not believed */
	const char *metrics; /* JSON object */
	const char *verdict; /* "continue", "stop", "pause" */
	/* 1: the trial has a checkpoint of this step; 0: if it paused with it; -1: not even then */
	int64_t checkpoint;
	bool several; /* written alone: the sweep has several metrics, the trial's row keeps them */
};

/* One judgement at a rung. */
struct sw_row_decision {
	int64_t sweep, trial, attempt, seq;
	const char *verdict;
	int64_t bracket, rung, n, better, keep;
	bool has_cutoff;
	double cutoff; /* as reported, not oriented; so is value */
	double value;
};

/* Every event that the sweep's state machine took, reports apart: the replay's input. */
struct sw_row_event {
	int64_t sweep, ev;
	const char *kind; /* "ask", "tell", "lost", "release", "cancel_trial", "pause", "resume",
			     "cancel", "fail", "extend", "stop", "edit", "settle" */
	int64_t trial, attempt;
	const char *state; /* tell */
	const char *cause; /* edit: what was edited, a JSON object */
	int64_t run_cap;   /* extend */
	int64_t time_ms;
	int64_t uid; /* the user that asked for it; -1: the daemon itself */
};

/* The origin of a trial's configuration. */
struct sw_row_suggestion {
	int64_t sweep, trial;
	int64_t known;      /* observations that it knew; read: -1 where none was stored */
	const char *params; /* read: the trial's */
	const char *why;    /* JSON object; read: NULL where none was stored */
};

/* A sampler's state after the suggestion of `trial`. */
struct sw_row_sampler {
	int64_t sweep, trial;
	const char *state; /* hexadecimal */
};

/* A trial of an earlier sweep that this one learns from. */
struct sw_row_prior {
	int64_t sweep, n;
	const char *params;             /* JSON object */
	const char *y;                  /* JSON array: each metric's value as it was reported */
	int64_t from_sweep, from_trial; /* what it is a copy of */
};

struct sw_row_log {
	int64_t sweep, trial, attempt, time_ms;
	const char *line;
};

/* The worker process that holds a slot, so that a restarted daemon can find it again. */
struct sw_row_slot {
	int64_t slot;
	const char *device;
	const char *worker; /* the id the daemon gave it */
	const char *handle; /* the executor's, opaque here */
};

#endif
