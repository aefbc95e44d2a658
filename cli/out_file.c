#include "cli/out_file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool sw_out_file_open(struct sw_out_file *f, const char *path)
{
	struct stat st;
	const bool there = stat(path, &st) == 0;

	f->part[0] = '\0';
	/* Behind a link it is the file that is replaced. */
	if (!there || realpath(path, f->path) == NULL)
		(void)snprintf(f->path, sizeof f->path, "%s", path);
	if (strncmp(path, "/dev/", 5) != 0 && (!there || S_ISREG(st.st_mode)))
		(void)snprintf(f->part, sizeof f->part, "%s.part", f->path);
	f->to = fopen(f->part[0] != '\0' ? f->part : path, "wbe");
	return f->to != NULL;
}

bool sw_out_file_close(struct sw_out_file *f, bool keep)
{
	bool good = fclose(f->to) == 0;

	f->to = NULL;
	if (f->part[0] == '\0')
		return good;
	good = good && (!keep || rename(f->part, f->path) == 0);
	const int why = errno;
	if (!good || !keep)
		(void)remove(f->part);
	errno = why;
	return good;
}
