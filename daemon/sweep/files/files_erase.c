/* daemon/sweep/files/files_erase.c — all files of a deleted sweep go. */
#include "base/tree.h"
#include "daemon/daemon.h"
#include "daemon/sweep/files/checkpoint.h"
#include "daemon/sweep/files/files.h"
#include "daemon/sweep/files/passed.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Removes what is in the sweep's folder at `path` in `fd` and is not the spared trial's; adds its
 * bytes. A link, or a file, is a name like any other. */
static sw_status empty_folder(const struct sw_daemon *d, int fd, const char *path, uint64_t spared,
			      int64_t *bytes, struct sw_err *err)
{
	const char *sweep = strrchr(path, '/') + 1, *shown = path + strlen(d->config.state) + 1;
	/* A program may have left its folder without write permission, which would keep all that is
	 * in it. */
	sw_tree_open_up(fd, sweep);
	const int own = openat(fd, sweep, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;
	sw_status rc = SW_OK;

	/* ENOENT: the sweep never had one. */
	if (dir == NULL && (errno == ENOENT || unlinkat(fd, sweep, 0) == 0))
		return SW_OK;
	if (dir == NULL)
		return sw_err_set(err, SW_IO, "%s: %s", shown, strerror(errno));
	while (!atomic_load(&d->sweep.stopping) && (e = readdir(dir)) != NULL) {
		uint64_t trial, step;
		bool whole;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (spared != 0 && sw_checkpoint_read_name(e->d_name, &trial, &step, &whole) &&
		     whole && trial == spared))
			continue;
		/* Before it goes; what cannot be removed does not count as freed. */
		const int64_t n = (int64_t)sw_tree_bytes(own, e->d_name);
		if (sw_tree_remove(own, e->d_name))
			*bytes += n;
		else if (errno != ENOENT)
			rc = sw_err_set(err, SW_IO, "%s/%s: %s", shown, e->d_name, strerror(errno));
	}
	(void)closedir(dir);
	/* Fails where something is left in it, as it should. */
	(void)unlinkat(fd, sweep, AT_REMOVEDIR);
	return rc;
}

sw_status sw_files_erase(const struct sw_daemon *d, int64_t sweep, uint64_t spared, int64_t *bytes,
			 struct sw_err *err)
{
	static const char *const folders[] = {SW_CHECKPOINT_FOLDER, "logs", "tune"};
	char path[PATH_MAX + 64];
	sw_status rc = SW_OK;

	/* All of them, whatever one of them says: what can go makes room. */
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		const int n = snprintf(path, sizeof path, "%s/%s", d->config.state, folders[i]);
		const int fd = sw_checkpoint_open(AT_FDCWD, path);

		if (fd < 0 && errno != ENOENT)
			rc = sw_err_set(err, SW_IO, "%s: %s", folders[i], strerror(errno));
		if (fd < 0)
			continue;
		(void)snprintf(path + n, sizeof path - (size_t)n, "/%lld", (long long)sweep);
		const sw_status one = empty_folder(d, fd, path, spared, bytes, err);
		rc = rc == SW_OK ? one : rc;
		(void)close(fd);
	}
	/* The submitter's environment may hold secrets: it goes with the sweep, also where its
	 * files did not. */
	sw_passed_remove(d, sweep);
	return rc;
}
