#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {"debug", "info", "warn", "error"};
static int out_fd = STDERR_FILENO;
static enum sw_log_level out_least = SW_LOG_INFO;

sw_status sw_log_open(const char *path, enum sw_log_level least, struct sw_err *err)
{
	out_least = least;
	if (path == NULL)
		return SW_OK;
	const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return sw_err_set(err, SW_IO, "cannot open the log file %s: %s", path,
				  strerror(errno));
	out_fd = fd;
	return SW_OK;
}

sw_status sw_log_level_parse(const char *name, enum sw_log_level *out)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (enum sw_log_level)i;
			return SW_OK;
		}
	return SW_INVALID;
}

void sw_log(enum sw_log_level level, const char *event, const char *fmt, ...)
{
	char line[1024];
	struct timespec now;
	struct tm utc;
	va_list ap;

	if (level < out_least)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &utc);
	size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
	n += (size_t)snprintf(line + n, sizeof line - n, ".%03dZ %s %s%s",
			      (int)(now.tv_nsec / 1000000), names[level], event,
			      *fmt == '\0' ? "" : " ");
	va_start(ap, fmt);
	const int more = vsnprintf(line + n, sizeof line - n, fmt, ap);
	va_end(ap);
	if (more > 0)
		n += (size_t)more;
	if (n > sizeof line - 2)
		n = sizeof line - 2;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20)
			line[i] = '?';
	line[n++] = '\n';
	/* A log that cannot be written must not stop the program, and has nowhere to say so. */
	if (write(out_fd, line, n) < 0)
		return;
}
