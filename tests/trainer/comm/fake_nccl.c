/*
 * tests/trainer/comm/fake_nccl.c — a stand-in for libnccl.so.2: its symbols, for ranks of one
 * process, which meet in memory that the unique id names. Sums are made in rank order, and a
 * group's sends and receives together, when the stream comes to them: a stream of the stand-in
 * device (cuda_shim), recorded or not; without that device (a stream NULL) within the call. A send
 * is done when it was received: NCCL keeps to no more. With SWEEPD_FAKE_NCCL_WRONG in the
 * environment, N, a number of the Nth sum of floats and of all later ones is wrong;
 * SWEEPD_FAKE_NCCL_VERSION is what it is. Where the way between devices is dead (told by the test)
 * a sum never comes, and no call says so.
 *
 * An abort is as NCCL's (src/init.cc, commReclaim, of 2.22 to 2.28): at once the device leaves what
 * it was given. Then the caller, or in a group its end, waits until no graph is left that has
 * recorded a call of the communicator, and to give its memory back until the device does nothing:
 * so for work of another one that waits for a rank, too.
 *
 * What NCCL's rules forbid ends the process with a line: a call while the one before is in
 * progress or after an error, a type or an operation that is not meant, memory that is no device's,
 * sums in another order than the other ranks', a receive of another size than its send, a peer that
 * there is not, an end without ncclCommFinalize. So does what NCCL allows and nothing here means: a
 * send without a group, a group in a group, of nothing, of two streams, or with another call in it.
 */
#include "tests/trainer/comm/fake_nccl.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- the part of nccl.h that there is, as NCCL 2.14 declares it --- */

#define API __attribute__((visibility("default")))

enum { SUCCESS, CUDA_ERROR, INTERNAL = 3, INVALID_USAGE = 5, IN_PROGRESS = 7 };

struct id {
	char bytes[128];
};

struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

struct comm;

API int ncclGetVersion(int *version);
API int ncclGetUniqueId(struct id *id);
API int ncclCommInitRankConfig(struct comm **out, int world, struct id id, int rank,
			       const struct config *config);
API int ncclCommGetAsyncError(struct comm *c, int *state);
API int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c,
		      cudaStream_t stream);
API int ncclGroupStart(void);
API int ncclSend(const void *from, size_t n, int type, int peer, struct comm *c,
		 cudaStream_t stream);
API int ncclRecv(void *to, size_t n, int type, int peer, struct comm *c, cudaStream_t stream);
API int ncclGroupEnd(void);
API int ncclCommFinalize(struct comm *c);
API int ncclCommDestroy(struct comm *c);
API int ncclCommAbort(struct comm *c);
API const char *ncclGetErrorString(int result);
API const char *ncclGetLastError(struct comm *c);

/* --- ranks, and what they meet in --- */

#define RANKS 8
#define MOVES 8 /* of a group */

enum { FLOAT32 = 7, FLOAT64 = 8 };

/* The device's and the test's; not there in a process without them. */
#pragma weak sw_fake_nccl_own
#pragma weak sw_shim_queue
#pragma weak sw_shim_on_device
#pragma weak sw_shim_launch_begin
#pragma weak sw_shim_look_at
#pragma weak sw_shim_graphs
#pragma weak sw_shim_spoiled

struct member {
	atomic_bool here;
	atomic_ullong posted, taken; /* sums */
	unsigned long long hash;     /* of all sums up to the one that is posted */
	void *data;
};

/* What one rank sends to another, one at a time. */
struct lane {
	atomic_ullong sent, taken;
	size_t n;
	float *data;
};

struct meeting {
	struct member member[RANKS];
	struct lane lane[RANKS][RANKS]; /* [from][to] */
	struct meeting *next;           /* all that ever were */
};

struct comm {
	struct meeting *at;
	int rank, world, error;
	struct sw_fake_nccl *of; /* its rank's, for the thread that aborts it, too */
	unsigned waits;          /* questions that are answered with "in progress" */
	unsigned floats;         /* sums of these that were made */
	unsigned long long hash;
	bool finalized, met, recorded;
	atomic_bool aborted, stuck; /* stuck: on the device, where it waits for another rank */
	struct comm *next;          /* all that ever were: streams may still hold sums of them */
};

