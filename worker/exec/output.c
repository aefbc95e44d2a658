#include "worker/exec/output.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sw_output_init(struct sw_output *o, const char *path)
{
	o->path = path;
	o->fd = -1;
	o->size = 0;
	o->n = 0;
}

void sw_output_flush(struct sw_output *o)
{
	if (o->fd >= 0 && o->n > 0)
		(void)!write(o->fd, o->gathered, o->n);
	o->n = 0;
}

void sw_output_close(struct sw_output *o)
{
	sw_output_flush(o);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

/* Opens the file, which may be there from an earlier attempt. */
static void open_file(struct sw_output *o)
{
	struct stat st;

	/* Appended: an earlier attempt's lines stay. */
	o->fd = open(o->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	o->size = o->fd >= 0 && fstat(o->fd, &st) == 0 ? st.st_size : 0;
}

void sw_output_line(struct sw_output *o, const char *who, const char *line, size_t len)
{
	const size_t before = strlen(who), whole = before + len + 1;
	char old[PATH_MAX];

	if (o->fd < 0)
		open_file(o);
	/* One older file is kept: the last SW_OUTPUT_MAX bytes are there at any time. */
	if (o->fd >= 0 && o->size > 0 && o->size + (off_t)whole > SW_OUTPUT_MAX &&
	    (size_t)snprintf(old, sizeof old, "%s.1", o->path) < sizeof old &&
	    rename(o->path, old) == 0) {
		sw_output_close(o);
		open_file(o);
	}
	o->size += (off_t)whole;
	/* lines gather until the reader has given all that it has: one write(2) for many */
	if (o->n + whole > sizeof o->gathered)
		sw_output_flush(o);
	memcpy(o->gathered + o->n, who, before);
	memcpy(o->gathered + o->n + before, line, len);
	o->gathered[o->n + whole - 1] = '\n';
	o->n += whole;
}
