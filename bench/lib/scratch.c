#include "bench/lib/scratch.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int bench_scratch_make(struct bench_scratch *s, const char *where)
{
	char full[PATH_MAX];

	(void)snprintf(s->sockets, sizeof s->sockets, "/tmp/sw-bench-XXXXXX");
	if (realpath(where, full) == NULL ||
	    snprintf(s->dir, sizeof s->dir, "%s/bench-XXXXXX", full) >= (int)sizeof s->dir ||
	    mkdtemp(s->dir) == NULL || mkdtemp(s->sockets) == NULL) {
		perror(where);
		return -1;
	}
	(void)snprintf(s->socket, sizeof s->socket, "%s/s", s->sockets);
	(void)snprintf(s->echo, sizeof s->echo, "%s/e", s->sockets);
	return 0;
}

static void remove_flat(const char *dir)
{
	char path[PATH_MAX + 300];
	const struct dirent *e;
	DIR *d = opendir(dir);

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		(void)unlink(path);
	}
	if (d != NULL)
		(void)closedir(d);
	(void)rmdir(dir);
}

void bench_scratch_remove(const struct bench_scratch *s)
{
	remove_flat(s->dir);
	remove_flat(s->sockets);
}
