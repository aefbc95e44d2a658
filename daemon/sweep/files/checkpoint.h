/*
 * daemon/sweep/files/checkpoint.h — the folder of what a sweep's trials go on from, and the names
 * in it.
 *
 *   <state>/checkpoints/<sweep>/<trial>-<step>.ckpt      of a program a folder
 *   <state>/checkpoints/<sweep>/<trial>.dir              its own (SWEEPD_TRIAL_DIR), as of step 0
 *
 * Workers write them before they report the step; the daemon makes the folder (0700) and removes
 * those that nobody needs (daemon/sweep/files/files.h).
 */
#ifndef SW_DAEMON_SWEEP_FILES_CHECKPOINT_H
#define SW_DAEMON_SWEEP_FILES_CHECKPOINT_H

#include "base/status.h"
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define SW_CHECKPOINT_FOLDER     "checkpoints"
#define SW_CHECKPOINT_FOLDER_MAX (PATH_MAX + 64) /* bytes of a sweep's */

struct sw_daemon;
struct sw_running;

/* The path of the sweep's folder, be it there or not. */
void sw_checkpoint_folder(const struct sw_running *live, char out[SW_CHECKPOINT_FOLDER_MAX]);
SW_NODISCARD sw_status sw_checkpoint_make_folder(const struct sw_running *live, struct sw_err *err);

/* "12-27.ckpt", "12.dir"; or what is no checkpoint yet: a worker's file under way,
 * ".tmp-12-27-Ab3dEf", and the folders of a program, "12.live-1" and "12.resume"
 * (worker/exec/folder.h), as if of the last step. False: the name is not the daemon's. */
bool sw_checkpoint_read_name(const char *name, uint64_t *trial, uint64_t *step, bool *whole);
/* Opens the folder at path: its last name in the folder `at`, or all of path with AT_FDCWD. Returns
 * -1 with errno; logs unless it does not exist. */
int sw_checkpoint_open(int at, const char *path);
/* The folder of a sweep's files (0: the one that holds the sweeps'), for the caller to close; NULL:
 * missing. A link is logged and not followed: what it leads to is not the daemon's to delete. Any
 * thread. */
DIR *sw_checkpoint_open_sweep(const struct sw_daemon *d, int64_t sweep);

#endif
