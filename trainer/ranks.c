#include "trainer/ranks.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "trainer/prepare.h"
#include "trainer/train.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define END_US  ((int64_t)10000000) /* for a rank that knows that it ends */
#define TURN_MS 100

struct rank {
	struct sw_comm *comm;
	struct sw_job job; /* of it, but for checkpoints: rank 0's state comes by way of it */
	struct sw_runner runner;
	char device[16];
	struct sw_prepared ready;
	pthread_t thread;
	bool runs;
};

struct sw_rank_threads {
	struct sw_comm *lead;
	struct rank *rank; /* [n]; rank 1 is the first */
	size_t n;
};

/* --- agreed by all --- */

struct verdict {
	bool impossible;
	struct sw_err err; /* its code: how the rank is prepared */
};

sw_status sw_ranks_agree(struct sw_comm *c, sw_status mine, bool *impossible, unsigned *blamed,
			 struct sw_err *err)
{
	struct verdict is = {.impossible = *impossible}, *all;
	const unsigned world = sw_comm_world(c);
	unsigned first = 0;
	sw_status rc = SW_NOMEM;

	if (mine != SW_OK)
		(void)sw_err_at(&is.err, mine, err->ptr, "%s",
				*err->msg ? err->msg : sw_status_str(mine));
	*err = (struct sw_err)SW_ERR_INIT; /* another rank's may take its place */
	all = sw_calloc(world, sizeof *all);
	if (all)
		rc = sw_comm_all_gather(c, &is, all, sizeof is);
	/* Without a list of its own it cannot hear the others, who would wait for its word. */
	else
		sw_comm_give_up(c, rc, "no memory for the ranks of a trial");
	/* each rank looks at the same list, so that all find the same one */
	while (rc == SW_OK && first < world && all[first].err.code == SW_OK)
		first++;
	*blamed = 0;
	if (rc != SW_OK) {
		rc = sw_err_set(err, rc, "%s", sw_comm_why(c));
		*blamed = sw_comm_blamed(c);
	} else if (first < world) {
		char who[24] = "";

		if (first > 0)
			snprintf(who, sizeof who, "rank %u: ", first);
		is = all[first];
		*impossible = is.impossible;
		*blamed = first;
		rc = sw_err_at(err, is.err.code, is.err.ptr, "%s%s", who, is.err.msg);
	}
	free(all);
	return rc;
}

/* --- a rank --- */

static void rank_beat(void *comm)
{
	sw_comm_beat(comm);
}

/* The number of a GPU among those that this process sees. Without NVML its name is that. */
static bool number_of(const char *gpu, unsigned *out)
{
	const char *seen = getenv("CUDA_VISIBLE_DEVICES");
	char one[96];

	for (*out = 0; seen && sw_text_nth(seen, *out, one, sizeof one); ++*out)
		if (strcmp(one, gpu) == 0)
			return true;
	return sscanf(gpu, "%u", out) == 1 && strspn(gpu, "0123456789") == strlen(gpu);
}

/* "gpu:1" of the rank's GPU. False: this process does not see it. */
static bool name_device(struct rank *r, unsigned rank)
{
	unsigned number;
	char gpu[96];

	if (!sw_text_nth(r->job.visible, rank, gpu, sizeof gpu) || !number_of(gpu, &number))
		return false;
	snprintf(r->device, sizeof r->device, "gpu:%u", number);
	r->runner.device = r->device;
	r->runner.ops = NULL; /* rank 0's are on another device */
	r->runner.cache = NULL;
	return true;
}

/* Prepares, agrees with the others, and trains. Its errors are those of all, and rank 0 tells
 * them. */
static void rank_work(struct rank *r)
{
	const struct sw_train_hooks hooks = {.comm = r->comm};
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;
	unsigned blamed;
	sw_status rc = sw_runner_open(&r->runner, r->device, &err);

	if (rc == SW_OK)
		rc = sw_prepare(&r->ready, &r->runner, &r->job, &err);
	/* a rank that is not ready comes here, too: the others would wait for it */
	rc = sw_ranks_agree(r->comm, rc, &r->ready.impossible, &blamed, &err);
	if (rc == SW_OK)
		(void)!sw_train_run(r->runner.ops, r->runner.q, &r->ready.model, r->ready.data,
				    &r->ready.trainer, r->job.seed, &hooks, &end, &err);
}

