#include "worker/rank.h"
#include "base/beat.h"
#include "base/memory.h"
#include "kernels/backend.h"
#include "proto/json.h"
#include "worker/allowance.h"
#include "worker/prepare.h"
#include "worker/train.h"
#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEETING_MS 1000 /* by which ranks give up later than their lead */

struct rank {
	struct sw_rank_start start;
	cJSON *tree; /* the job points into it */
	struct sw_job job;
	struct sw_runner runner;
	struct sw_prepared ready;
	struct sw_comm *comm;
};

/* --- agreed by all --- */

/* Plain bytes: one for each rank is gathered. */
struct verdict {
	bool impossible;
	struct sw_err err; /* its code: how the rank is prepared */
};

sw_status sw_rank_agree(struct sw_comm *c, sw_status mine, bool *impossible, struct sw_err *err)
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
	else
		sw_comm_abort(c, rc, "no memory for the ranks of a trial");
	/* each rank looks at the same list, so that all find the same one */
	while (rc == SW_OK && first < world && all[first].err.code == SW_OK)
		first++;
	if (rc != SW_OK) {
		rc = sw_err_set(err, rc, "%s", sw_comm_why(c));
	} else if (first < world) {
		char who[24] = "";

		if (first > 0)
			snprintf(who, sizeof who, "rank %u: ", first);
		is = all[first];
		*impossible = is.impossible;
		rc = sw_err_at(err, is.err.code, is.err.ptr, "%s%s", who, is.err.msg);
	}
	free(all);
	return rc;
}

unsigned sw_rank_named(const char *line)
{
	unsigned rank;

	return sscanf(line, "rank %2u", &rank) == 1 && rank < SW_COMM_WORLD_MAX ? rank : 0;
}

/* --- the start --- */

static int complain(const struct rank *r, const char *line)
{
	fprintf(stderr, "sweep-worker: rank %u of %u: %s\n", r->start.seat.rank,
		r->start.seat.world, line);
	return 1;
}

/* Reads n bytes of standard input, which is a file in memory. */
static bool read_whole(void *to, size_t n, off_t from)
{
	for (size_t done = 0; done < n;) {
		const ssize_t got =
			pread(STDIN_FILENO, (char *)to + done, n - done, from + (off_t)done);

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* false: this process was not started by sw_gang_start(). */
static bool read_start(struct rank *r, struct sw_err *err)
{
	const off_t head = sizeof r->start;
	struct stat st;
	char *text;
	bool good;

	if (fstat(STDIN_FILENO, &st) != 0 || st.st_size <= head ||
	    !read_whole(&r->start, sizeof r->start, 0))
		return false;
	text = sw_malloc((size_t)(st.st_size - head));
	good = text && read_whole(text, (size_t)(st.st_size - head), head) &&
	       sw_json_parse(&r->tree, text, (size_t)(st.st_size - head), err) == SW_OK &&
	       sw_job_read(&r->job, r->tree, err) == SW_OK;
	free(text);
	return good;
}

/* Its own device, data set, and model. */
static sw_status prepare_rank(struct rank *r, struct sw_err *err)
{
	const struct sw_rank_start *s = &r->start;
	sw_status rc;

	r->runner =
		(struct sw_runner){.device = s->device, .memory = s->memory, .streams = s->streams};
	rc = sw_backend_open(s->device, s->cores, &r->runner.ops, err);
	if (rc != SW_OK)
		return rc;
	assert(r->runner.ops != NULL);
	rc = r->runner.ops->queue_create(&r->runner.q);
	if (rc == SW_OK)
		rc = sw_data_cache_create(&r->runner.cache, r->runner.ops);
	return rc == SW_OK ? sw_prepare(&r->ready, &r->runner, &r->job, err) : rc;
}

static void rank_beat(void *comm)
{
	sw_comm_beat(comm);
}

/* Prepares, agrees with the others, and trains. */
static sw_status rank_work(struct rank *r, struct sw_err *err)
{
	const struct sw_train_hooks hooks = {.comm = r->comm};
	enum sw_train_end end;
	sw_status rc;

	sw_beat_to(rank_beat, r->comm, SW_BEAT_US);
	rc = prepare_rank(r, err);
	/* a rank that is not ready comes here, too: the others would wait for it */
	rc = sw_rank_agree(r->comm, rc, &r->ready.impossible, err);
	if (rc == SW_OK)
		rc = sw_train_run(r->runner.ops, r->runner.q, &r->ready.model, r->ready.data,
				  &r->ready.trainer, r->job.seed, &hooks, &end, err);
	return rc;
}

/* Not all have met. A lead that is alive knows that, too, and ends its children; one that was
 * stopped would wait for ever. */
static void outlive_lead(const struct rank *r)
{
	(void)poll(NULL, 0, MEETING_MS);
	if (getppid() == r->start.lead)
		(void)kill(r->start.lead, SIGKILL);
}

int sw_rank_serve(void)
{
	struct rank r = {0};
	struct sw_err err = SW_ERR_INIT;
	sw_status rc;

	/* a scheduler tells each process of a job that it ends: the lead decides what that means */
	(void)signal(SIGTERM, SIG_IGN);
	/* the lead may have ended before this call: then the parent is another one */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!read_start(&r, &err) || getppid() != r.start.lead)
		return complain(&r, "it is started by a worker alone");
	rc = sw_comm_open(&r.comm, &r.start.seat, &err);
	if (rc == SW_PEER_LOST)
		outlive_lead(&r);
	if (rc == SW_OK)
		rc = rank_work(&r, &err);
	sw_comm_close(r.comm);
	/* All ranks know the trial's own errors. Its memory goes with the process. */
	return rc == SW_PEER_LOST || !r.comm ? complain(&r, err.msg) : 0;
}
