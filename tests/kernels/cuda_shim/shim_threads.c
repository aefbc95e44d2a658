/* tests/kernels/cuda_shim/shim_threads.c — blocks and threads of a kernel, as coroutines.
 *
 * A thread runs until it ends or meets a barrier. When none can run, a warp whose threads all wait
 * at a warp's barrier goes on, else the block goes on if all that live wait at the block's. What
 * fits neither is a deadlock or undefined on a GPU: abort, so that the test fails. Coroutines are
 * made once and run the threads of all later kernels: making one costs system calls. */
#undef _FORTIFY_SOURCE /* its longjmp takes a jump to another stack for an attack */
#include "kernels/cuda/load.h"
#include "tests/kernels/cuda_shim/shim.h"
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifdef SW_SHIM_ASAN
#include <sanitizer/common_interface_defs.h>
#define SW_SHIM_UNSEEN __attribute__((no_sanitize("address", "undefined")))
typedef void *jump_to[5]; /* as __builtin_setjmp has it */
#else
typedef jmp_buf jump_to;
#endif

#define THREAD_MAX  1024
#define STACK_BYTES ((size_t)64 << 10)
#define WARP        32

struct sw_shim_place sw_shim_place;
struct sw_shim_thread sw_shim_thread;

void sw_shim_wait_block(void);
void sw_shim_wait_launch(void);
void sw_shim_launch(unsigned grid, unsigned block, int may_overlap, cudaStream_t s,
		    void (*run)(void *), const void *closure, size_t n);
void sw_shim_wait_warp(void);
void sw_shim_exchange(const void *mine, void *theirs, size_t n, unsigned lane);
unsigned long long sw_shim_atomic_add(unsigned long long *at, unsigned long long v);

enum state { READY, AT_WARP, AT_EXCHANGE, AT_BLOCK, DONE };

struct coroutine {
	ucontext_t context;
	jump_to jump;
	bool made;
};

static struct {
	struct coroutine on;
	enum state state;
	uint64_t given[2]; /* to the warp, by sw_shim_exchange: */
	unsigned turn;     /* by turns, so that nobody overwrites what another still takes */
	uint32_t barriers; /* of its warp, so far */
	bool waited;       /* for the kernels before */
} threads[THREAD_MAX];

static struct coroutine scheduler = {.made = true};
static char *stacks;
static unsigned now;
static void (*body)(void *);
static void *body_arg;
static bool overlap; /* the kernels before may not have ended when this one begins */

#ifdef SW_SHIM_ASAN
static const void *main_stack;
static size_t main_bytes;

#if defined(__x86_64__)
static SW_SHIM_UNSEEN __attribute__((noinline, noreturn)) void jump(struct coroutine *to)
{
	__builtin_longjmp(to->jump, 1);
}

/* The sanitizer takes part in the library's swapcontext and longjmp, and forgets there what it
 * knows of a stack; the compiler's own jump it does not see. These two it does not look at,
 * either. */
static SW_SHIM_UNSEEN __attribute__((noinline)) void leave(struct coroutine *from,
							   struct coroutine *to)
{
	if (__builtin_setjmp(from->jump) != 0)
		return;
	if (to->made)
		jump(to);
	to->made = true;
	setcontext(&to->context);
}
#else
static void leave(struct coroutine *from, struct coroutine *to)
{
	to->made = true;
	swapcontext(&from->context, &to->context);
}
#endif

/* The address sanitizer must know on which stack it is, and to which the next call goes. */
static void swap(struct coroutine *from, struct coroutine *to)
{
	const bool to_main = to == &scheduler;
	void *fake;

	__sanitizer_start_switch_fiber(&fake, to_main ? main_stack : stacks + now * STACK_BYTES,
				       to_main ? main_bytes : STACK_BYTES);
	leave(from, to);
	__sanitizer_finish_switch_fiber(fake, to_main ? &main_stack : NULL,
					to_main ? &main_bytes : NULL);
}
#else
/* As swapcontext, but that asks the system for the signal mask each time. */
static void swap(struct coroutine *from, struct coroutine *to)
{
	if (_setjmp(from->jump) != 0)
		return;
	if (to->made)
		_longjmp(to->jump, 1);
	to->made = true;
	setcontext(&to->context);
}
#endif

