/* worker/exec/exec_internal.h — what exec.c (from start to finish), exec_report.c (its lines),
 * exec_limit.c (for how long) and exec_end.c (its end) share. */
#ifndef SW_WORKER_EXEC_EXEC_INTERNAL_H
#define SW_WORKER_EXEC_EXEC_INTERNAL_H

#include "base/buf.h"
#include "worker/exec/answers.h"
#include "worker/exec/exec.h"
#include "worker/exec/folder.h"
#include "worker/exec/lines.h"
#include "worker/exec/output.h"
#include "worker/exec/program.h"
#include "worker/exec/ranks.h"

/* Why a line is no report; each is said in the trial's log a few times. */
enum sw_exec_odd { SW_EXEC_ODD_LENGTH, SW_EXEC_ODD_LINE, SW_EXEC_ODD_STEP, SW_EXEC_ODD_N };

struct sw_exec {
	const struct sw_place *place;
	struct sw_session *session;
	const struct sw_job *job;
	cJSON *params; /* the job's, or smaller ones */
	char mark[80]; /* the program's entry of the environment that its job names */
	bool going;    /* what the session said last: the trial goes on */

	/* this run of the program */
	struct sw_program program; /* of several ranks the first */
	struct sw_ranks others;
	size_t failed_rank; /* of the others, for which the run was ended; 0: none */
	struct sw_lines metrics, out, err;
	struct sw_answers answers;
	int64_t heard_us;     /* its last report, or the answer to that; at first its start */
	uint64_t step;        /* of its last line */
	bool by_socket;       /* it reports there: what it prints is no report */
	bool asked;           /* a line of the socket waits for its answer */
	bool held;            /* a line of stdout does: nothing more is read there */
	int64_t since_us;     /* since when one of them waits */
	bool said_oom;        /* on stderr */
	char last_words[200]; /* the last line there */

	/* A report by stdout for which the program must be ended first, so that nothing writes into
	 * the live folder; saving: there is one. */
	bool saving;
	uint64_t saving_step;
	struct sw_buf saving_metrics;

	/* the attempt */
	struct sw_folder live;
	struct sw_output log;
	uint64_t told;      /* the highest step that was reported, before this attempt too */
	uint64_t repeat_to; /* steps up to here come again from a program that began anew */
	bool has_metric, until_met;
	int64_t started_us;
	int64_t counted_us;          /* when its processes were */
	const char *overdue;         /* the key of `run` that ends it; NULL: none */
	uint64_t odd[SW_EXEC_ODD_N]; /* lines that were left out */
	bool odd_value;              /* the trial's log says so already */
	int64_t reaped_us;
};

/* exec.c: waits for the daemon or the program, at most so long, and takes what came. */
void sw_exec_pump(struct sw_exec *t, int timeout_ms);

/* exec_report.c: takes the lines that have come and may be taken now. */
void sw_exec_take_lines(struct sw_exec *t);
/* Is its stdout read now? While many of its reports wait it is not. */
bool sw_exec_may_print(const struct sw_exec *t);
/* Answers the program if the daemon has answered, so that further lines may be taken. */
bool sw_exec_answer(struct sw_exec *t);
/* Tells a program that waits how it ends: by the daemon's decision, or why its report was refused.
 * true: it was told something. */
bool sw_exec_tell_end(struct sw_exec *t);
/* Makes the live folder a checkpoint where there is something in it. */
bool sw_exec_keep(struct sw_exec *t, uint64_t step);

/* exec_limit.c: milliseconds that its program has; 0: `overdue` says of what there are no more. */
int sw_exec_left_ms(struct sw_exec *t);

/* exec_end.c: ends the program and all that it left; first it may end by itself for so long. */
void sw_exec_end(struct sw_exec *t, int64_t patience_us);

#endif
