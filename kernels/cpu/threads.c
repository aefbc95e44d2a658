#include "kernels/cpu/threads.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* How often one looks for work, or for its end, before it sleeps: 2.4 us on a Zen 4. */
#define LOOKS 4000

/* Parts of a call that nobody has taken, and the helpers that may: both change at once. So a helper
 * that comes late takes what there is then, or nothing. */
#define OFFER(helpers, parts) ((uint64_t)(helpers) << 32 | (parts))
#define OFFER_PARTS(offer)    ((uint32_t)(offer))
#define OFFER_HELPERS(offer)  ((offer) >> 32)

static struct {
	pthread_mutex_t busy; /* held by the caller whose parts run */
	pthread_mutex_t lock; /* of those who sleep */
	pthread_cond_t go, done;
	unsigned made; /* helpers, whose slots are 1 .. made */
	size_t slot[SW_CPU_THREADS_MAX];
	/* of the call: they hold for whoever has a part of it */
	sw_cpu_part *run;
	void *ctx;
	size_t parts;
	_Atomic uint64_t offer;
	atomic_size_t left; /* parts that are not done */
	atomic_uint asleep; /* helpers */
	/* see way_judge() */
	int64_t began, since, until, best[2]; /* ns */
	int calls, turn;
	bool pays;
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

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool offered(size_t slot)
{
	const uint64_t offer = atomic_load(&pool.offer);

	return OFFER_PARTS(offer) != 0 && slot <= OFFER_HELPERS(offer);
}

static void take_parts(size_t slot)
{
	uint64_t offer = atomic_load(&pool.offer);

	while (OFFER_PARTS(offer) != 0 && slot <= OFFER_HELPERS(offer)) {
		if (!atomic_compare_exchange_weak(&pool.offer, &offer, offer - 1))
			continue;
		pool.run(pool.ctx, pool.parts - OFFER_PARTS(offer), slot);
		if (atomic_fetch_sub(&pool.left, 1) == 1 && slot != 0) {
			pthread_mutex_lock(&pool.lock);
			pthread_cond_signal(&pool.done);
			pthread_mutex_unlock(&pool.lock);
		}
		offer = atomic_load(&pool.offer);
	}
}

static void await_offer(size_t slot)
{
	for (int i = 0; i < LOOKS; i++)
		if (offered(slot))
			return;
	pthread_mutex_lock(&pool.lock);
	atomic_fetch_add(&pool.asleep, 1);
	while (!offered(slot))
		pthread_cond_wait(&pool.go, &pool.lock);
	atomic_fetch_sub(&pool.asleep, 1);
	pthread_mutex_unlock(&pool.lock);
}

static void *help(void *arg)
{
	const size_t slot = *(const size_t *)arg;

	for (;;) {
		await_offer(slot);
		take_parts(slot);
	}
	return NULL;
}

/* Helpers up to n, as many as the system gives; between calls. Returns how many there are. */
static unsigned helpers_make(unsigned n)
{
	while (pool.made < n) {
		pthread_t thread;

		pool.slot[pool.made] = pool.made + 1;
		if (pthread_create(&thread, NULL, help, &pool.slot[pool.made]) != 0)
			break;
		pthread_detach(thread);
		pool.made++;
	}
	return pool.made < n ? pool.made : n;
}

static void await_parts(void)
{
	for (int i = 0; i < LOOKS; i++)
		if (atomic_load(&pool.left) == 0)
			return;
	pthread_mutex_lock(&pool.lock);
	while (atomic_load(&pool.left) != 0)
		pthread_cond_wait(&pool.done, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
}

/* Help does not pay if parts are small beside the waking of a helper, or if two cores are slower at
 * once than one. That is measured: in turns, TURNS times in all, a WINDOW of calls is shared and
 * the next done alone. The way with the best window is kept for REST times as long as that took, so
 * that looking costs little, for small calls and large ones. */
#define TURNS  8
#define WINDOW 32
#define REST   16

void sw_cpu_parallel_begin(void)
{
	pthread_mutex_lock(&pool.busy);
	pool.turn = 0;
	pool.calls = 0;
	pool.began = pool.since = now_ns();
	pthread_mutex_unlock(&pool.busy);
}

static bool way_shared(void)
{
	return pool.turn < TURNS ? pool.turn % 2 == 0 : pool.pays;
}

static void way_rest(int64_t now)
{
	if (now < pool.until)
		return;
	pool.turn = 0;
	pool.began = pool.since = now;
}

/* After a call. The time between calls counts, for that work is slower beside a helper, too. A
 * narrow lead may be noise: then one core stays free for others. */
static void way_judge(void)
{
	const int64_t now = now_ns(), spent = now - pool.since;
	const int way = pool.turn % 2;

	if (pool.turn == TURNS) {
		way_rest(now);
		return;
	}
	if (++pool.calls < WINDOW)
		return;
	if (pool.turn < 2 || spent < pool.best[way])
		pool.best[way] = spent;
	pool.calls = 0;
	pool.since = now;
	if (++pool.turn < TURNS)
		return;
	pool.pays = pool.best[0] < pool.best[1] - pool.best[1] / 32;
	pool.until = now + REST * (now - pool.began);
}

static void parts_shared(size_t parts, sw_cpu_part *run, void *ctx)
{
	const unsigned helpers = helpers_make((unsigned)(threads < parts ? threads : parts) - 1);

	pool.run = run;
	pool.ctx = ctx;
	pool.parts = parts;
	atomic_store(&pool.left, parts);
	atomic_store(&pool.offer, OFFER(helpers, parts));
	if (atomic_load(&pool.asleep) != 0) {
		pthread_mutex_lock(&pool.lock);
		pthread_cond_broadcast(&pool.go);
		pthread_mutex_unlock(&pool.lock);
	}
	take_parts(0);
	await_parts();
}

static void parts_alone(size_t parts, sw_cpu_part *run, void *ctx)
{
	for (size_t i = 0; i < parts; i++)
		run(ctx, i, 0);
}

void sw_cpu_parallel(size_t parts, sw_cpu_part *run, void *ctx)
{
	if (threads == 1 || parts < 2 || pthread_mutex_trylock(&pool.busy) != 0) {
		parts_alone(parts, run, ctx);
		return;
	}
	if (way_shared())
		parts_shared(parts, run, ctx);
	else
		parts_alone(parts, run, ctx);
	way_judge();
	pthread_mutex_unlock(&pool.busy);
}