static void wait_at(enum state barrier)
{
	threads[now].state = barrier;
	swap(&threads[now].on, &scheduler);
}

static void coroutine_main(void)
{
#ifdef SW_SHIM_ASAN
	__sanitizer_finish_switch_fiber(NULL, &main_stack, &main_bytes);
#endif
	for (;;) {
		body(body_arg);
		if (!threads[now].waited) {
			fprintf(stderr,
				"cuda shim: no wait: thread %u of block %u has not waited for "
				"the kernel before\n",
				now, sw_shim_place.block.x);
			abort();
		}
		wait_at(DONE); /* for the next block that has a thread of this number */
	}
}

static void coroutine_make(unsigned i)
{
	ucontext_t *c = &threads[i].on.context;

	getcontext(c);
	c->uc_stack.ss_sp = stacks + i * STACK_BYTES;
	c->uc_stack.ss_size = STACK_BYTES;
	c->uc_link = NULL;
	makecontext(c, coroutine_main, 0);
}

void sw_shim_wait_block(void)
{
	wait_at(AT_BLOCK);
}

void sw_shim_wait_launch(void)
{
	threads[now].waited = true;
	sw_shim_thread.waited = true;
}

void sw_shim_wait_warp(void)
{
	wait_at(AT_WARP);
	sw_shim_thread.warp_barrier = ++threads[now].barriers;
}

void sw_shim_exchange(const void *mine, void *theirs, size_t n, unsigned lane)
{
	const unsigned from = now / WARP * WARP + lane, turn = threads[now].turn++ % 2;

	memcpy(&threads[now].given[turn], mine, n);
	wait_at(AT_EXCHANGE); /* which orders no memory: no barrier is counted */
	memcpy(theirs, &threads[from].given[turn], n);
}

unsigned long long sw_shim_atomic_add(unsigned long long *at, unsigned long long v)
{
	const unsigned long long was = *at;

	sw_shim_look_atomic(at, sizeof *at);
	*at = was + v;
	return was;
}

/* A permutation of the block's threads, anew for each block. */
static unsigned shuffled[THREAD_MAX];

static void shuffle(unsigned n)
{
	uint64_t x = (uint64_t)sw_shim.seed << 40 ^ (uint64_t)sw_shim_thread.launch << 20 ^
		     sw_shim_place.block.x;

	for (unsigned i = 0; i < n; i++) {
		/* Steele, Lea, Flood: SplitMix64 */
		uint64_t z = x += 0x9e3779b97f4a7c15u;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		const unsigned k = (unsigned)((z ^ z >> 31) % (i + 1));

		shuffled[i] = shuffled[k];
		shuffled[k] = i;
	}
}

/* The ith of n in the order that the test chose; of blocks, where that is shuffled, too. */
static unsigned whose_turn(unsigned i, unsigned n)
{
	switch (sw_shim.order) {
	case SW_SHIM_SHUFFLED:
		return n <= THREAD_MAX ? shuffled[i] : (i + sw_shim.seed) % n;
	case SW_SHIM_BACKWARD:
		return n - 1 - i;
	case SW_SHIM_INSIDE_OUT: /* the middle first, then left and right of it */
		return i % 2 ? n / 2 - 1 - i / 2 : n / 2 + i / 2;
	default:
		return i;
	}
}

/* Lets every thread of [from, to) that waits at `barrier` go on, if all do that have not ended. */
static bool release(unsigned from, unsigned to, enum state barrier)
{
	unsigned waiting = 0, ended = 0;

	for (unsigned i = from; i < to; i++) {
		waiting += threads[i].state == barrier;
		ended += threads[i].state == DONE;
	}
	/* A warp's collective names all of its lanes: one that has ended is missing. */
	if (waiting == 0 || (barrier != AT_BLOCK && ended) || waiting + ended != to - from)
		return false;
	for (unsigned i = from; i < to; i++)
		if (threads[i].state == barrier)
			threads[i].state = READY;
	return true;
}

static bool release_any(unsigned block)
{
	bool any = false;

	for (unsigned from = 0; from < block; from += WARP) {
		const unsigned to = from + WARP < block ? from + WARP : block;

		any |= release(from, to, AT_WARP) || release(from, to, AT_EXCHANGE);
	}
	if (any || !release(0, block, AT_BLOCK))
		return any;
	sw_shim_thread.barrier++;
	return true;
}

