/*
 * tests/worker/comm/fake_nccl.c — a stand-in for libnccl.so.2: its symbols, for ranks of one machine,
 * which meet in a file that the unique id names. Sums are made in rank order when the stream comes
 * to them: a stream of the stand-in device (cuda_shim), recorded or not; without that device (a
 * stream NULL) within the call.
 *
 * What NCCL's rules forbid ends the process with a line: a call while the one before is in
 * progress or after an error, a type or an operation that is not meant, memory that is no device's,
 * sums in another order than the other ranks', an end without ncclCommFinalize.
 */
#include "tests/worker/comm/fake_nccl.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

#define RANKS 8
#define BYTES ((size_t)4 << 20) /* of a sum at most */

enum { FLOAT32 = 7, FLOAT64 = 8 };

enum { SUCCESS, INTERNAL = 3, IN_PROGRESS = 7 };

/* The device's and the test's; not there in a process without them. */
#pragma weak sw_fake_nccl
#pragma weak sw_shim_queue
#pragma weak sw_shim_on_device
#pragma weak sw_shim_launch_begin
#pragma weak sw_shim_look_at

struct member {
	atomic_uint here;
	atomic_ullong posted, taken; /* sums */
	unsigned long long hash;     /* of all sums up to the one that is posted */
	char data[BYTES] __attribute__((aligned(8)));
};

struct meeting {
	struct member member[RANKS];
};

struct id {
	char path[128];
};

struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

struct comm {
	struct meeting *at;
	int rank, world, error;
	unsigned waits; /* questions that are answered with "in progress" */
	unsigned long long hash;
	bool finalized, aborted, met;
	char path[128];
	struct comm *next; /* all that ever were: streams may still hold sums of them */
};

static struct comm *comms;
static struct sw_fake_nccl alone; /* in a process that has none */
#define fake (*(&sw_fake_nccl != NULL ? &sw_fake_nccl : &alone))

API int ncclGetVersion(int *version);
API int ncclGetUniqueId(struct id *id);
API int ncclCommInitRankConfig(struct comm **out, int world, struct id id, int rank,
			       const struct config *config);
API int ncclCommGetAsyncError(struct comm *c, int *state);
API int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c,
		      cudaStream_t stream);
API int ncclCommFinalize(struct comm *c);
API int ncclCommDestroy(struct comm *c);
API int ncclCommAbort(struct comm *c);
API const char *ncclGetErrorString(int result);
API const char *ncclGetLastError(struct comm *c);

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
	*version = 22809;
	return fails() ? INTERNAL : SUCCESS;
}

int ncclGetUniqueId(struct id *id)
{
	int fd;

	if (fails())
		return INTERNAL;
	memset(id, 0, sizeof *id);
	(void)snprintf(id->path, sizeof id->path, "/dev/shm/sweepd-fake-nccl-XXXXXX");
	fd = mkstemp(id->path);
	if (fd < 0 || ftruncate(fd, sizeof(struct meeting)) != 0)
		refuse("no file to meet in");
	close(fd);
	return SUCCESS;
}

int ncclCommInitRankConfig(struct comm **out, int world, struct id id, int rank,
			   const struct config *config)
{
	const int fd = open(id.path, O_RDWR | O_CLOEXEC);
	struct comm *c = calloc(1, sizeof *c);
	void *at;

	if (config->magic != 0xcafebeef || config->version < 21400 ||
	    config->size < sizeof *config || config->blocking != 0)
		refuse("a configuration that is none, or blocks");
	if (!getenv("NCCL_ALGO") || !getenv("NCCL_PROTO") || !getenv("NCCL_NVLS_ENABLE"))
		refuse("the order of sums is not pinned");
	if (world < 1 || world > RANKS || rank < 0 || rank >= world)
		refuse("rank %d of %d", rank, world);
	*out = NULL;
	/* without a file rank 0 has failed already: nobody will come */
	at = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE,
		  fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
	if (at == MAP_FAILED || !c)
		refuse("no memory to meet in");
	if (fd >= 0)
		close(fd);
	*c = (struct comm){.at = at, .rank = rank, .world = world, .waits = 2, .next = comms};
	memcpy(c->path, id.path, sizeof c->path);
	comms = c;
	*out = c;
	if (fails()) {
		c->error = INTERNAL;
		(void)unlink(c->path);
		return INTERNAL;
	}
	atomic_store(&c->at->member[rank].here, 1);
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
	if (c->aborted)
		refuse("ncclCommGetAsyncError after the end");
	if (fails())
		return INTERNAL;
	if (fake.stuck || (!c->met && !all_here(c))) {
		*state = IN_PROGRESS;
		return SUCCESS;
	}
	if (!c->met)
		(void)unlink(c->path); /* all have it */
	c->met = true;
	*state = c->error ? c->error : c->waits ? IN_PROGRESS : SUCCESS;
	c->waits -= c->waits > 0;
	return SUCCESS;
}

