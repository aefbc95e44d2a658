#include "daemon/sweep/passed.h"
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

	cJSON_ArrayForEach (v, env)
		if (!cJSON_IsString(v))
			return sw_err_at(err, SW_INVALID, "/env",
					 "the value of %.64s must be a string", v->string);
	sw_passed_remove(d, sweep);
	if (env == NULL || env->child == NULL)
		return SW_OK;
	(void)snprintf(path, sizeof path, "%s/env", d->config.state);
	(void)mkdir(path, 0700); /* where it cannot be made, no file can be */
	sw_passed_path(d, sweep, path);
	sw_buf_init(&b, SW_FRAME_MAX);
	sw_jw_init(&w, &b);
	sw_jw_cjson(&w, env);
	if (b.failed != SW_OK) {
		sw_buf_fini(&b);
		return sw_err_at(err, SW_NOMEM, "/env", "no memory for the variables");
	}
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
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
