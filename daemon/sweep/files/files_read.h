/* daemon/sweep/files/files_read.h — what a sweep's rows say of the trials that have files. */
#ifndef SW_DAEMON_SWEEP_FILES_FILES_READ_H
#define SW_DAEMON_SWEEP_FILES_FILES_READ_H

#include "base/status.h"
#include "daemon/sweep/files/files_rule.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_db;

struct sw_files_read {
	int64_t sweep;
	bool known;             /* it has a row */
	bool children, several; /* its trials may go on from another's file; several metrics */
	struct sw_files files;
	size_t at;             /* the next trial to be read */
	uint64_t record_trial; /* the sweep's best; 0: none has a value, or several metrics */
	double record;
	sw_status rc;
	struct sw_err err;
};

/* A reader's thread. arg: a sw_files_read. Reads so many trials; is called again until all are
 * read, or one of them could not be (rc). */
void sw_files_read_rows(struct sw_db *db, void *arg);
bool sw_files_read_more(const struct sw_files_read *r);

/* A reader's thread. The step of a program's best checkpoint, of those that has() knows; 0: none.
 * O(reports of the trial). */
SW_NODISCARD sw_status sw_files_best(struct sw_db *db, int64_t sweep, int64_t trial, bool maximize,
				     bool (*has)(uint64_t step, void *arg), void *arg,
				     uint64_t *out, struct sw_err *err);

#endif
