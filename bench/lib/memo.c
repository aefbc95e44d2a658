#include "bench/lib/memo.h"
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Open addressing, at most half full; hash 0 is a free place. */
struct entry {
	uint64_t hash;
	double v;
};

struct bench_memo {
	int fd; /* -1: nothing is kept */
	struct entry *entry;
	size_t n, cap;
};

/* FNV-1a */
static uint64_t hash_of(const char *key)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * 0x100000001b3u;
	return h != 0 ? h : 1;
}

static struct entry *find(const struct bench_memo *m, uint64_t hash)
{
	size_t i = (size_t)(hash & (m->cap - 1));

	while (m->entry[i].hash != 0 && m->entry[i].hash != hash)
		i = (i + 1) & (m->cap - 1);
	return &m->entry[i];
}

static void add(struct bench_memo *m, uint64_t hash, double v)
{
	if (2 * (m->n + 1) > m->cap) {
		struct bench_memo grown = {.cap = m->cap == 0 ? 4096 : 2 * m->cap};

		grown.entry = calloc(grown.cap, sizeof *grown.entry);
		assert(grown.entry != NULL);
		for (size_t i = 0; i < m->cap; i++)
			if (m->entry[i].hash != 0)
				*find(&grown, m->entry[i].hash) = m->entry[i];
		free(m->entry);
		m->entry = grown.entry;
		m->cap = grown.cap;
	}
	struct entry *e = find(m, hash);
	m->n += e->hash == 0;
	*e = (struct entry){.hash = hash, .v = v};
}

static void load(struct bench_memo *m, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[80];

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		char *end, *rest;
		const uint64_t hash = strtoull(line, &end, 16);
		const double v = strtod(end, &rest);

		if (end == line + 16 && *end == ' ' && *rest == '\n' && hash != 0)
			add(m, hash, v);
	}
	if (f != NULL)
		(void)fclose(f);
}

struct bench_memo *bench_memo_open(const char *path)
{
	struct bench_memo *m = calloc(1, sizeof *m);

	assert(m != NULL);
	m->fd = -1;
	add(m, 1, 0); /* a table is never empty */
	if (path == NULL)
		return m;
	load(m, path);
	m->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (m->fd < 0) {
		perror(path);
		bench_memo_close(m);
		return NULL;
	}
	return m;
}

void bench_memo_close(struct bench_memo *m)
{
	if (m == NULL)
		return;
	if (m->fd >= 0)
		(void)close(m->fd);
	free(m->entry);
	free(m);
}

bool bench_memo_get(const struct bench_memo *m, const char *key, double *out)
{
	const struct entry *e = find(m, hash_of(key));

	*out = e->v;
	return e->hash != 0;
}

void bench_memo_put(struct bench_memo *m, const char *key, double v)
{
	const uint64_t hash = hash_of(key);
	char line[80];

	if (m->fd < 0)
		return;
	add(m, hash, v);
	const int n = snprintf(line, sizeof line, "%016" PRIx64 " %.17g\n", hash, v);
	if (write(m->fd, line, (size_t)n) != n) {
		perror("the memo");
		(void)close(m->fd);
		m->fd = -1;
	}
}
