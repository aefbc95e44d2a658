/*
 * proto/job.h — a trial as the daemon gives it to a worker: the result of worker.next, one codec
 * for both ends.
 *
 * What a worker sends back (hello, report, tell, log, bye) has its types in methods.json, as any
 * call has.
 *
 * Pure.
 * Units    Numbers are at most 2^53 - 1: they survive a double.
 * Memory   The strings and trees of a job are borrowed; those of one that was read, from its tree.
 * Errors   sw_job_read() names the key and what it must be. A key that it does not know is no
 *          error. A job has a trainer or a command, not both.
 */
#ifndef SW_PROTO_JOB_H
#define SW_PROTO_JOB_H

#include "base/buf.h"
#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct sw_job {
	uint64_t sweep, trial, attempt;
	uint64_t seed;              /* of this trial: its first weights, the order of its rows */
	uint64_t data_seed;         /* of the sweep: its trials share the split of the data */
	uint64_t data_sum;          /* of the data set's files where sweepd is; 0: they are here */
	uint64_t resume_step;       /* it goes on after this step; 0: from scratch */
	uint64_t parent;            /* whose checkpoint it began from (pbt); 0: none */
	uint64_t until;             /* pause here for the decision, with a checkpoint; 0: nowhere */
	uint64_t checkpoint_every;  /* steps; 0: none by their number */
	uint64_t checkpoint_s;      /* one is wanted when the last is as old; 0: none by time */
	bool checkpoint_end;        /* one is wanted of the last step */
	bool checkpoint_stop;       /* one is wanted of the epoch in which it is told to end */
	bool checkpoint_best;       /* each has the weights of the best epoch, too, by the metric */
	bool checkpoint_record;     /* one is wanted of a best epoch not worse than `record` */
	const double *record;       /* the sweep's best value so far; NULL: none */
	uint64_t max_t;             /* 0: none */
	const char *checkpoint;     /* absolute path: what resume_step goes on from; NULL: none */
	const char *checkpoint_dir; /* absolute path: where it writes its own; NULL: nowhere */
	const char *metric, *goal;  /* goal: "minimize" or "maximize" */
	const cJSON *trainer;       /* an object; NULL: the trial is a program */
	/* How many processes it is started as; 0: one. A program is told its own by RANK and
	 * WORLD_SIZE. A trainer's share each batch, and are written if they are several. */
	uint64_t ranks;
	/* If a trainer's ranks are a pipeline: how many stages it has, and how many micro-batches a
	 * step; else 0, not written. Rank d * stages + s has stage s of the d-th part of each
	 * batch. */
	uint64_t stages, microbatches;
	bool sync_batchnorm; /* of a trainer with ranks; written where it is so */
	/* A program's; in a trainer's job they are 0 and NULL, and not written. A program always
	 * has command, run, log and cookie. */
	const cJSON *command;  /* an array: spec/command.h expands its macros */
	const char *program;   /* for ${program}; NULL: none */
	const cJSON *run;      /* an object: cwd (always), env, on_oom, and limits (docs/spec.md) */
	const char *log;       /* absolute path: where its output goes */
	const char *cookie;    /* SWEEPD_COOKIE, the slot's: by it all that it forked is found */
	const char *env_file;  /* absolute path: more variables, if it is there; NULL: none */
	const char *trial_dir; /* absolute path: its own folder, which it makes; NULL: none */
	uint64_t cores;        /* that it, or each rank, may use; 0: all of its worker's */
	/* CUDA_VISIBLE_DEVICES of a program, or of a trainer's ranks: rank 0's comes first. NULL:
	 * what the worker sees. */
	const char *visible;
	uint64_t gpu_percent; /* of its GPU, that a program has to itself; 0: all, or none */
	uint64_t gpu_mib;     /* so much of its memory; 0: nobody knows */
	const cJSON *params;  /* an object, names to values; sw_job_write() has them as text */
};

/* Appends the job as a JSON object; params is the text of one. A failure latches in b. */
void sw_job_write(struct sw_buf *b, const struct sw_job *job, const char *params);

/* Reads what sw_job_write() wrote. SW_INVALID: *out is then all zero. */
SW_NODISCARD sw_status sw_job_read(struct sw_job *out, const cJSON *object, struct sw_err *err);

#endif
