#include "daemon/sweep/files/checkpoint.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/sweep/running.h"
#include "proto/checkpoint_path.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sw_checkpoint_folder(const struct sw_running *live, char out[SW_CHECKPOINT_FOLDER_MAX])
{
	(void)snprintf(out, SW_CHECKPOINT_FOLDER_MAX, "%s/" SW_CHECKPOINT_FOLDER "/%lld",
		       live->d->config.state, (long long)live->sweep);
}

sw_status sw_checkpoint_make_folder(const struct sw_running *live, struct sw_err *err)
{
	char path[SW_CHECKPOINT_FOLDER_MAX];
	struct stat st;

	sw_checkpoint_folder(live, path);
	char *const last = strrchr(path, '/');
	for (int depth = 0; depth < 2; depth++) {
		/* At most two levels, and each checked on its own: `mkdir -p` would follow a link
		 * at the upper one. */
		*last = depth == 0 ? '\0' : '/';
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return sw_err_set(err, SW_IO, "cannot make the folder %s: %s", path,
					  strerror(errno));
		/* Files behind a link would never be removed. */
		if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
			return sw_err_set(err, SW_IO, "%s is a link, or not a folder", path);
	}
	return SW_OK;
}

bool sw_checkpoint_read_name(const char *name, uint64_t *trial, uint64_t *step, bool *whole)
{
	unsigned long long t, s;
	char rest[16];

	*whole = sw_checkpoint_path_read(name, trial, step);
	if (*whole)
		return true;
	if (sscanf(name, ".tmp-%19llu-%19llu", &t, &s) != 2) {
		if (sscanf(name, "%19llu.%15s", &t, rest) != 2 ||
		    (strcmp(rest, "resume") != 0 && strncmp(rest, "live-", 5) != 0))
			return false;
		/* A program's folder that is being saved, or goes away, has no step: behind the
		 * whole ones it is judged as the newest of its trial. */
		s = UINT64_MAX; /* after all that are whole */
	}
	*trial = t;
	*step = s;
	return true;
}

int sw_checkpoint_open(int at, const char *path)
{
	const char *name = at == AT_FDCWD ? path : strrchr(path, '/') + 1;
	/* One component at a time from an open folder, so no part of the path can become a link
	 * between check and use. */
	const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	const int code = errno;

	if (fd < 0 && code != ENOENT)
		sw_log(SW_LOG_WARN, "checkpoint.folder",
		       "path=\"%s\" why=\"%s: nothing is removed\"", path,
		       code == ENOTDIR ? "it is a link, or not a folder" : strerror(code));
	/* sw_log() may have changed it, and sw_files_erase() asks for ENOENT. */
	errno = code;
	return fd;
}

DIR *sw_checkpoint_open_sweep(const struct sw_daemon *d, int64_t sweep)
{
	char path[PATH_MAX + 64];
	const int n = snprintf(path, sizeof path, "%s/" SW_CHECKPOINT_FOLDER, d->config.state);
	int fd = sw_checkpoint_open(AT_FDCWD, path);

	if (fd >= 0 && sweep != 0) {
		const int all = fd;

		(void)snprintf(path + n, sizeof path - (size_t)n, "/%lld", (long long)sweep);
		fd = sw_checkpoint_open(all, path);
		(void)close(all);
	}
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && dir == NULL)
		(void)close(fd);
	return dir;
}