static void block_run(unsigned block)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < block; i++) {
		if (!threads[i].on.made)
			coroutine_make(i);
		threads[i].state = READY;
		threads[i].turn = 0;
		threads[i].barriers = 0;
		threads[i].waited = !overlap;
	}
	sw_shim_thread.block = sw_shim_place.block.x;
	sw_shim_thread.barrier = 0;
	if (sw_shim.order == SW_SHIM_SHUFFLED)
		shuffle(block);
	while (ended < block) {
		bool ran = false;

		for (unsigned i = 0; i < block; i++) {
			now = whose_turn(i, block);
			if (threads[now].state != READY)
				continue;
			sw_shim_place.thread.x = now;
			sw_shim_thread.thread = now;
			sw_shim_thread.warp_barrier = threads[now].barriers;
			sw_shim_thread.waited = threads[now].waited;
			sw_shim_thread.runs = true;
			swap(&scheduler, &threads[now].on);
			sw_shim_thread.runs = false;
			ended += threads[now].state == DONE;
			ran = true;
		}
		if (!ran && !release_any(block)) {
			fprintf(stderr,
				"cuda shim: threads of block %u wait at different "
				"barriers, or for one that has ended\n",
				sw_shim_place.block.x);
			abort();
		}
	}
}

struct launch {
	unsigned grid, block;
	bool overlap;
	void (*run)(void *);
	size_t bytes;
	_Alignas(max_align_t) unsigned char closure[];
};

static bool launch_run(void *arg)
{
	struct launch *l = arg;

	if (!stacks) /* once, for the process: fresh pages cost more than the threads do */
		stacks = malloc(THREAD_MAX * STACK_BYTES);
	if (!stacks)
		abort();
	overlap = l->overlap;
	body = l->run;
	body_arg = l->closure;
	sw_shim_thread.arg = l->closure;
	sw_shim_thread.arg_bytes = l->bytes;
	sw_shim_thread.stacks = stacks;
	sw_shim_thread.stacks_bytes = THREAD_MAX * STACK_BYTES;
	sw_shim_launch_begin();
	sw_shim_place.grid_dim = (struct sw_shim_dim){l->grid, 1, 1};
	sw_shim_place.block_dim = (struct sw_shim_dim){l->block, 1, 1};
	for (unsigned b = 0; b < l->grid; b++) {
		if (sw_shim.order == SW_SHIM_SHUFFLED && l->grid <= THREAD_MAX) {
			sw_shim_place.block.x =
				l->grid; /* no block: of its own, the same for all b */
			shuffle(l->grid);
		}
		sw_shim_place.block = (struct sw_shim_dim){whose_turn(b, l->grid), 0, 0};
		block_run(l->block);
	}
	return true;
}

void sw_shim_launch(unsigned grid, unsigned block, int may_overlap, cudaStream_t s,
		    void (*run)(void *), const void *closure, size_t n)
{
	struct launch *l;

	if (grid == 0 || block == 0 || block > 1024) {
		(void)sw_shim_fail(cudaErrorInvalidConfiguration);
		return;
	}
	const int fault = sw_shim_fault(SW_SHIM_LAUNCH);

	if (fault) {
		(void)sw_shim_fail((cudaError_t)fault);
		return;
	}
	l = malloc(sizeof *l + n);
	if (!l)
		abort();
	l->grid = grid;
	l->block = block;
	l->overlap = may_overlap != 0;
	l->run = run;
	l->bytes = n;
	memcpy(l->closure, closure, n);
	sw_shim.given.kernels++;
	sw_shim.given.overlaps += l->overlap;
	(void)sw_shim_queue(s, launch_run, l);
}

/* Of the runtime: what a module's kernels call when it is opened, here by tests. */
void __real___cudaRegisterFunction(void **module, const char *kernel, char *device_kernel,
				   const char *name, int thread_limit, void *tid, void *bid,
				   void *block, void *grid, int *warp)
{
	(void)module;
	(void)kernel;
	(void)device_kernel;
	(void)name;
	(void)thread_limit;
	(void)tid;
	(void)bid;
	(void)block;
	(void)grid;
	(void)warp;
}