int ncclCommFinalize(struct comm *c)
{
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
	if (!c->finalized || c->waits)
		refuse("ncclCommDestroy before ncclCommFinalize is done");
	c->aborted = true;
	return SUCCESS;
}

int ncclCommAbort(struct comm *c)
{
	if (c->aborted)
		refuse("ncclCommAbort after the end");
	c->aborted = true;
	fake.aborts++;
	(void)unlink(c->path);
	return SUCCESS;
}

const char *ncclGetErrorString(int result)
{
	return result == INTERNAL ? "internal error" : "an error of the stand-in";
}

const char *ncclGetLastError(struct comm *c)
{
	(void)c;
	return "the stand-in was told to";
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
	memcpy(me->data, s->p, sum_bytes(s));
	atomic_store(&me->posted, k + 1);
	return true;
}

/* In rank order. */
#define ADD(type)                                                                                  \
	for (size_t i = 0; i < s->n; i++) {                                                        \
		type sum = ((const type *)(const void *)at->member[0].data)[i];                    \
                                                                                                   \
		for (int r = 1; r < s->c->world; r++)                                              \
			sum += ((const type *)(const void *)at->member[r].data)[i];                \
		((type *)s->p)[i] = sum;                                                           \
	}

static void sum_add(const struct sum *s)
{
	const struct meeting *at = s->c->at;

	if (s->type == FLOAT64)
		ADD(double)
	else
		ADD(float)
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

static bool sum_run(void *arg)
{
	struct sum *s = arg;
	const unsigned long long k = atomic_load(&s->c->at->member[s->c->rank].taken);

	if (s->c->aborted)
		return true;
	if (!s->posted && !sum_post(s, k))
		return false;
	s->posted = true;
	if (!sum_take(s, k))
		return false;
	s->posted = false; /* a recorded one comes again */
	fake.sums++;
	if (sw_shim_look_at) {
		sw_shim_launch_begin();
		sw_shim_look_at(s->p, sum_bytes(s), true);
	}
	return true;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c,
		  cudaStream_t stream)
{
	const struct timespec moment = {.tv_nsec = 100000};
	struct sum *s;

	ready(c, "ncclAllReduce");
	const struct sum asked = {.c = c, .p = to, .n = n, .type = type};

	if (from != to || n == 0 || sum_bytes(&asked) > BYTES ||
	    (type != FLOAT32 && type != FLOAT64) || op != 0)
		refuse("ncclAllReduce of %zu of type %d, operation %d", n, type, op);
	if ((stream != NULL) != (sw_shim_queue != NULL) ||
	    (stream && !sw_shim_on_device(to, sum_bytes(&asked))))
		refuse("ncclAllReduce of what is no device's memory or stream");
	if (fails()) {
		c->error = INTERNAL;
		return INTERNAL;
	}
	s = malloc(sizeof *s);
	if (!s)
		abort();
	*s = asked;
	fake.given++;
	c->waits = fake.given % 3; /* some are done at once */
	if (stream)
		return sw_shim_queue(stream, sum_run, s) != cudaSuccess ? 1
		       : c->waits                                       ? IN_PROGRESS
									: SUCCESS;
	while (!sum_run(s))
		nanosleep(&moment, NULL);
	free(s);
	return c->waits ? IN_PROGRESS : SUCCESS;
}
