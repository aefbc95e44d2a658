#include "daemon/sweep/files/passed.h"
#include "base/buf.h"
#include "daemon/daemon.h"
#include "proto/frame.h"
#include "proto/json.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Variables of the submitter's login or run that would be wrong in a trial, which runs later and
 * elsewhere; a * stands for any rest. docs/programs.md has the same list. */
static const char *const left_out[] = {
	/* of a login: its screen, its agents, its terminal, its shell, the service that it is */
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_*", "GPG_TTY", "DBUS_*", "XDG_RUNTIME_DIR",
	"XDG_SESSION_*", "XDG_SEAT*", "XDG_VTNR", "SESSION_MANAGER", "WINDOWID", "TERM*",
	"COLORTERM", "COLUMNS", "LINES", "STY", "TMUX*", "SHLVL", "PWD", "OLDPWD", "_", "SUDO_*",
	"NOTIFY_SOCKET", "LISTEN_*",
	/* of a job with ranks: a trial is not one. torchrun's, Slurm's, MPI's */
	"RANK", "LOCAL_RANK", "GROUP_RANK", "NODE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
	"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_*", "SLURM_*", "OMPI_*", "PMI_*", "PMIX_*",
	/* the slot's, the trial's, W&B's of a run */
	"CUDA_VISIBLE_DEVICES", "SWEEPD_*", "WANDB_SERVICE", "WANDB_RUN_ID", "WANDB_SWEEP_ID",
	"WANDB_SWEEP_PARAM_PATH"};

static bool is_left_out(const char *name)
{
	for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
		const size_t n = strcspn(left_out[i], "*");

		if (strncmp(left_out[i], name, n) == 0 &&
		    (left_out[i][n] == '*' || name[n] == '\0'))
			return true;
	}
	return false;
}

void sw_passed_path(const struct sw_daemon *d, int64_t sweep, char out[SW_PASSED_PATH_MAX])
{
	(void)snprintf(out, SW_PASSED_PATH_MAX, "%s/env/%lld", d->config.state, (long long)sweep);
}

void sw_passed_remove(const struct sw_daemon *d, int64_t sweep)
{
	char path[SW_PASSED_PATH_MAX];

	sw_passed_path(d, sweep, path);
	(void)unlink(path); /* most sweeps have none */
}

sw_status sw_passed_write(const struct sw_daemon *d, int64_t sweep, const cJSON *env,
			  struct sw_err *err)
{
	char path[SW_PASSED_PATH_MAX];
	const cJSON *v;
	struct sw_buf b;
	struct sw_jw w;

	/* Before the new one is written: O_EXCL then refuses a link that somebody has put there. */
	sw_passed_remove(d, sweep);
	if (env == NULL)
		return SW_OK; /* the daemon's short list counts */
	/* The worker reads at most this much of it (worker/exec/environment.c). */
	sw_buf_init(&b, SW_FRAME_MAX);
	sw_jw_init_obj(&w, &b);
	cJSON_ArrayForEach (v, env) {
		if (!cJSON_IsString(v) || v->string[0] == '\0' || strchr(v->string, '=') != NULL) {
			sw_buf_fini(&b);
			return sw_err_at(err, SW_INVALID, "/env",
					 cJSON_IsString(v) ? "\"%.64s\" is no variable's name"
							   : "the value of %.64s must be a string",
					 v->string);
		}
		/* Left out here, not when a trial starts: what is not on the disk cannot be read
		 * there. */
		if (!is_left_out(v->string))
			sw_jw_kstr(&w, v->string, v->valuestring);
	}
	sw_jw_obj_end(&w);
	(void)snprintf(path, sizeof path, "%s/env", d->config.state);
	(void)mkdir(path, 0700); /* where it cannot be made, no file can be */
	sw_passed_path(d, sweep, path);
	if (b.failed != SW_OK) {
		sw_buf_fini(&b);
		return sw_err_at(err, SW_NOMEM, "/env", "no memory for the variables");
	}
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	/* Not synced: after a power cut it may be short, and the worker says so of each trial
	 * (worker/exec/environment.c). */
	const ssize_t n = fd >= 0 ? write(fd, b.data, b.len) : -1;
	const bool good = n == (ssize_t)b.len;
	if (n >= 0 && !good)
		errno = ENOSPC; /* a part was written: there is no room for the rest */
	const sw_status rc = good ? SW_OK
				  : sw_err_at(err, errno == ENOSPC ? SW_FULL : SW_IO, "/env",
					      "the variables cannot be kept: %s", strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	if (!good)
		sw_passed_remove(d, sweep);
	sw_buf_fini(&b);
	return rc;
}
