#include "base/log.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static const char *const names[] = {"debug", "info", "warn", "error"};
static int out_fd = STDERR_FILENO;
static enum sw_log_level out_least = SW_LOG_INFO;

static sw_status open_file(const char *path, int *fd, struct sw_err *err)
{
	*fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	return *fd >= 0 ? SW_OK
			: sw_err_set(err, SW_IO, "cannot open the log file %s: %s", path,
				     strerror(errno));
}

sw_status sw_log_open(const char *path, enum sw_log_level least, struct sw_err *err)
{
	out_least = least;
	return path != NULL ? open_file(path, &out_fd, err) : SW_OK;
}

sw_status sw_log_reopen(const char *path, struct sw_err *err)
{
	int fd;
	sw_status rc = open_file(path, &fd, err);

	if (rc != SW_OK)
		return rc;
	/* The number stays, so no thread writes to a closed one. */
	if (dup3(fd, out_fd, O_CLOEXEC) < 0)
		rc = sw_err_set(err, SW_IO, "cannot use the log file %s: %s", path,
				strerror(errno));
	(void)close(fd);
	return rc;
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

/* printf cannot tell the quotes of the format, which are the line's own, from those of the values.
 * So it prints all twice, with one or another byte for the quotes of the format: where the two
 * differ, the quote is the format's. Both texts are `cap` bytes at most and equally long. */
static void print_twice(char *one, char *other, size_t cap, const char *fmt, va_list ap)
{
	char marked[LINE_MAX_BYTES];
	char *const texts[] = {one, other};
	va_list again;

	for (int i = 0; i < 2; i++) {
		(void)snprintf(marked, sizeof marked, "%s", fmt);
		for (char *p = marked; (p = strchr(p, '"')) != NULL;)
			*p++ = (char)(1 + i);
		va_copy(again, ap);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* fmt's own was checked at the call */
		(void)vsnprintf(texts[i], cap, marked, again);
#pragma GCC diagnostic pop
		va_end(again);
	}
}

/* Appends to line[n..cap), NUL included. */
static void add_values(char *line, size_t n, size_t cap, const char *fmt, va_list ap)
{
	char one[LINE_MAX_BYTES], other[LINE_MAX_BYTES];

	print_twice(one, other, sizeof one, fmt, ap);
	for (size_t i = 0; one[i] != '\0' && n + 2 < cap; i++) {
		const bool ours = one[i] != other[i];

		if (!ours && (one[i] == '"' || one[i] == '\\'))
			line[n++] = '\\';
		line[n++] = ours ? '"' : one[i];
	}
	line[n] = '\0';
}

void sw_log(enum sw_log_level level, const char *event, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	struct timespec now;
	struct tm utc;
	va_list ap;

	if (level < out_least)
		return;
	/* The wall clock as it is, not the daemon's own: a log is read beside others of the
	 * machine. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &utc);
	size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
	n += (size_t)snprintf(line + n, sizeof line - n, ".%03dZ %s %s%s",
			      (int)(now.tv_nsec / 1000000), names[level], event,
			      *fmt == '\0' ? "" : " ");
	va_start(ap, fmt);
	add_values(line, n, sizeof line - 1, fmt, ap);
	va_end(ap);
	sw_text_plain(line);
	/* sw_text_plain() may have made it shorter. */
	n = strlen(line);
	line[n++] = '\n';
	/* A log that cannot be written must not stop the program, and has nowhere to say so. */
	if (write(out_fd, line, n) < 0)
		return;
}
