#include "trainer/comm/nccl.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "trainer/comm/comm_internal.h"
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIBRARY "libnccl.so.2"
/* From 2.22.0 on communicators may be aborted in a group. */
#define OLDEST 22200

/* --- of nccl.h, as every version since 2.14 has it --- */

enum result { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { FLOAT32 = 7, FLOAT64 = 8, SUM = 0 };

struct id {
	char bytes[128];
};

/* Later versions fill in what lies behind, by the size and the version. */
struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};
#define MAGIC        0xcafebeef
#define VERSION_2_14 21400

struct calls {
	int (*version)(int *version);
	int (*unique_id)(struct id *id);
	int (*init)(void **comm, int world, struct id id, int rank, struct config *config);
	int (*state)(void *comm, int *state);
	int (*sum)(const void *from, void *to, size_t n, int type, int op, void *comm,
		   void *stream);
	int (*group_start)(void);
	int (*send)(const void *from, size_t n, int type, int peer, void *comm, void *stream);
	int (*receive)(void *to, size_t n, int type, int peer, void *comm, void *stream);
	int (*group_end)(void);
	int (*finalize)(void *comm);
	int (*destroy)(void *comm);
	int (*abort)(void *comm);
	const char *(*words)(int result);
	const char *(*last_error)(void *comm);
};

static const char *const symbols[] = {
	"ncclGetVersion",
	"ncclGetUniqueId",
	"ncclCommInitRankConfig",
	"ncclCommGetAsyncError",
	"ncclAllReduce",
	"ncclGroupStart",
	"ncclSend",
	"ncclRecv",
	"ncclGroupEnd",
	"ncclCommFinalize",
	"ncclCommDestroy",
	"ncclCommAbort",
	"ncclGetErrorString",
	"ncclGetLastError",
};
#define SYMBOLS (sizeof symbols / sizeof symbols[0])
_Static_assert(sizeof(struct calls) == SYMBOLS * sizeof(void (*)(void)), "a symbol is a call");

/* The first two fix the order of a sum, for which more than two ranks leave a choice. The others
 * are for ranks of one machine: no other interface, which a firewall may guard, no registering of
 * buffers that a graph has, which fails for some, and no InfiniBand or plugin, which need not work
 * or be there. A user's own value counts, and of the last two each for both: a network that a
 * plugin has is named by NCCL_NET. */
static const struct {
	const char *name, *value;
	unsigned above; /* so many ranks */
	bool net;       /* chooses the network */
} settings[] = {{"NCCL_ALGO", "Ring", 2, false},        {"NCCL_NVLS_ENABLE", "0", 2, false},
		{"NCCL_SOCKET_IFNAME", "lo", 0, false}, {"NCCL_GRAPH_REGISTER", "0", 0, false},
		{"NCCL_NET", "Socket", 0, true},        {"NCCL_NET_PLUGIN", "none", 0, true}};
#define SETTINGS (sizeof settings / sizeof settings[0])

/* Of all ranks, and of this rank's group, where that is another. */
enum { ALL, GROUP, COMMS };

struct sw_nccl {
	struct sw_comm *c;
	struct calls call;
	void *comm[COMMS]; /* NULL: none, or aborted */
	int version;
	void *aborted[COMMS]; /* the thread's */
	pthread_t thread;
	sem_t go;    /* it waits for this */
	bool aborts; /* it has begun; false: it has nothing to do */
};

/* --- what it says --- */

static sw_status status_of(int result)
{
	switch (result) {
	case SUCCESS:
		return SW_OK;
	case CUDA_ERROR:
		return SW_DEVICE_LOST;
	case SYSTEM_ERROR:
		return SW_IO;
	case REMOTE_ERROR:
		return SW_PEER_LOST;
	default:
		return SW_INTERNAL;
	}
}

