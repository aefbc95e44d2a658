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

struct pool {
	pthread_mutex_t busy; /* held by the caller whose parts run */
	pthread_mutex_t lock; /* of those who sleep */
	pthread_cond_t go, done;
	struct helper {
		struct pool *pool;
		size_t slot;
	} helper[SW_CPU_THREADS_MAX];
	/* of the call: they hold for whoever has a part of it */
	sw_cpu_part *run;
	void *ctx;
	size_t parts;
	_Atomic uint64_t offer;
	atomic_size_t left; /* parts that are not done */
	atomic_uint asleep; /* helpers */
	unsigned made;      /* helpers, whose slots are 1 .. made */
	/* see way_judge() */
	int64_t began, since, until, best[2]; /* ns */
	int calls, turn;
	bool pays;
};

static struct pool pools[SW_CPU_CALLERS_MAX];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static unsigned threads = 1, callers = 1;

static void pools_make(void)
{
	for (size_t i = 0; i < SW_CPU_CALLERS_MAX; i++) {
		(void)pthread_mutex_init(&pools[i].busy, NULL);
		(void)pthread_mutex_init(&pools[i].lock, NULL);
		(void)pthread_cond_init(&pools[i].go, NULL);
		(void)pthread_cond_init(&pools[i].done, NULL);
	}
}

unsigned sw_cpu_threads(void)
{
	return threads;
}

void sw_cpu_threads_set(unsigned n)
{
	threads = n < 1 ? 1 : n > SW_CPU_THREADS_MAX ? SW_CPU_THREADS_MAX : n;
}

