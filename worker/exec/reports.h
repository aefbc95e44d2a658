/*
 * worker/exec/reports.h — a program's reports: read from its lines, given to the session, answered.
 *
 * What it writes to its socket is a report and is answered; of its stdout a line that has the
 * metric is one, until something came by the socket: an object, and where the spec says so
 * ("run": {"metrics": "text"}) a text, on its stderr, too.
 *
 * Memory   Borrows asked and ranks.
 */
#ifndef SW_WORKER_EXEC_REPORTS_H
#define SW_WORKER_EXEC_REPORTS_H

#include "base/buf.h"
#include "worker/exec/answers.h"
#include "worker/exec/asked.h"
#include "worker/exec/printed.h"
#include "worker/exec/ranks.h"

/* Why a line is no report; each is said in the trial's log a few times. */
enum sw_reports_odd {
	SW_REPORTS_ODD_LENGTH,
	SW_REPORTS_ODD_LINE,
	SW_REPORTS_ODD_STEP,
	SW_REPORTS_ODD_PROGRESS,
	SW_REPORTS_ODD_N
};

struct sw_reports {
	struct sw_asked *asked;
	struct sw_ranks *ranks;

	/* of this run of the program: */
	struct sw_answers answers;
	int64_t heard_us; /* its last report, or the answer to that; at first its start */
	uint64_t step;    /* of its last line */
	bool by_socket;   /* it reports there: what it prints is no report */
	bool due;         /* a line of the socket waits for its answer */
	bool held;        /* a line of stdout does: nothing more is read there */
	int64_t since_us; /* since when one of them waits */

	/* of all runs: */
	uint64_t told;      /* the highest step that was reported, before this attempt too */
	uint64_t repeat_to; /* steps up to here come again from a program that began anew */
	bool has_metric;
	uint64_t odd[SW_REPORTS_ODD_N]; /* lines that were left out */
	struct sw_printed printed;      /* before the metric came */
	bool odd_value, said_empty;     /* the trial's log says so already */

	/* A report by stdout for which the program must be ended first, so that nothing writes into
	 * its folder; saving: there is one. */
	bool saving;
	uint64_t saving_step;
	struct sw_buf saving_metrics;
};

/* Before a run of the program. */
void sw_reports_begin(struct sw_reports *r);

/* Takes the lines that have come and may be taken now, and answers what may be answered. */
void sw_reports_take(struct sw_reports *r);

/* Is its stdout read now? While many of its reports wait it is not. */
bool sw_reports_may_print(const struct sw_reports *r);

/* Does the program wait for the daemon? */
bool sw_reports_wait(const struct sw_reports *r);

/* Tells a program that waits how it ends: by the daemon's decision, or why its report was refused.
 * true: it was told something. */
bool sw_reports_tell_end(struct sw_reports *r);

/* Makes the saved report, now that the program has ended. */
void sw_reports_save(struct sw_reports *r);

#endif
