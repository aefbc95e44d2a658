/* tests/kernels/cuda_shim/shim_threads.c — blocks and threads of a kernel, as coroutines.
 *
 * A thread runs until it ends or meets a barrier. When none can run, a warp whose threads all wait
 * at a warp's barrier goes on, else the block goes on if all that live wait at the block's. What
 * fits neither is a deadlock or undefined on a GPU: abort, so that the test fails. Coroutines are
 * made once and run the threads of all later kernels: making one costs system calls. */
#undef _FORTIFY_SOURCE /* its longjmp takes a jump to another stack for an attack */
#include "tests/kernels/cuda_shim/shim.h"
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBERS_TOLD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBERS_TOLD 1
#endif
#endif
#ifdef FIBERS_TOLD
#include <sanitizer/common_interface_defs.h>
#endif

#define THREAD_MAX  1024
#define STACK_BYTES ((size_t)64 << 10)
#define WARP        32

struct dim {
	unsigned x, y, z;
};
struct dim threadIdx, blockIdx, blockDim, gridDim; /* declared for kernels in cuda_runtime.h */

void sw_shim_wait_block(void);
void sw_shim_wait_warp(void);
void sw_shim_exchange(const void *mine, void *theirs, size_t n, unsigned lane);
unsigned long long sw_shim_atomic_add(unsigned long long *at, unsigned long long v);

enum state { READY, AT_WARP, AT_BLOCK, DONE };

struct coroutine {
	ucontext_t context;
	jmp_buf jump;
	bool made;
};

static struct {
	struct coroutine on;
	enum state state;
	uint64_t given[2]; /* to the warp, by sw_shim_exchange: */
	unsigned turn;     /* by turns, so that nobody overwrites what another still takes */
} threads[THREAD_MAX];

static struct coroutine scheduler = {.made = true};
static char *stacks;
static unsigned now;
static void (*body)(void *);
static void *body_arg;

#ifdef FIBERS_TOLD
static const void *main_stack;
static size_t main_bytes;

/* The address sanitizer must know on which stack it is, and to which the next call goes. */
static void swap(struct coroutine *from, struct coroutine *to)
{
	const bool to_main = to == &scheduler;
	void *fake;

	to->made = true;
	__sanitizer_start_switch_fiber(&fake, to_main ? main_stack : stacks + now * STACK_BYTES,
				       to_main ? main_bytes : STACK_BYTES);
	swapcontext(&from->context, &to->context);
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
#ifdef FIBERS_TOLD
	__sanitizer_finish_switch_fiber(NULL, &main_stack, &main_bytes);
#endif
	for (;;) {
		body(body_arg);
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

void sw_shim_wait_warp(void)
{
	wait_at(AT_WARP);
}

void sw_shim_exchange(const void *mine, void *theirs, size_t n, unsigned lane)
{
	const unsigned from = now / WARP * WARP + lane, turn = threads[now].turn++ % 2;

	memcpy(&threads[now].given[turn], mine, n);
	wait_at(AT_WARP);
	memcpy(theirs, &threads[from].given[turn], n);
}

unsigned long long sw_shim_atomic_add(unsigned long long *at, unsigned long long v)
{
	const unsigned long long was = *at;

	*at = was + v;
	return was;
}

/* The ith of n in the order that the test chose. */
static unsigned whose_turn(unsigned i, unsigned n)
{
	switch (sw_shim.order) {
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
	if (waiting == 0 || (barrier == AT_WARP && ended) || waiting + ended != to - from)
		return false;
	for (unsigned i = from; i < to; i++)
		if (threads[i].state == barrier)
			threads[i].state = READY;
	return true;
}

static bool release_any(unsigned block)
{
	bool any = false;

	for (unsigned from = 0; from < block; from += WARP)
		any |= release(from, from + WARP < block ? from + WARP : block, AT_WARP);
	return any || release(0, block, AT_BLOCK);
}

static void block_run(unsigned block)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < block; i++) {
		if (!threads[i].on.made)
			coroutine_make(i);
		threads[i].state = READY;
		threads[i].turn = 0;
	}
	while (ended < block) {
		bool ran = false;

		for (unsigned i = 0; i < block; i++) {
			now = whose_turn(i, block);
			if (threads[now].state != READY)
				continue;
			threadIdx.x = now;
			swap(&scheduler, &threads[now].on);
			ended += threads[now].state == DONE;
			ran = true;
		}
		if (!ran && !release_any(block)) {
			fprintf(stderr,
				"cuda shim: threads of block %u wait at different "
				"barriers, or for one that has ended\n",
				blockIdx.x);
			abort();
		}
	}
}

void sw_shim_grid_run(unsigned grid, unsigned block, void (*run)(void *), void *arg)
{
	if (!stacks) /* once, for the process: fresh pages cost more than the threads do */
		stacks = malloc(THREAD_MAX * STACK_BYTES);
	if (!stacks)
		abort();
	body = run;
	body_arg = arg;
	gridDim = (struct dim){grid, 1, 1};
	blockDim = (struct dim){block, 1, 1};
	for (unsigned b = 0; b < grid; b++) {
		blockIdx = (struct dim){whose_turn(b, grid), 0, 0};
		block_run(block);
	}
}
