/* daemon/config.h — the command line of sweepd. */
#ifndef SW_DAEMON_CONFIG_H
#define SW_DAEMON_CONFIG_H

#include "base/log.h"
#include "base/status.h"
#include "daemon/pilot_options.h"
#include "daemon/systemd.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define SW_CONFIG_MAX_DEVICES 1024 /* bytes of --devices */

struct sw_config {
	char state[PATH_MAX];    /* absolute after sw_statedir_open() */
	char database[PATH_MAX]; /* the folder of sweepd.db; "": the state's, until that is open */
	char socket[108];        /* sizeof sun_path */
	char devices[SW_CONFIG_MAX_DEVICES]; /* "cpu:2", "gpu:0,1", "auto", "none" */
	char worker[PATH_MAX]; /* the sweep-worker program: beside sweepd, or $SWEEPD_WORKER */
	char log[PATH_MAX];    /* "" for stderr */
	int64_t cpu_memory;    /* bytes a trial on a CPU slot may have; 0: no cap */
	int64_t gpu_memory;    /* bytes that the trials on one GPU may have together; 0: no cap */
	int64_t quota;         /* most bytes of the state directory; 0: none */
	int64_t retain_days;   /* ended sweeps are deleted after so many; 0: never */
	int64_t retain_checkpoints; /* most of a sweep's trials that ended; 0: as the spec says */
	struct sw_pilot_options pilots; /* of --executor */
	enum sw_log_level log_level;
	bool help, version;
	bool validate;             /* `sweepd validate`: no state, no socket, no workers */
	struct sw_systemd systemd; /* a service manager's, taken after the command line was read */
};

/* Fills in the defaults and then the arguments. SW_INVALID with one line. */
SW_NODISCARD sw_status sw_config_parse(struct sw_config *c, int argc, char **argv,
				       struct sw_err *err);
extern const char sw_config_usage[];

#endif
