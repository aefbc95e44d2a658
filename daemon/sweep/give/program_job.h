/*
 * daemon/sweep/give/program_job.h — trials that are the user's own program: what their worker is
 * told, and where their output lies.
 *
 *   <state>/logs/<sweep>/<trial>.log      written by the worker; the part before it in .log.1
 */
#ifndef SW_DAEMON_SWEEP_GIVE_PROGRAM_JOB_H
#define SW_DAEMON_SWEEP_GIVE_PROGRAM_JOB_H

#include "daemon/sweep/files/checkpoint.h"
#include "daemon/sweep/files/passed.h"
#include "proto/checkpoint_path.h"
#include "spec/spec.h"
#include <limits.h>
#include <stdint.h>

#define SW_PROGRAM_JOB_LOG_MAX (PATH_MAX + 64)

struct sw_daemon;
struct sw_job;
struct sw_running;
struct sw_slot;

/* Room for what a job points to until it is written. */
struct sw_program_job {
	char log[SW_PROGRAM_JOB_LOG_MAX], env_file[SW_PASSED_PATH_MAX], cookie[64];
	char trial_dir[SW_CHECKPOINT_FOLDER_MAX + SW_CHECKPOINT_NAME_MAX];
	char visible[SW_SPEC_MAX_RANKS * 96];
};

/* Fills in the job's part about programs; nothing for a sweep with a trainer. The folder of the
 * log is made; if it cannot be made, that is logged, and the worker will say so, too. */
void sw_program_job_fill(struct sw_running *live, const struct sw_slot *s,
			 struct sw_program_job *room, struct sw_job *job);

/* Are run.cwd and the program there, as a slot would start it? SW_INVALID if not; the trials decide
 * what has macros. Looks at files: not on the loop's thread. */
SW_NODISCARD sw_status sw_program_job_check(const struct sw_spec *spec, const cJSON *env,
					    struct sw_err *err);

/* True: the script has argparse's type=bool for a parameter, as the line in out[cap] says. */
bool sw_program_job_warning(const struct sw_spec *spec, char *out, size_t cap);

/* The path of a trial's output. */
void sw_program_job_log(const struct sw_daemon *d, int64_t sweep, uint64_t trial,
			char out[SW_PROGRAM_JOB_LOG_MAX]);

#endif