/* Ends the comm, unless something did; what stands. */
static sw_status failed(struct sw_nccl *n, const char *symbol, int result, int which)
{
	const char *more = n->comm[which] ? n->call.last_error(n->comm[which]) : NULL;
	/* NCCL passes on what CUDA says of a recording that another thread has spoiled, and is
	 * good for nothing then (groupCleanup of its src/group.cc); the device is. */
	const bool spoiled = result == CUDA_ERROR && n->c->records;
	char line[sizeof n->c->all->why];

	(void)snprintf(line, sizeof line, "%s%s: %s%s%s", spoiled ? "in a recording, " : "", symbol,
		       n->call.words(result), more && *more ? ": " : "", more ? more : "");
	sw_comm_give_up(n->c, spoiled ? SW_BUSY : status_of(result), line);
	return comm_failed(n->c);
}

/* Until the call that said result is done. Only then may the next one be made. */
static sw_status await(struct sw_nccl *n, const char *symbol, int result, int which)
{
	const struct timespec moment = {.tv_nsec = 100000};
	const int64_t end_us = sw_clock_mono_us() + 8 * COMM_LIMIT_US;

	while (result == IN_PROGRESS) {
		if (sw_comm_look(n->c) != SW_OK)
			return comm_failed(n->c);
		const int asked = n->call.state(n->comm[which], &result);

		if (asked != SUCCESS)
			result = asked;
		if (result != IN_PROGRESS)
			break;
		if (sw_clock_mono_us() > end_us)
			return comm_fail(n->c, SW_PEER_LOST,
					 "NCCL does not get done: start sweepd with "
					 "NCCL_DEBUG=INFO, and worker-N.log in its state "
					 "directory says what it waits for");
		(void)nanosleep(&moment, NULL);
	}
	return result == SUCCESS ? comm_failed(n->c) : failed(n, symbol, result, which);
}

/* --- beginning and end --- */

unsigned sw_nccl_set(unsigned world)
{
	const bool net = getenv("NCCL_NET") || getenv("NCCL_NET_PLUGIN");
	unsigned set = 0;

	for (unsigned i = 0; i < SETTINGS; i++)
		if (world > settings[i].above && !(net && settings[i].net) &&
		    getenv(settings[i].name) == NULL &&
		    setenv(settings[i].name, settings[i].value, 0) == 0)
			set |= 1u << i;
	return set;
}

void sw_nccl_unset(unsigned set)
{
	for (unsigned i = 0; i < SETTINGS; i++)
		if (set & 1u << i)
			(void)unsetenv(settings[i].name);
}

static sw_status load_library(struct sw_nccl *n, struct sw_err *err)
{
	/* never closed: threads of it may end after their comm */
	void *at[SYMBOLS], *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		return sw_err_set(err, SW_UNSUPPORTED, "several GPUs in one trial need NCCL: %s",
				  dlerror());
	for (size_t i = 0; i < SYMBOLS; i++) {
		at[i] = dlsym(library, symbols[i]);
		if (at[i] == NULL)
			return sw_err_set(err, SW_UNSUPPORTED, LIBRARY " has no %s", symbols[i]);
	}
	/* POSIX's way around ISO C, which knows no conversion from object to function pointer. */
	memcpy(&n->call, at, sizeof at);
	return SW_OK;
}

/* The id that rank `from` has drawn, for all. */
static sw_status id_share(struct sw_nccl *n, unsigned from, struct id *id)
{
	const int result = n->c->rank == from ? n->call.unique_id(id) : SUCCESS;

	if (result != SUCCESS)
		return failed(n, "ncclGetUniqueId", result, ALL);
	return sw_comm_broadcast(n->c, from, id, sizeof *id);
}

static sw_status init(struct sw_nccl *n, int which, const struct id *id, unsigned world,
		      unsigned rank)
{
	struct config config = {
		.size = sizeof config, .magic = MAGIC, .version = VERSION_2_14, .blocking = 0};

	return await(n, "ncclCommInitRankConfig",
		     n->call.init(&n->comm[which], (int)world, *id, (int)rank, &config), which);
}

