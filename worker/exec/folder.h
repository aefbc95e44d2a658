/*
 * worker/exec/folder.h — the folders in which a program keeps what it goes on from.
 *
 *   <dir>/7.live-2   SWEEPD_CHECKPOINT_DIR of attempt 2 of trial 7
 *   <dir>/7-9.ckpt   what was in it at the report of step 9: synced and at rest, a checkpoint
 *   <dir>/7.dir      SWEEPD_TRIAL_DIR of all attempts: what it writes that no later one needs
 *   <dir>/7.resume   the working folder of an attempt that was lost. It has another name now, so
 *                    that what may be left of that attempt does not write into it.
 *
 * Errors   One line in err, which names the folder and not its path. Without a folder a trial goes
 *          on; it then begins again from scratch when it is lost.
 */
#ifndef SW_WORKER_EXEC_FOLDER_H
#define SW_WORKER_EXEC_FOLDER_H

#include "base/status.h"
#include "proto/job.h"
#include <limits.h>
#include <stdbool.h>

struct sw_folder {
	const char *dir; /* NULL: the trial has none */
	uint64_t trial;
	char path[PATH_MAX];   /* the working folder; "": it has none */
	char resume[PATH_MAX]; /* the program goes on from here; "": from scratch */
	uint64_t step;         /* after which that goes on; 0: unknown */
	bool from_zero;        /* what it prints counts from 0 */
	char is_open[NAME_MAX +
		     1]; /* a file that was open for writing when it was kept; "": none */
};

/* Makes the attempt's working folder and finds what it goes on from: the job's checkpoint, else the
 * working folder that a lost attempt left. SW_NOT_FOUND: the checkpoint is not there. */
SW_NODISCARD sw_status sw_folder_open(struct sw_folder *l, const struct sw_job *job,
				      struct sw_err *err);

/* What the program prints counts from 0. The folder tells the attempt that goes on from it, by an
 * attribute of its own: one that goes on prints no 0. */
void sw_folder_counts_from_zero(struct sw_folder *l);

/* Is there nothing in the working folder, or none? */
bool sw_folder_is_empty(const struct sw_folder *l);

/* Makes the working folder the checkpoint of a step, and a new one that is empty. A program that is
 * started again goes on from here, and not from where this attempt began. SW_OK: all of it is on
 * the disk. Beats while it syncs (base/beat.h). */
SW_NODISCARD sw_status sw_folder_keep(struct sw_folder *l, uint64_t step, struct sw_err *err);

/* for_next: the folders stay, for the next attempt. Else they are removed; false: they could not
 * be, and errno says why. */
bool sw_folder_close(struct sw_folder *l, bool for_next);

#endif