static struct comm *comms;
static struct meeting *meetings;
static struct sw_fake_nccl alone; /* of a thread that has none */
#define fake (*fake_of_rank())

static struct sw_fake_nccl *fake_of_rank(void)
{
	struct sw_fake_nccl *own = sw_fake_nccl_own ? sw_fake_nccl_own() : NULL;

	return own ? own : &alone;
}

__attribute__((format(printf, 1, 2), noreturn)) static void refuse(const char *fmt, ...)
{
	va_list args;

	fputs("nccl stand-in: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

/* Whether this call was to fail. */
static bool fails(void)
{
	fake.calls++;
	if (fake.fail_at == 0 || --fake.fail_at > 0)
		return false;
	fake.fired = true;
	return true;
}

struct move {
	float *p;
	size_t n;
	int peer;
	bool send, posted, done;
	unsigned long long k; /* a send's number in its lane */
};

struct group {
	struct comm *c;
	unsigned n;
	struct move move[MOVES];
};

/* That is being said, by this thread. */
static _Thread_local struct {
	bool open, failed;
	struct comm *aborts[2];
	unsigned aborts_n;
	cudaStream_t stream;
	struct group of;
} now;

static void outside(const char *symbol)
{
	if (now.open)
		refuse("%s in a group", symbol);
}

static void ready(const struct comm *c, const char *symbol)
{
	if (c->aborted || c->finalized)
		refuse("%s after the end", symbol);
	if (c->error)
		refuse("%s after an error", symbol);
	if (c->waits || !c->met)
		refuse("%s while a call is in progress", symbol);
}

/* --- beginning and end --- */

int ncclGetVersion(int *version)
{
	const char *given = getenv("SWEEPD_FAKE_NCCL_VERSION");

	*version = fake.version ? fake.version : given ? atoi(given) : 22809;
	return fails() ? INTERNAL : SUCCESS;
}

/* A copy, until the next one; NULL: none. */
static void keep(void *kept, const void *data, size_t bytes)
{
	void **at = kept;

	free(*at);
	*at = malloc(bytes);
	if (!*at)
		abort();
	memcpy(*at, data, bytes);
}

int ncclGetUniqueId(struct id *id)
{
	struct meeting *at;

	outside("ncclGetUniqueId");
	if (fails())
		return INTERNAL;
	at = calloc(1, sizeof *at);
	if (!at)
		abort();
	at->next = meetings;
	meetings = at;
	memset(id, 0, sizeof *id);
	memcpy(id, &at, sizeof at);
	return SUCCESS;
}

/* Ranks that share a card (tests/fake/one_card.c): from 2.30 on NCCL takes them where it is told to
 * (src/init.cc). */
static bool may_share(void)
{
	const char *version = getenv("SWEEPD_FAKE_NCCL_VERSION");
	const char *told = getenv("NCCL_MULTI_RANK_GPU_ENABLE");

	return !getenv("SWEEPD_ONE_CARD") ||
	       (version && atoi(version) >= 23000 && told && strcmp(told, "1") == 0);
}

int ncclCommInitRankConfig(struct comm **out, int world, struct id id, int rank,
			   const struct config *config)
{
	struct comm *c = calloc(1, sizeof *c);

	outside("ncclCommInitRankConfig");
	if (config->magic != 0xcafebeef || config->version < 21400 ||
	    config->size < sizeof *config || config->blocking != 0)
		refuse("a configuration that is none, or blocks");
	if (world > 2 && (!getenv("NCCL_ALGO") || !getenv("NCCL_NVLS_ENABLE")))
		refuse("the order of sums is not pinned");
	if (!getenv("NCCL_SOCKET_IFNAME") || !getenv("NCCL_GRAPH_REGISTER") ||
	    (!getenv("NCCL_NET") && !getenv("NCCL_NET_PLUGIN")))
		refuse("the way to ranks of this machine, or what graphs may register, is not "
		       "said");
	if (world < 1 || world > RANKS || rank < 0 || rank >= world)
		refuse("rank %d of %d", rank, world);
	*out = NULL;
	if (!c)
		abort();
	*c = (struct comm){.rank = rank, .world = world, .waits = 2, .of = &fake, .next = comms};
	memcpy(&c->at, &id, sizeof c->at);
	comms = c;
	fake.begun++;
	*out = c;
	c->error = world > 1 && !may_share() ? INVALID_USAGE : fails() ? INTERNAL : SUCCESS;
	if (c->error)
		return c->error;
	atomic_store(&c->at->member[rank].here, true);
	return IN_PROGRESS;
}

static bool all_here(const struct comm *c)
{
	for (int r = 0; r < c->world; r++)
		if (!atomic_load(&c->at->member[r].here))
			return false;
	return true;
}

int ncclCommGetAsyncError(struct comm *c, int *state)
{
	outside("ncclCommGetAsyncError");
	if (c->aborted)
		refuse("ncclCommGetAsyncError after the end");
	if (!(fake.idle_passes && c->met && !c->waits) && fails()) {
		*state = c->error = INTERNAL; /* the question is answered; the answer is an error */
		return SUCCESS;
	}
	if (fake.stuck || (!c->met && !all_here(c))) {
		*state = IN_PROGRESS;
		return SUCCESS;
	}
	c->met = true;
	*state = c->error ? c->error : c->waits ? IN_PROGRESS : SUCCESS;
	c->waits -= c->waits > 0;
	return SUCCESS;
}

int ncclCommFinalize(struct comm *c)
{
	outside("ncclCommFinalize");
	ready(c, "ncclCommFinalize");
	c->finalized = true;
	c->waits = 1;
	if (fails()) {
		c->error = INTERNAL;
		return INTERNAL;
	}
	return IN_PROGRESS;
}

int ncclCommDestroy(struct comm *c)
{
	outside("ncclCommDestroy");
	if (!c->finalized || c->waits)
		refuse("ncclCommDestroy before ncclCommFinalize is done");
	c->aborted = true;
	fake.ends++;
	return SUCCESS;
}

/* Whether the device does work of another communicator of the rank's that waits for a rank. */
static bool others_are_stuck(const struct comm *c)
{
	for (const struct comm *o = comms; o; o = o->next)
		if (o != c && o->of == c->of && o->stuck && !o->aborted)
			return true;
	return false;
}

static void comm_reclaim(struct comm *c)
{
	struct timespec moment = {.tv_sec = c->of->abort_ms / 1000,
				  .tv_nsec = c->of->abort_ms % 1000 * 1000000L};

	(void)nanosleep(&moment, NULL);
	moment = (struct timespec){.tv_nsec = 100000};
	while ((c->recorded && sw_shim_graphs > 0) || others_are_stuck(c))
		(void)nanosleep(&moment, NULL);
	c->of->aborts++;
}

int ncclCommAbort(struct comm *c)
{
	if (now.open && (now.of.c || now.aborts_n == 2))
		refuse("ncclCommAbort in a group of other calls, or of too many");
	if (c->aborted)
		refuse("ncclCommAbort after the end");
	c->aborted = true;
	if (now.open)
		now.aborts[now.aborts_n++] = c;
	else
		comm_reclaim(c);
	return SUCCESS;
}

const char *ncclGetErrorString(int result)
{
	return result == INTERNAL        ? "internal error"
	       : result == INVALID_USAGE ? "invalid usage"
					 : "an error of the stand-in";
}

const char *ncclGetLastError(struct comm *c)
{
	(void)c;
	return "the stand-in was told to";
}

/* --- what streams do --- */

static void on_device(const char *symbol, const void *p, size_t bytes, cudaStream_t stream)
{
	if ((stream != NULL) != (sw_shim_queue != NULL) || (stream && !sw_shim_on_device(p, bytes)))
		refuse("%s of what is no device's memory or stream", symbol);
}

/* Gives arg to the stream, or runs it now. */
static int give(struct comm *c, cudaStream_t stream, bool (*run)(void *), const void *arg,
		size_t bytes)
{
	const struct timespec moment = {.tv_nsec = 100000};
	void *own = malloc(bytes);

	if (!own)
		abort();
	memcpy(own, arg, bytes);
	fake.given++;
	if (stream && sw_shim_spoiled(stream)) { /* CUDA's error is the communicator's end */
		free(own);
		return c->error = CUDA_ERROR;
	}
	c->waits = fake.given % 3; /* some are done at once */
	c->recorded |= stream && stream->graph;
	if (stream && sw_shim_queue(stream, run, own) != cudaSuccess)
		return 1;
	while (!stream && !run(own))
		nanosleep(&moment, NULL);
	if (!stream)
		free(own);
	return c->waits ? IN_PROGRESS : SUCCESS;
}

/* --- sums --- */

struct sum {
	struct comm *c;
	void *p;
	size_t n;
	int type;
	bool posted;
};

static size_t sum_bytes(const struct sum *s)
{
	return s->n * (s->type == FLOAT64 ? sizeof(double) : sizeof(float));
}

/* Number k of this rank's sums. false: not all others have read the one before. */
static bool sum_post(const struct sum *s, unsigned long long k)
{
	struct comm *c = s->c;
	struct member *me = &c->at->member[c->rank];

	for (int r = 0; r < c->world; r++)
		if (atomic_load(&c->at->member[r].taken) < k)
			return false;
	c->hash = (c->hash ^ s->n ^ (unsigned long long)s->type << 32) * 0x100000001b3u + 1;
	me->hash = c->hash;
	keep(&me->data, s->p, sum_bytes(s));
	atomic_store(&me->posted, k + 1);
	return true;
}

/* In rank order. */
#define ADD(type)                                                                                  \
	for (size_t i = 0; i < s->n; i++) {                                                        \
		type sum = ((const type *)at->member[0].data)[i];                                  \
                                                                                                   \
		for (int r = 1; r < s->c->world; r++)                                              \
			sum += ((const type *)at->member[r].data)[i];                              \
		((type *)s->p)[i] = sum;                                                           \
	}

static void sum_add(const struct sum *s)
{
	const struct meeting *at = s->c->at;

	if (s->type == FLOAT64)
		ADD(double)
	else
		ADD(float)
	const char *wrong = getenv("SWEEPD_FAKE_NCCL_WRONG");
	struct sw_fake_nccl *of = s->c->of;
	const bool now_wrong = of->wrong_at && --of->wrong_at == 0;

	const size_t i = s->n > 7 ? 7 : s->n - 1;

	if (s->type == FLOAT64 && now_wrong)
		((double *)s->p)[i] += 1;
	else if (s->type != FLOAT64 &&
		 (now_wrong || (wrong && ++s->c->floats >= (unsigned)atoi(wrong))))
		((float *)s->p)[i] += 0.5f;
}

static bool sum_take(const struct sum *s, unsigned long long k)
{
	struct comm *c = s->c;

	for (int r = 0; r < c->world; r++)
		if (atomic_load(&c->at->member[r].posted) < k + 1)
			return false;
	for (int r = 0; r < c->world; r++)
		if (c->at->member[r].hash != c->hash)
			refuse("sum %llu of rank %d, %zu of type %d, is not that of rank %d", k,
			       c->rank, s->n, s->type, r);
	sum_add(s);
	atomic_store(&c->at->member[c->rank].taken, k + 1);
	return true;
}

static bool sum_step(struct sum *s)
{
	const unsigned long long k = atomic_load(&s->c->at->member[s->c->rank].taken);

	if (s->c->aborted)
		return true;
	if (s->c->of->dead)
		return false;
	if (!s->posted && !sum_post(s, k))
		return false;
	s->posted = true;
	if (!sum_take(s, k))
		return false;
	s->posted = false; /* a recorded one comes again */
	s->c->of->sums++;
	if (sw_shim_look_at) {
		sw_shim_launch_begin();
		sw_shim_look_at(s->p, sum_bytes(s), true);
	}
	return true;
}

static bool sum_run(void *arg)
{
	struct sum *s = arg;
	const bool done = sum_step(s);

	s->c->stuck = !done;
	return done;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c,
		  cudaStream_t stream)
{
	outside("ncclAllReduce");
	ready(c, "ncclAllReduce");
	const struct sum asked = {.c = c, .p = to, .n = n, .type = type};

	if (from != to || n == 0 || (type != FLOAT32 && type != FLOAT64) || op != 0)
		refuse("ncclAllReduce of %zu of type %d, operation %d", n, type, op);
	on_device("ncclAllReduce", to, sum_bytes(&asked), stream);
	if (fails()) {
		c->error = INTERNAL;
		return INTERNAL;
	}
	return give(c, stream, sum_run, &asked, sizeof asked);
}

/* --- groups --- */

static bool send_run(struct lane *l, struct move *m)
{
	if (!m->posted) {
		m->k = atomic_load(&l->sent);
		if (atomic_load(&l->taken) < m->k) /* one before it is on its way */
			return false;
		l->n = m->n;
		keep(&l->data, m->p, m->n * sizeof *m->p);
		atomic_store(&l->sent, m->k + 1);
		m->posted = true;
	}
	return atomic_load(&l->taken) > m->k;
}

static bool receive_run(struct lane *l, const struct move *m, int rank)
{
	const unsigned long long k = atomic_load(&l->taken);

	if (atomic_load(&l->sent) == k)
		return false;
	if (l->n != m->n)
		refuse("receive %llu of rank %d from rank %d is of %zu floats, its send of %zu", k,
		       rank, m->peer, m->n, l->n);
	memcpy(m->p, l->data, m->n * sizeof *m->p);
	atomic_store(&l->taken, k + 1);
	return true;
}

static bool group_step(struct group *g)
{
	struct meeting *at = g->c->at;
	const int rank = g->c->rank;
	bool done = true;

	for (unsigned i = 0; i < g->n && !g->c->aborted; i++) {
		struct move *m = &g->move[i];

		if (!m->done)
			m->done = m->send ? send_run(&at->lane[rank][m->peer], m)
					  : receive_run(&at->lane[m->peer][rank], m, rank);
		done = done && m->done;
	}
	if (g->c->aborted || !done)
		return g->c->aborted;
	if (sw_shim_look_at)
		sw_shim_launch_begin();
	for (unsigned i = 0; i < g->n; i++) {
		struct move *m = &g->move[i];

		m->posted = m->done = false; /* a recorded one comes again */
		if (sw_shim_look_at)
			sw_shim_look_at(m->p, m->n * sizeof *m->p, !m->send);
	}
	g->c->of->moves += g->n;
	return true;
}

static bool group_run(void *arg)
{
	struct group *g = arg;
	const bool done = group_step(g);

	g->c->stuck = !done;
	return done;
}

int ncclGroupStart(void)
{
	outside("ncclGroupStart");
	if (fails())
		return INTERNAL;
	now.open = fake.in_group = true;
	now.failed = false;
	now.aborts_n = 0;
	now.of = (struct group){0};
	return SUCCESS;
}

static int move_say(const char *symbol, struct move m, int type, struct comm *c,
		    cudaStream_t stream)
{
	if (!now.open || now.aborts_n)
		refuse("%s without a group", symbol);
	ready(c, symbol);
	if (m.n == 0 || type != FLOAT32)
		refuse("%s of %zu of type %d", symbol, m.n, type);
	if (m.peer < 0 || m.peer >= c->world || m.peer == c->rank)
		refuse("%s of rank %d of %d with rank %d", symbol, c->rank, c->world, m.peer);
	on_device(symbol, m.p, m.n * sizeof *m.p, stream);
	if (now.of.n == MOVES || (now.of.n && (now.of.c != c || now.stream != stream)))
		refuse("%s: a group of too many, or of two communicators or streams", symbol);
	now.of.c = c;
	now.stream = stream;
	if (fails()) {
		c->error = INTERNAL;
		now.failed = true;
		return INTERNAL;
	}
	now.of.move[now.of.n++] = m;
	return SUCCESS;
}

int ncclSend(const void *from, size_t n, int type, int peer, struct comm *c, cudaStream_t stream)
{
	const struct move m = {.p = (float *)(uintptr_t)from, .n = n, .peer = peer, .send = true};

	return move_say("ncclSend", m, type, c, stream);
}

int ncclRecv(void *to, size_t n, int type, int peer, struct comm *c, cudaStream_t stream)
{
	return move_say("ncclRecv", (struct move){.p = to, .n = n, .peer = peer}, type, c, stream);
}

int ncclGroupEnd(void)
{
	if (!now.open)
		refuse("ncclGroupEnd without a group");
	now.open = fake.in_group = false;
	for (unsigned i = 0; i < now.aborts_n; i++) /* NCCL does so at once, in threads */
		comm_reclaim(now.aborts[i]);
	if (now.aborts_n)
		return SUCCESS;
	if (!now.of.c)
		refuse("a group of nothing");
	if (now.failed)
		return INTERNAL;
	if (fails()) {
		now.of.c->error = INTERNAL;
		return INTERNAL;
	}
	return give(now.of.c, now.stream, group_run, &now.of, sizeof now.of);
}