static size_t version_write(const struct sw_nccl *n, char *text, size_t cap)
{
	return (size_t)snprintf(text, cap, "NCCL %d.%d.%d", n->version / 10000,
				n->version / 100 % 100, n->version % 100);
}

static sw_status too_old(struct sw_nccl *n)
{
	char is[40], line[120];

	(void)version_write(n, is, sizeof is);
	(void)snprintf(line, sizeof line,
		       "several GPUs in one trial need NCCL 2.22 or later; " LIBRARY " is of %s",
		       is);
	sw_comm_give_up(n->c, SW_UNSUPPORTED, line);
	return comm_failed(n->c);
}

static sw_status meet(struct sw_nccl *n)
{
	const unsigned groups = n->c->groups, world = n->c->all->world, rank = n->c->rank;
	struct id id = {{0}}, mine = id;
	const int result = n->call.version(&n->version);
	sw_status rc;

	assert(groups >= 1);
	if (result != SUCCESS)
		return failed(n, "ncclGetVersion", result, ALL);
	if (n->version < OLDEST)
		return too_old(n);
	rc = id_share(n, 0, &id);
	if (rc == SW_OK)
		rc = init(n, ALL, &id, world, rank);
	if (groups == 1 || groups == world)
		return rc;
	/* A broadcast is a call of all ranks: each takes part in that of each group, and keeps its
	 * own group's id. */
	for (unsigned g = 0; rc == SW_OK && g < groups; g++) {
		rc = id_share(n, g, &id);
		if (g == rank % groups)
			mine = id;
	}
	return rc == SW_OK ? init(n, GROUP, &mine, world / groups, rank / groups) : rc;
}

/* By a thread: the end of a communicator waits for that of all graphs with calls of it, which the
 * caller has. Both in one group: one's end waits for the device, where the other's work may wait
 * for a rank that is gone. */
static void *abort_both(void *arg)
{
	struct sw_nccl *n = arg;
	bool group;

	while (sem_wait(&n->go) != 0)
		;
	if (!n->aborts)
		return NULL;
	group = n->call.group_start() == SUCCESS;
	for (int i = 0; i < COMMS; i++)
		if (n->aborted[i])
			(void)n->call.abort(n->aborted[i]); /* which frees it, too */
	if (group)
		(void)n->call.group_end();
	return NULL;
}

sw_status sw_nccl_open(struct sw_nccl **out, struct sw_comm *c, struct sw_err *err)
{
	struct sw_nccl *n = sw_calloc(1, sizeof *n);
	struct sw_err why = SW_ERR_INIT;
	sw_status rc;

	*out = NULL;
	if (n == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for what a rank keeps of NCCL");
	n->c = c;
	(void)sem_init(&n->go, 0, 0);
	if (pthread_create(&n->thread, NULL, abort_both, n) != 0) { /* later is too late */
		free(n);
		return sw_err_set(err, SW_BUSY, "no thread for the end of NCCL");
	}
	rc = load_library(n, &why);
	if (rc != SW_OK)
		sw_comm_give_up(c, rc, why.msg); /* the others would wait for this rank */
	else
		rc = meet(n);
	if (rc != SW_OK) {
		(void)sw_err_set(err, rc, "%s", sw_comm_why(c));
		sw_nccl_close(n);
		return rc;
	}
	*out = n;
	return SW_OK;
}

void sw_nccl_abort(struct sw_nccl *n)
{
	/* Called by this rank's thread alone, at each look at an error: the first time counts. */
	if (n == NULL || (n->comm[ALL] == NULL && n->comm[GROUP] == NULL))
		return; /* there is nothing to abort, or it is begun */
	/* Out of reach before the thread begins: no call of this rank uses a communicator that is
	 * being aborted. */
	memcpy(n->aborted, n->comm, sizeof n->aborted);
	memset(n->comm, 0, sizeof n->comm);
	n->aborts = true;
	(void)sem_post(&n->go);
}

static bool abort_is_done(struct sw_nccl *n)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	const int64_t end_us = sw_clock_mono_us() + COMM_LIMIT_US;

	while (pthread_tryjoin_np(n->thread, NULL) != 0) {
		if (sw_clock_mono_us() > end_us)
			return false;
		sw_beat();
		(void)nanosleep(&moment, NULL);
	}
	return true;
}

