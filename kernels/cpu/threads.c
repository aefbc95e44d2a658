#include "kernels/cpu/threads.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How often a helper looks for work before it sleeps: some tens of microseconds, about the time
 * between two entries of a step. */
#define LOOKS 4000

struct helper {
	size_t slot;
	unsigned begins; /* the call after which it begins */
};

static struct {
	pthread_mutex_t busy; /* held by the caller whose parts run */
	pthread_mutex_t lock; /* of what follows, but for the atomics */
	pthread_cond_t go, done;
	unsigned made; /* helpers, whose slots are 1 .. made */
	struct helper helper[SW_CPU_THREADS_MAX];
	unsigned helping;
	sw_cpu_part *run;
	void *ctx;
	size_t parts;
	atomic_size_t next;
	atomic_uint call; /* of the parts that run */
	atomic_uint left; /* helpers that have not finished them */
} pool = {
	.busy = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.go = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static unsigned threads = 1;

unsigned sw_cpu_threads(void)
{
	return threads;
}

void sw_cpu_threads_set(unsigned n)
{
	threads = n < 1 ? 1 : n > SW_CPU_THREADS_MAX ? SW_CPU_THREADS_MAX : n;
}

static void take_parts(size_t slot)
{
	size_t part;

	while ((part = atomic_fetch_add(&pool.next, 1)) < pool.parts)
		pool.run(pool.ctx, part, slot);
}

/* Looks for a while whether `seen` is still the call, then sleeps until it is not. */
static void await_call(unsigned seen)
{
	for (int i = 0; i < LOOKS; i++)
		if (atomic_load(&pool.call) != seen)
			return;
	pthread_mutex_lock(&pool.lock);
	while (atomic_load(&pool.call) == seen)
		pthread_cond_wait(&pool.go, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}

/* A call does not end before each of its helpers has had it: so none misses one of its own. */
static void *help(void *arg)
{
	const struct helper *me = arg;
	const size_t slot = me->slot;
	unsigned seen = me->begins;

	for (;;) {
		await_call(seen);
		pthread_mutex_lock(&pool.lock); /* sees what the caller wrote */
		seen = atomic_load(&pool.call);
		const bool mine = slot <= pool.helping;
		pthread_mutex_unlock(&pool.lock);
		if (!mine)
			continue;
		take_parts(slot);
		if (atomic_fetch_sub(&pool.left, 1) == 1) {
			pthread_mutex_lock(&pool.lock);
			pthread_cond_signal(&pool.done);
			pthread_mutex_unlock(&pool.lock);
		}
	}
	return NULL;
}

/* Helpers up to n, as many as the system gives; between calls. Returns how many there are. */
static unsigned helpers_make(unsigned n)
{
	while (pool.made < n) {
		struct helper *h = &pool.helper[pool.made];
		pthread_t thread;

		*h = (struct helper){pool.made + 1, atomic_load(&pool.call)};
		if (pthread_create(&thread, NULL, help, h) != 0)
			break;
		pthread_detach(thread);
		pool.made++;
	}
	return pool.made < n ? pool.made : n;
}

static void await_helpers(void)
{
	for (int i = 0; i < LOOKS; i++)
		if (atomic_load(&pool.left) == 0)
			return;
	pthread_mutex_lock(&pool.lock);
	while (atomic_load(&pool.left) != 0)
		pthread_cond_wait(&pool.done, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}

void sw_cpu_parallel(size_t parts, sw_cpu_part *run, void *ctx)
{
	if (threads == 1 || parts < 2 || pthread_mutex_trylock(&pool.busy) != 0) {
		for (size_t i = 0; i < parts; i++)
			run(ctx, i, 0);
		return;
	}
	const unsigned helping = helpers_make(threads - 1);

	pthread_mutex_lock(&pool.lock);
	pool.run = run;
	pool.ctx = ctx;
	pool.parts = parts;
	pool.helping = helping;
	atomic_store(&pool.next, 0);
	atomic_store(&pool.left, helping);
	atomic_fetch_add(&pool.call, 1);
	pthread_cond_broadcast(&pool.go);
	pthread_mutex_unlock(&pool.lock);
	take_parts(0);
	await_helpers();
	pthread_mutex_unlock(&pool.busy);
}
