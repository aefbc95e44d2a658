#include "worker/exec/output.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

void sw_output_init(struct sw_output *o, const char *path)
{
	*o = (struct sw_output){.path = path, .fd = -1};
}

void sw_output_close(struct sw_output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

static void open_file(struct sw_output *o)
{
	struct stat st;

	o->fd = open(o->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	o->size = o->fd >= 0 && fstat(o->fd, &st) == 0 ? st.st_size : 0;
}

void sw_output_line(struct sw_output *o, const char *who, const char *line, size_t len)
{
	const struct iovec parts[3] = {{.iov_base = (void *)who, .iov_len = strlen(who)},
				       {.iov_base = (void *)line, .iov_len = len},
				       {.iov_base = (void *)"\n", .iov_len = 1}};
	const off_t whole = (off_t)(strlen(who) + len + 1);
	char old[PATH_MAX];

	if (o->fd < 0)
		open_file(o);
	if (o->fd >= 0 && o->size > 0 && o->size + whole > SW_OUTPUT_MAX &&
	    (size_t)snprintf(old, sizeof old, "%s.1", o->path) < sizeof old &&
	    rename(o->path, old) == 0) {
		sw_output_close(o);
		open_file(o);
	}
	if (o->fd >= 0 && writev(o->fd, parts, 3) > 0)
		o->size += whole;
}