static void *rank_main(void *arg)
{
	struct rank *r = arg;
	/* As it was lent: sw_runner_close() gives back what the rank opened, and not what it has of
	 * the lead. */
	const struct sw_runner lead = r->runner;

	sw_beat_to(rank_beat, r->comm, SW_BEAT_US);
	rank_work(r);
	sw_prepared_release(&r->ready, &r->runner);
	sw_runner_close(&r->runner, &lead);
	sw_beat_to(NULL, NULL, 0);
	/* The last of all: until then the others may wait for this rank, and hear of its errors. */
	sw_comm_close(r->comm);
	return NULL;
}

/* --- all of them --- */

static sw_status threads_start(struct sw_rank_threads *g, struct sw_err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		struct rank *r = &g->rank[i];

		r->runs = pthread_create(&r->thread, NULL, rank_main, r) == 0;
		if (r->runs)
			continue;
		/* those that have started learn of it where they agree */
		sw_comm_give_up(g->lead, SW_BUSY, "no thread for a rank");
		for (; i < g->n; i++)
			sw_comm_close(g->rank[i].comm);
		return sw_err_set(err, SW_BUSY, "no thread for a rank");
	}
	return SW_OK;
}

sw_status sw_ranks_start(struct sw_rank_threads **out, const struct sw_runner *r,
			 const struct sw_job *job, struct sw_err *err)
{
	struct sw_rank_threads *g = sw_calloc(1, sizeof *g);
	struct sw_comm *comm[SW_COMM_WORLD_MAX];
	sw_status rc;

	*out = NULL;
	if (g)
		g->rank = sw_calloc(job->ranks - 1, sizeof *g->rank);
	if (!g || !g->rank) {
		free(g);
		return sw_err_set(err, SW_NOMEM, "no memory for the ranks of a trial");
	}
	g->n = job->ranks - 1;
	rc = sw_comm_meet(comm, (unsigned)job->ranks, job->visible != NULL, err);
	if (rc != SW_OK) {
		free(g->rank);
		free(g);
		return rc;
	}
	g->lead = comm[0];
	/* Checkpoints are rank 0's to read and to write; the others get the state from it. */
	for (size_t i = 0; i < g->n; i++) {
		g->rank[i] = (struct rank){.comm = comm[i + 1], .job = *job, .runner = *r};
		g->rank[i].job.checkpoint = g->rank[i].job.checkpoint_dir = NULL;
		g->rank[i].runner.q = NULL;
		/* it came back after this worker's start, and the next one sees it */
		if (rc == SW_OK && job->visible && !name_device(&g->rank[i], (unsigned)i + 1))
			rc = sw_err_set(err, SW_BUSY, "this worker does not see all of its GPUs");
	}
	if (rc == SW_OK)
		rc = threads_start(g, err);
	else
		for (size_t i = 0; i < g->n; i++)
			sw_comm_close(g->rank[i].comm);
	if (rc == SW_OK)
		*out = g;
	/* Those that run find the comm failed where they agree, and end. */
	else if (!sw_ranks_end(g))
		return sw_err_set(err, SW_DEVICE_LOST, "a rank does not end");
	return rc;
}

struct sw_comm *sw_ranks_comm(const struct sw_rank_threads *g)
{
	return g ? g->lead : NULL;
}

static bool join(pthread_t thread, int64_t until_us)
{
	for (;;) {
		struct timespec turn;

		(void)clock_gettime(CLOCK_MONOTONIC, &turn);
		turn.tv_nsec += TURN_MS * 1000000L;
		turn.tv_sec += turn.tv_nsec / 1000000000L;
		turn.tv_nsec %= 1000000000L;
		/* In turns, so that the worker shows life while a rank takes its time. */
		if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &turn) == 0)
			return true;
		if (sw_clock_mono_us() > until_us)
			return false;
		sw_beat();
	}
}

bool sw_ranks_end(struct sw_rank_threads *g)
{
	const int64_t until_us = sw_clock_mono_us() + END_US;

	if (!g)
		return true;
	for (size_t i = 0; i < g->n; i++)
		if (g->rank[i].runs && !join(g->rank[i].thread, until_us))
			return false; /* g is the thread's for good */
	sw_comm_close(g->lead);
	free(g->rank);
	free(g);
	return true;
}
