#include "daemon/statedir.h"
#include "proto/socket_path.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LOCK_TRIES    50
#define LOCK_PAUSE_MS 20

static sw_status make_dir(const char *path, struct sw_err *err)
{
	/* A file of that name is found by whatever opens the folder. */
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return SW_OK;
	return sw_err_set(err, errno == ENOSPC ? SW_FULL : SW_IO, "cannot create the folder %s: %s",
			  path, strerror(errno));
}

sw_status sw_statedir_parents(const char *path, struct sw_err *err)
{
	char part[PATH_MAX];
	sw_status rc = SW_OK;

	if (strlen(path) >= sizeof part)
		return sw_err_set(err, SW_INVALID, "the path %.64s... is too long", path);
	(void)snprintf(part, sizeof part, "%s", path);
	for (char *p = part + 1; rc == SW_OK && (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		rc = make_dir(part, err);
		*p = '/';
	}
	return rc;
}

static bool is_trusted(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

sw_status sw_statedir_check(const char *folder, bool sticky, const char *what, const char *fix,
			    struct sw_err *err)
{
	struct stat link, st;

	/* The owner of a link may have it point elsewhere, and counts as well as the folder's. */
	if (lstat(folder, &link) != 0 || stat(folder, &st) != 0)
		return sw_err_set(err, SW_IO, "cannot examine %s %s: %s", what, folder,
				  strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return sw_err_set(err, SW_INVALID, "%s %s is not a folder", what, folder);
	/* Root may do anything anyhow, so what is root's is as safe as one's own. */
	if (!is_trusted(link.st_uid) || !is_trusted(st.st_uid))
		return sw_err_set(err, SW_DENIED,
				  "%s %s belongs to another user (uid %lu), who could take over "
				  "what is in it: %s",
				  what, folder,
				  (unsigned long)(is_trusted(st.st_uid) ? link.st_uid : st.st_uid),
				  fix);
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !(sticky && (st.st_mode & S_ISVTX) != 0))
		return sw_err_set(err, SW_DENIED,
				  "others may write in %s %s (mode %04o) and take over what is in "
				  "it: chmod go-w it, or %s",
				  what, folder, (unsigned)(st.st_mode & 07777), fix);
	return SW_OK;
}

static sw_status refuse_network(const char *path, struct sw_err *err)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} remote[] = {
		{0x6969, "NFS"},      {0x0BD00BD0, "Lustre"}, {0xFF534D42, "CIFS"},
		{0xFE534D42, "SMB2"}, {0x47504653, "GPFS"},   {0x19830326, "BeeGFS"},
		{0x517B, "SMB"},      {0x00C36400, "Ceph"},
	};
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return sw_err_set(err, SW_IO, "cannot examine %s: %s", path, strerror(errno));
	for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++)
		if (((unsigned long)fs.f_type & 0xffffffffUL) == remote[i].magic)
			return sw_err_set(
				err, SW_INVALID,
				"%s is on %s, where a database is not safe: put it on a local disk "
				"(--database DIR, or --state DIR for all)",
				path, remote[i].name);
	return SW_OK;
}

static sw_status take_lock(const char *dir, int *lock_fd, struct sw_err *err)
{
	char path[PATH_MAX + 8], pid[32] = "";

	(void)snprintf(path, sizeof path, "%s/lock", dir);
	/* flock() and not fcntl(): a lock of fcntl's goes when any descriptor of the file is
	 * closed. */
	const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return sw_err_set(err, errno == ENOSPC ? SW_FULL : SW_IO, "cannot open %s: %s",
				  path, errno == ELOOP ? "it is a link" : strerror(errno));
	/* A daemon that was killed a moment ago has its lock until the kernel has taken it down. */
	for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
		if (errno == EWOULDBLOCK && tries < LOCK_TRIES && poll(NULL, 0, LOCK_PAUSE_MS) == 0)
			continue;
		const ssize_t n = read(fd, pid, sizeof pid - 1);

		if (n > 0)
			pid[strcspn(pid, "\n")] = '\0';
		(void)close(fd);
		return sw_err_set(err, SW_CONFLICT,
				  "another sweepd (pid %s) uses the state directory %s",
				  n > 0 ? pid : "?", dir);
	}
	/* The file is never removed: a daemon that locked a removed file, and one that made it
	 * anew, would both hold "the" lock. */
	const int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	/* The pid is there for people; the lock holds without it, so a full disk is no reason to
	 * stop. */
	if (ftruncate(fd, 0) != 0 || pwrite(fd, pid, (size_t)n, 0) != n)
		(void)0;
	*lock_fd = fd;
	return SW_OK;
}

sw_status sw_statedir_open(char *path, size_t cap, bool database, int *lock_fd, struct sw_err *err)
{
	char real[PATH_MAX], inside[PATH_MAX + 2];
	sw_status rc;

	(void)snprintf(inside, sizeof inside, "%s/", path);
	/* Made before realpath(), which needs it to exist; the path with no links in it is what all
	 * other files are named by. */
	rc = sw_statedir_parents(inside, err);
	if (rc == SW_OK && realpath(path, real) == NULL)
		rc = sw_err_set(err, SW_IO, "cannot use the state directory %s: %s", path,
				strerror(errno));
	if (rc == SW_OK && access(real, W_OK | X_OK) != 0)
		rc = sw_err_set(err, SW_DENIED, "cannot write in the state directory %s: %s", real,
				strerror(errno));
	if (rc == SW_OK && strlen(real) >= cap)
		rc = sw_err_set(err, SW_INVALID, "the path of the state directory is too long");
	if (rc != SW_OK)
		return rc;
	memcpy(path, real, strlen(real) + 1);
	rc = sw_statedir_check(path, false, "the state directory",
			       "choose one of your own with --state DIR", err);
	if (rc == SW_OK && database)
		rc = refuse_network(path, err);
	return rc == SW_OK ? take_lock(path, lock_fd, err) : rc;
}

void sw_statedir_tell(int lock_fd, const char *socket)
{
	char folder[PATH_MAX] = "", text[PATH_MAX + SW_SOCKET_PATH_MAX + 32];

	if (socket[0] != '/' && getcwd(folder, sizeof folder) == NULL)
		return;
	const int n = snprintf(text, sizeof text, "%ld\n%s%s%s\n", (long)getpid(), folder,
			       folder[0] != '\0' ? "/" : "", socket);
	if (n > 0 && (size_t)n < sizeof text)
		/* In place and longer than the pid alone that it replaces, so no reader finds an
		 * old end behind it. Where it fails clients need --socket, as without the file. */
		(void)!pwrite(lock_fd, text, (size_t)n, 0);
}

bool sw_statedir_holds(const char *dir, int lock_fd)
{
	char path[PATH_MAX + 8];
	struct stat held, there;

	(void)snprintf(path, sizeof path, "%s/lock", dir);
	return fstat(lock_fd, &held) == 0 && stat(path, &there) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

void sw_statedir_reserve(const char *dir, bool take)
{
	char path[PATH_MAX + 8];

	(void)snprintf(path, sizeof path, "%s/reserve", dir);
	if (!take) {
		(void)unlink(path);
		return;
	}
	const int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	/* Blocks that are really there: a file with a hole would give none back when the disk is
	 * full. */
	if (posix_fallocate(fd, 0, SW_STATEDIR_RESERVE) != 0)
		(void)unlink(path);
	(void)close(fd);
}
