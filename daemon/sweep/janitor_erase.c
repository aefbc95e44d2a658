/* daemon/sweep/janitor_erase.c — all files of a deleted sweep go. */
#include "base/log.h"
#include "base/tree.h"
#include "daemon/daemon.h"
#include "daemon/sweep/janitor.h"
#include "daemon/sweep/passed.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Removes what is in the sweep's folder in `fd` and is not the kept trial's; bytes of it. */
static int64_t empty_folder(const struct sw_daemon *d, int fd, const char *sweep, uint64_t kept)
{
	const int own = openat(fd, sweep, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	const struct dirent *e;
	int64_t bytes = 0;

	/* The sweep never had one. */
	if (dir == NULL)
		return 0;
	while (!atomic_load(&d->sweep.stopping) && (e = readdir(dir)) != NULL) {
		struct sw_checkpoint file = {.trial = 0};
		bool whole;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (kept != 0 && sw_janitor_read_name(e->d_name, &file, &whole) && whole &&
		     file.trial == kept))
			continue;
		const int64_t n = (int64_t)sw_tree_bytes(own, e->d_name);
		if (sw_tree_remove(own, e->d_name))
			bytes += n;
		else if (errno != ENOENT)
			sw_log(SW_LOG_WARN, "sweep.delete", "file=\"%s/%s\" why=\"%s\"", sweep,
			       e->d_name, strerror(errno));
	}
	(void)closedir(dir);
	/* Fails where something is left in it, as it should. */
	(void)unlinkat(fd, sweep, AT_REMOVEDIR);
	return bytes;
}

int64_t sw_janitor_erase(const struct sw_daemon *d, int64_t sweep, uint64_t kept)
{
	static const char *const folders[] = {SW_CHECKPOINT_FOLDER, "logs", "tune"};
	char path[PATH_MAX + 64], name[24];
	int64_t bytes = 0;

	(void)snprintf(name, sizeof name, "%lld", (long long)sweep);
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", d->config.state, folders[i]);
		const int fd = sw_janitor_folder(AT_FDCWD, path);

		if (fd < 0)
			continue;
		bytes += empty_folder(d, fd, name, kept);
		(void)close(fd);
	}
	sw_passed_remove(d, sweep);
	return bytes;
}