void sw_cpu_callers_set(unsigned n)
{
	callers = n < 1 ? 1 : n > SW_CPU_CALLERS_MAX ? SW_CPU_CALLERS_MAX : n;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool offered(struct pool *pool, size_t slot)
{
	const uint64_t offer = atomic_load(&pool->offer);

	return OFFER_PARTS(offer) != 0 && slot <= OFFER_HELPERS(offer);
}

static void take_parts(struct pool *pool, size_t slot)
{
	uint64_t offer = atomic_load(&pool->offer);

	while (OFFER_PARTS(offer) != 0 && slot <= OFFER_HELPERS(offer)) {
		if (!atomic_compare_exchange_weak(&pool->offer, &offer, offer - 1))
			continue;
		/* The exchange gave this part to this thread alone; the call's fields stay until
		 * left is 0, and that it is not before this part is done. */
		pool->run(pool->ctx, pool->parts - OFFER_PARTS(offer), slot);
		/* The caller (slot 0) looks at left itself. With the lock: it is then asleep, or
		 * has yet to look. */
		if (atomic_fetch_sub(&pool->left, 1) == 1 && slot != 0) {
			pthread_mutex_lock(&pool->lock);
			pthread_cond_signal(&pool->done);
			pthread_mutex_unlock(&pool->lock);
		}
		offer = atomic_load(&pool->offer);
	}
}

static void await_offer(struct pool *pool, size_t slot)
{
	for (int i = 0; i < LOOKS; i++)
		if (offered(pool, slot))
			return;
	pthread_mutex_lock(&pool->lock);
	/* Counted before the last look, and parts_shared stores the offer before it reads this: one
	 * of the two sees the other, and no call is slept through. */
	atomic_fetch_add(&pool->asleep, 1);
	while (!offered(pool, slot))
		pthread_cond_wait(&pool->go, &pool->lock);
	atomic_fetch_sub(&pool->asleep, 1);
	pthread_mutex_unlock(&pool->lock);
}

static void *help(void *arg)
{
	const struct helper *h = arg;
	struct pool *pool = h->pool;
	const size_t slot = h->slot;

	for (;;) {
		await_offer(pool, slot);
		take_parts(pool, slot);
	}
	return NULL;
}

/* Helpers up to n, as many as the system gives; between calls. Returns how many there are. */
static unsigned helpers_make(struct pool *pool, unsigned n)
{
	while (pool->made < n) {
		pthread_t thread;

		/* The slot is 1 more: 0 is the caller's. */
		pool->helper[pool->made] = (struct helper){pool, pool->made + 1};
		if (pthread_create(&thread, NULL, help, &pool->helper[pool->made]) != 0)
			break;
		/* Helpers stay as long as the process, asleep between calls; nobody joins them. */
		pthread_detach(thread);
		pool->made++;
	}
	return pool->made < n ? pool->made : n;
}

static void await_parts(struct pool *pool)
{
	for (int i = 0; i < LOOKS; i++)
		if (atomic_load(&pool->left) == 0)
			return;
	pthread_mutex_lock(&pool->lock);
	while (atomic_load(&pool->left) != 0)
		pthread_cond_wait(&pool->done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
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
	(void)pthread_once(&made, pools_make);
	for (unsigned i = 0; i < callers; i++) {
		struct pool *pool = &pools[i];

		/* Waits for a call that runs: its end would be judged by the new begin. */
		pthread_mutex_lock(&pool->busy);
		pool->turn = 0;
		pool->calls = 0;
		pool->began = pool->since = now_ns();
		pthread_mutex_unlock(&pool->busy);
	}
}

static bool way_shared(const struct pool *pool)
{
	return pool->turn < TURNS ? pool->turn % 2 == 0 : pool->pays;
}

static void way_rest(struct pool *pool, int64_t now)
{
	if (now < pool->until)
		return;
	pool->turn = 0;
	pool->began = pool->since = now;
}

/* After a call. The time between calls counts, for that work is slower beside a helper, too. A
 * narrow lead may be noise: then one core stays free for others. */
static void way_judge(struct pool *pool)
{
	const int64_t now = now_ns(), spent = now - pool->since;
	const int way = pool->turn % 2;

	if (pool->turn == TURNS) {
		way_rest(pool, now);
		return;
	}
	if (++pool->calls < WINDOW)
		return;
	if (pool->turn < 2 || spent < pool->best[way])
		pool->best[way] = spent;
	pool->calls = 0;
	pool->since = now;
	if (++pool->turn < TURNS)
		return;
	pool->pays = pool->best[0] < pool->best[1] - pool->best[1] / 32;
	pool->until = now + REST * (now - pool->began);
}

static void parts_shared(struct pool *pool, size_t parts, sw_cpu_part *run, void *ctx)
{
	const unsigned helpers =
		helpers_make(pool, (unsigned)(threads < parts ? threads : parts) - 1);

	/* All of the call before its offer: by the offer a helper comes to it. */
	pool->run = run;
	pool->ctx = ctx;
	pool->parts = parts;
	atomic_store(&pool->left, parts);
	atomic_store(&pool->offer, OFFER(helpers, parts));
	if (atomic_load(&pool->asleep) != 0) {
		pthread_mutex_lock(&pool->lock);
		pthread_cond_broadcast(&pool->go);
		pthread_mutex_unlock(&pool->lock);
	}
	take_parts(pool, 0);
	await_parts(pool);
}

static void parts_alone(size_t parts, sw_cpu_part *run, void *ctx)
{
	for (size_t i = 0; i < parts; i++)
		run(ctx, i, 0);
}

/* A pool that is free now, and its lock; NULL: none is. */
static struct pool *pool_take(void)
{
	(void)pthread_once(&made, pools_make);
	for (unsigned i = 0; i < callers; i++)
		/* Never waited for: a second caller works alone while another has the helpers. */
		if (pthread_mutex_trylock(&pools[i].busy) == 0)
			return &pools[i];
	return NULL;
}

void sw_cpu_parallel(size_t parts, sw_cpu_part *run, void *ctx)
{
	struct pool *pool = threads == 1 || parts < 2 ? NULL : pool_take();

	if (pool == NULL) {
		parts_alone(parts, run, ctx);
		return;
	}
	if (way_shared(pool))
		parts_shared(pool, parts, run, ctx);
	else
		parts_alone(parts, run, ctx);
	way_judge(pool);
	pthread_mutex_unlock(&pool->busy);
}
