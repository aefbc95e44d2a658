#include "worker/exec/folder.h"
#include "base/beat.h"
#include "base/tree.h"
#include "proto/checkpoint_path.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define SYNC_BYTES ((off64_t)64 * 1024 * 1024) /* between two beats */
/* A folder with up to this many files is synced file by file, a larger one with its whole file
 * system. Measured on ext4: 256 files take 0.3 s one by one, 10,000 take 9.8 s, and 0.2 s by
 * syncfs(2). */
#define SYNC_EACH ((size_t)256)
#define FROM_ZERO "user.sweepd.from_zero"

/* --- all below a folder --- */

/* Data goes to the disk in parts: a sync of a large file would take longer than a worker may be
 * silent. */
static void write_out(int fd, unsigned flags)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return; /* only files have data to write out */
	for (off64_t from = 0; from < st.st_size; from += SYNC_BYTES) {
		sw_beat();
		(void)sync_file_range(fd, from, SYNC_BYTES, flags);
	}
}

/* A file that is open for writing is no checkpoint yet: the kernel gives nobody a lease for reading
 * it. Those of a network's file system may have other reasons for that. */
static bool is_written(int fd)
{
	struct statfs fs;

	/* the lease of a file that somebody opens in between would send SIGIO, which ends the
	 * worker */
	if (fcntl(fd, F_SETSIG, SIGURG) != 0)
		return false;
	/* Taken and given back: it was only a question. */
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
		return fcntl(fd, F_SETLEASE, F_UNLCK) < 0; /* never */
	return errno == EAGAIN && fstatfs(fd, &fs) == 0 && fs.f_type != NFS_SUPER_MAGIC &&
	       fs.f_type != CIFS_SUPER_MAGIC && fs.f_type != SMB2_SUPER_MAGIC;
}

struct sync {
	size_t n;      /* how many were synced */
	char *is_open; /* the name of one that is open for writing */
};

/* arg: NULL: one alone. */
static bool sync_one(int at, const char *name, bool folder, void *arg)
{
	struct sync *s = arg;
	const int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool good = true;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO; /* a link, a socket: nothing to sync */
	const bool each = s == NULL || s->n++ < SYNC_EACH;
	if (s != NULL && !folder && is_written(fd))
		(void)snprintf(s->is_open, NAME_MAX + 1, "%s", name);
	if (!folder)
		/* Of many files writing is only begun here: sync_around() waits for all of them at
		 * once. */
		write_out(fd, each ? SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER
				   : SYNC_FILE_RANGE_WRITE);
	if (each)
		good = fsync(fd) == 0 || errno == EINVAL; /* EINVAL: a pipe or the like */
	/* close() may set another one, and the caller's line is made of this. */
	const int code = errno;

	close(fd);
	errno = code;
	return good;
}

struct system_sync {
	int fd, code; /* code: errno's, or 0 */
};

static void *sync_system(void *arg)
{
	struct system_sync *s = arg;

	s->code = syncfs(s->fd) == 0 ? 0 : errno;
	return NULL;
}

/* The whole file system that the folder is on, with what others have written there: it may take
 * long, and beats meanwhile. */
static bool sync_around(const char *path)
{
	struct system_sync s = {.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	struct timespec until;
	pthread_t thread;

	if (s.fd < 0)
		return false;
	if (pthread_create(&thread, NULL, sync_system, &s) != 0)
		(void)sync_system(&s);
	else
		do {
			sw_beat();
			/* pthread_timedjoin_np() knows no other clock. */
			(void)clock_gettime(CLOCK_REALTIME, &until);
			until.tv_sec++;
		} while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT);
	close(s.fd);
	errno = s.code;
	return s.code == 0;
}

/* Syncs all below a folder. */
static bool sync_all(struct sw_folder *l)
{
	struct sync s = {.is_open = l->is_open};

	return sw_tree_walk(AT_FDCWD, l->path, sync_one, &s) &&
	       (s.n <= SYNC_EACH || sync_around(l->path));
}

static bool remove_all(const char *path)
{
	return sw_tree_remove(AT_FDCWD, path) || errno == ENOENT;
}

/* --- one folder --- */

