#include "base/tree.h"
#include "base/beat.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 32

struct visitor {
	bool (*see)(int at, const char *name, bool folder, void *arg);
	void *arg;
	bool (*too_deep)(int at, const char *name, void *arg); /* for a folder; NULL: an error */
	bool removes; /* what is gone meanwhile, another one has removed */
};

static bool walk_folder(int at, const char *name, int depth, const struct visitor *v);

void sw_tree_open_up(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	    (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fchmodat(at, name, st.st_mode | S_IRWXU, AT_SYMLINK_NOFOLLOW);
}

/* A file system may not say in the list what is a folder. */
static bool walk_entry(int at, const char *name, int depth, const struct visitor *v)
{
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	sw_beat();
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return v->removes && errno == ENOENT;
	if (!S_ISDIR(st.st_mode))
		return v->see(at, name, false, v->arg);
	if (v->removes)
		sw_tree_open_up(at, name);
	return depth + 1 >= DEPTH_MAX && v->too_deep ? v->too_deep(at, name, v->arg)
						     : walk_folder(at, name, depth + 1, v);
}

static bool walk_folder(int at, const char *name, int depth, const struct visitor *v)
{
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool good = dir != NULL;

	if (!good && v->removes && errno == ENOENT && depth > 0)
		return true;
	if (good && depth >= DEPTH_MAX) {
		errno = ELOOP;
		good = false;
	}
	for (const struct dirent *e; good && (e = readdir(dir)) != NULL;)
		/* From the open folder: a name that becomes a link meanwhile leads nowhere else. */
		good = walk_entry(fd, e->d_name, depth, v);
	const int code = errno;

	if (dir != NULL)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	errno = code;
	/* After what it holds: only an empty folder can be removed. */
	return good && v->see(at, name, true, v->arg);
}

bool sw_tree_walk(int at, const char *name,
		  bool (*see)(int at, const char *name, bool folder, void *arg), void *arg)
{
	const struct visitor v = {.see = see, .arg = arg};

	return walk_folder(at, name, 0, &v);
}

static bool unlink_one(int at, const char *name, bool folder, void *arg)
{
	(void)arg;
	return unlinkat(at, name, folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT;
}

struct top {
	int fd; /* of the folder that is removed */
	unsigned long moved;
};

/* Moves a folder up, under a number that nothing there is in the way of. */
static bool move_up(int at, const char *name, void *arg)
{
	struct top *top = arg;
	char to[24];
	bool good;

	do {
		(void)snprintf(to, sizeof to, "%lu", ++top->moved);
		good = renameat(at, name, top->fd, to) == 0;
	} while (!good && (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR));
	return good;
}

/* A folder that is too deep for one walk is moved up, for the next one. */
bool sw_tree_remove(int at, const char *name)
{
	struct top top = {.moved = 0};
	const struct visitor v = {unlink_one, &top, move_up, true};
	unsigned long before;
	bool good;

	if (unlinkat(at, name, 0) == 0)
		return true;
	/* EPERM: what POSIX says of a folder; Linux says EISDIR */
	if (errno != EISDIR && errno != EPERM)
		return false;
	sw_tree_open_up(at, name);
	top.fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* If the folder is not empty then, the walk itself has moved deep ones up into it. Each
	 * round takes away DEPTH_MAX levels, so it ends. */
	do {
		before = top.moved;
		good = walk_folder(at, name, 0, &v);
	} while (!good && top.moved > before && (errno == ENOTEMPTY || errno == EEXIST));
	/* close() may change it. */
	const int code = errno;

	if (top.fd >= 0)
		(void)close(top.fd);
	errno = code;
	return good;
}

static bool add_bytes(int at, const char *name, bool folder, void *arg)
{
	uint64_t *bytes = arg;
	struct stat st;

	if (!folder && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*bytes += (uint64_t)st.st_size;
	return true;
}

uint64_t sw_tree_bytes(int at, const char *name)
{
	uint64_t bytes = 0;
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return (uint64_t)st.st_size;
	(void)sw_tree_walk(at, name, add_bytes, &bytes); /* what can be seen of it */
	return bytes;
}

bool sw_tree_make(const char *dir)
{
	char above[PATH_MAX];
	char *end;

	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return true;
	(void)snprintf(above, sizeof above, "%s", dir);
	end = strrchr(above, '/');
	if (errno != ENOENT || !end || end == above)
		return false;
	*end = '\0';
	/* another thread may make them, too */
	return (mkdir(above, 0700) == 0 || errno == EEXIST) &&
	       (mkdir(dir, 0700) == 0 || errno == EEXIST);
}
