#include "bench/lib/jobs.h"
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The results start at 64. */
struct shared {
	atomic_size_t next, done;
	size_t bytes; /* of all of it */
};

static void work(struct shared *s, size_t n, size_t size, void *results,
		 void (*run)(void *ctx, size_t i, void *result), void *ctx, const char *what)
{
	for (;;) {
		const size_t i = atomic_fetch_add(&s->next, 1);

		if (i >= n)
			break;
		run(ctx, i, (char *)results + i * size);
		const size_t done = atomic_fetch_add(&s->done, 1) + 1;
		if (what != NULL)
			(void)fprintf(stderr, "\r%s %zu/%zu", what, done, n);
	}
}

void *bench_jobs_run(size_t n, size_t size, size_t jobs,
		     void (*run)(void *ctx, size_t i, void *result), void *ctx, const char *what)
{
	const size_t bytes = 64 + n * size;
	struct shared *s =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *results = (char *)s + 64;
	pid_t pids[BENCH_MAX_JOBS];
	bool good = true;

	static_assert(sizeof(struct shared) <= 64, "the results start at 64");
	assert(s != MAP_FAILED && jobs >= 1 && jobs <= BENCH_MAX_JOBS);
	s->bytes = bytes;
	if (!isatty(STDERR_FILENO))
		what = NULL;
	(void)fflush(NULL);
	for (size_t j = 0; j < jobs; j++) {
		pids[j] = fork();
		assert(pids[j] >= 0);
		if (pids[j] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(s, n, size, results, run, ctx, what);
			_exit(0);
		}
	}
	for (size_t j = 0; j < jobs; j++) {
		int status = 0;

		if (waitpid(pids[j], &status, 0) < 0 || status != 0)
			good = false;
	}
	if (what != NULL)
		(void)fputs("\r\033[K", stderr);
	if (!good) {
		(void)fprintf(stderr, "a process of the bench died after %zu of %zu runs\n",
			      atomic_load(&s->done), n);
		bench_jobs_free(results);
		return NULL;
	}
	return results;
}

void bench_jobs_free(void *results)
{
	struct shared *const s = results != NULL ? (void *)((char *)results - 64) : NULL;

	if (s != NULL)
		(void)munmap(s, s->bytes);
}