/* Is there nothing in the folder? Names that begin with a dot count, but for `.` and `..`. */
static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	if (!dir)
		return true; /* a folder that is not there has nothing to keep */
	for (const struct dirent *e; n == 0 && (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return n == 0;
}

static void working_path(const struct sw_folder *l, uint64_t attempt, char out[PATH_MAX])
{
	(void)snprintf(out, PATH_MAX, "%s/%" PRIu64 ".live-%" PRIu64, l->dir, l->trial, attempt);
}

/* Some file systems have no such attributes: a count is one less there after a pause. */
static void mark(const struct sw_folder *l, const char *path)
{
	if (l->from_zero)
		(void)setxattr(path, FROM_ZERO, "", 0, 0);
}

void sw_folder_counts_from_zero(struct sw_folder *l)
{
	l->from_zero = true;
	mark(l, l->path);
}

static sw_status fail(struct sw_err *err, const char *path, const char *what)
{
	const sw_status rc = errno == ENOSPC || errno == EDQUOT ? SW_FULL : SW_IO;

	return sw_err_set(err, rc, "%s: %s: %s", strrchr(path, '/') + 1, what, strerror(errno));
}

/* The newest working folder that an earlier attempt left becomes `resume`; older ones go. */
static void take_left(const struct sw_folder *l, uint64_t attempt, const char *resume, bool wanted)
{
	char path[PATH_MAX];

	/* From the newest attempt down. */
	for (bool taken = !wanted; attempt-- > 1;) {
		working_path(l, attempt, path);
		if (access(path, F_OK) != 0)
			continue; /* that attempt left none, or a later one took it */
		if (!taken && !is_empty(path)) {
			/* A rename takes the place of an empty folder alone. A kill between the two
			 * loses the older state, never the newer. */
			(void)remove_all(resume);
			taken = rename(path, resume) == 0;
		}
		(void)remove_all(path);
	}
}

sw_status sw_folder_open(struct sw_folder *l, const struct sw_job *job, struct sw_err *err)
{
	char resume[PATH_MAX];

	l->dir = job->checkpoint_dir;
	l->trial = job->trial;
	l->path[0] = l->resume[0] = '\0';
	l->step = job->checkpoint ? job->resume_step : 0;
	if (job->checkpoint)
		(void)snprintf(l->resume, sizeof l->resume, "%s", job->checkpoint);
	if (job->checkpoint && access(l->resume, F_OK) != 0) {
		l->resume[0] = '\0';
		l->step = 0;
		(void)sw_err_set(err, SW_NOT_FOUND, "%s: %s", strrchr(job->checkpoint, '/') + 1,
				 strerror(errno));
	}
	if (!l->dir)
		return err->code; /* the spec keeps no checkpoints */
	if (strlen(l->dir) + 64 > sizeof l->path)
		return sw_err_set(err, SW_TOO_BIG, "the path of the checkpoints is too long");
	(void)snprintf(resume, sizeof resume, "%s/%" PRIu64 ".resume", l->dir, l->trial);
	if (job->attempt > 1)
		take_left(l, job->attempt, resume, !job->checkpoint);
	if (!job->checkpoint && job->attempt > 1 && !is_empty(resume))
		memcpy(l->resume, resume, sizeof resume);
	l->from_zero = *l->resume && getxattr(l->resume, FROM_ZERO, NULL, 0) >= 0;
	working_path(l, job->attempt, l->path);
	if (mkdir(l->path, 0700) == 0 || errno == EEXIST ||
	    (errno == ENOENT && sw_tree_make(l->dir) && mkdir(l->path, 0700) == 0)) {
		mark(l, l->path);
		return err->code;
	}
	(void)fail(err, l->path, "no folder for checkpoints");
	l->path[0] = '\0';
	return err->code;
}

bool sw_folder_is_empty(const struct sw_folder *l)
{
	return !*l->path || is_empty(l->path);
}

sw_status sw_folder_keep(struct sw_folder *l, uint64_t step, struct sw_err *err)
{
	char to[PATH_MAX], next[PATH_MAX + 8];

	sw_checkpoint_path(to, sizeof to, l->dir, l->trial, step);
	l->is_open[0] = '\0';
	/* All of its bytes first: from the rename on its name says that they are there. */
	if (!sync_all(l))
		return fail(err, l->path, "it cannot be synced");
	/* An earlier attempt may have kept this step and been lost before it reported it. The
	 * rename below takes only the place of an empty folder. */
	if (access(to, F_OK) == 0)
		(void)remove_all(to);
	/* first: on a full disk the program has no other folder than this one */
	(void)snprintf(next, sizeof next, "%s.next", l->path);
	if (mkdir(next, 0700) != 0 && errno != EEXIST)
		return fail(err, to, "no folder for the next one");
	mark(l, next);
	/* one step: what has the checkpoint's name is whole */
	if (rename(l->path, to) != 0)
		return fail(err, to, "no checkpoint");
	if (rename(next, l->path) != 0)
		(void)fail(err, l->path, "no folder for checkpoints");
	/* Both names, the checkpoint's and the next folder's, are on the disk before the report is
	 * sent. */
	if (!sync_one(AT_FDCWD, l->dir, true, NULL))
		return fail(err, to, "its folder cannot be synced");
	/* a program that is started again goes on from here */
	memcpy(l->resume, to, sizeof to);
	l->step = step;
	return SW_OK;
}

bool sw_folder_close(struct sw_folder *l, bool for_next)
{
	char resume[PATH_MAX];
	bool good = true;

	if (!l->dir)
		return true;
	if (*l->path && (!for_next || is_empty(l->path)))
		good = remove_all(l->path);
	(void)snprintf(resume, sizeof resume, "%s/%" PRIu64 ".resume", l->dir, l->trial);
	/* most trials never had one: no more than a look */
	if (!for_next && access(resume, F_OK) == 0)
		good = remove_all(resume) && good;
	return good;
}
