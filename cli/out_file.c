#include "cli/out_file.h"
#include "base/part.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool sw_out_file_open(struct sw_out_file *f, const char *path)
{
	struct stat st;
	/* Behind a link it is the file that is replaced, but not behind one that somebody else laid
	 * here: that one goes. */
	const bool there = lstat(path, &st) == 0 &&
			   (!S_ISLNK(st.st_mode) || st.st_uid == geteuid() || st.st_uid == 0) &&
			   stat(path, &st) == 0;
	int fd = -1;

	f->part[0] = '\0';
	f->to = NULL;
	if (!there || realpath(path, f->path) == NULL)
		(void)snprintf(f->path, sizeof f->path, "%s", path);
	if (strncmp(path, "/dev/", 5) != 0 && (!there || S_ISREG(st.st_mode)))
		fd = sw_part_open(f->part, sizeof f->part, f->path);
	else
		/* A pipe or a device has no file to put in its place. */
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0 && (f->to = fdopen(fd, "wb")) == NULL)
		(void)close(fd);
	return f->to != NULL;
}

bool sw_out_file_close(struct sw_out_file *f, bool keep)
{
	bool good = fclose(f->to) == 0;

	f->to = NULL;
	if (f->part[0] == '\0')
		return good;
	good = good && (!keep || rename(f->part, f->path) == 0);
	/* remove() may set another one, and the caller wants that of what failed first. */
	const int why = errno;
	if (!good || !keep)
		(void)remove(f->part);
	errno = why;
	return good;
}
