#include "base/part.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int sw_part_open(char *part, size_t cap, const char *path)
{
	const mode_t mask = umask(0);

	(void)umask(mask);
	if ((size_t)snprintf(part, cap, "%s.XXXXXX", path) >= cap) {
		errno = ENAMETOOLONG;
		return -1;
	}
	const int fd = mkostemp(part, O_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, 0666 & ~mask);
	return fd;
}