/* In order when all went well: then no rank waits for another. */
void sw_nccl_close(struct sw_nccl *n)
{
	if (n == NULL)
		return;
	/* After an error none is finalized: that would wait for ranks that are gone. */
	for (int i = COMMS; i-- > 0 && comm_failed(n->c) == SW_OK;) {
		void *comm = n->comm[i];

		if (comm == NULL ||
		    await(n, "ncclCommFinalize", n->call.finalize(comm), i) != SW_OK)
			continue;
		(void)n->call.destroy(comm);
		n->comm[i] = NULL;
	}
	sw_nccl_abort(n);
	/* The thread waits for a word in either case, and is joined. */
	if (!n->aborts)
		(void)sem_post(&n->go);
	if (!abort_is_done(n)) {
		n->c->stuck = true; /* n is the thread's for good */
		return;
	}
	(void)sem_destroy(&n->go);
	free(n);
}

/* --- what streams do --- */

static sw_status sum_of(struct sw_nccl *n, void *stream, void *p, size_t count, int type, int which)
{
	if (comm_failed(n->c) != SW_OK || count == 0 || n->comm[which] == NULL) /* of one rank */
		return comm_failed(n->c);
	return await(n, "ncclAllReduce",
		     n->call.sum(p, p, count, type, SUM, n->comm[which], stream), which);
}

sw_status sw_nccl_sum(struct sw_nccl *n, void *stream, float *p, size_t count)
{
	return sum_of(n, stream, p, count, FLOAT32, n->c->groups == 1 ? ALL : GROUP);
}

sw_status sw_nccl_sum_f64(struct sw_nccl *n, void *stream, double *p, size_t count)
{
	return sum_of(n, stream, p, count, FLOAT64, ALL);
}

/* In a group: else each of two ranks that send first would wait for the other to receive. */
sw_status sw_nccl_exchange(struct sw_nccl *n, void *stream, unsigned peer, const float *out,
			   size_t out_n, float *in, size_t in_n)
{
	const char *symbol = "ncclGroupStart";
	int result, ended;

	if (comm_failed(n->c) != SW_OK || (out_n == 0 && in_n == 0))
		return comm_failed(n->c);
	result = n->call.group_start();
	if (result != SUCCESS)
		return failed(n, symbol, result, ALL);
	if (out_n > 0) {
		symbol = "ncclSend";
		result = n->call.send(out, out_n, FLOAT32, (int)peer, n->comm[ALL], stream);
	}
	if (in_n > 0 && (result == SUCCESS || result == IN_PROGRESS)) {
		symbol = "ncclRecv";
		result = n->call.receive(in, in_n, FLOAT32, (int)peer, n->comm[ALL], stream);
	}
	ended = n->call.group_end(); /* after an error, too */
	if (result != SUCCESS && result != IN_PROGRESS)
		return failed(n, symbol, result, ALL);
	return await(n, "ncclGroupEnd", ended, ALL);
}

void sw_nccl_look(struct sw_nccl *n)
{
	for (int i = 0; i < COMMS; i++) {
		int state = SUCCESS;

		if (n->comm[i] == NULL)
			continue;
		const int asked = n->call.state(n->comm[i], &state);

		if (asked != SUCCESS || (state != SUCCESS && state != IN_PROGRESS))
			(void)failed(n, "ncclCommGetAsyncError", asked != SUCCESS ? asked : state,
				     i);
	}
}

void sw_nccl_describe(const struct sw_nccl *n, char *text, size_t cap)
{
	size_t at = version_write(n, text, cap);

	for (size_t i = 0; i < SETTINGS && at < cap; i++) {
		const char *value = getenv(settings[i].name);

		if (value)
			at += (size_t)snprintf(text + at, cap - at, ", %s=%s", settings[i].name,
					       value);
	}
}
