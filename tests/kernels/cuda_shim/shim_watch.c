/*
 * tests/kernels/cuda_shim/shim_watch.c — every access of a kernel to memory is looked at: races,
 * reads of shared memory that nobody wrote, and addresses outside of every allocation or at no
 * multiple of the access's size, or before a kernel that may overlap has waited.
 *
 * The kernels are compiled with -fsanitize=thread, which calls a function at each access; these are
 * here, in place of that sanitizer's library. (Under the address sanitizer, which no file can have
 * beside it, nobody calls them: that build sees what is out of bounds by itself.)
 *
 * Each 2 bytes have a cell: who wrote last, and two who read. An access is in order with an earlier
 * one of another launch when streams, events and waits of the host put the launches in order
 * (shim_order.c), with one of the same launch when the thread is the same, when a barrier of their
 * block lies between, or for lanes of one warp a __syncwarp (shuffles order nothing); blocks are
 * never in order with each other. Two that are not, one of them a write, and not both atomic, are a
 * race whatever the values are: the process aborts. Accesses of one byte are taken for all of their
 * cell. Copies, fills, products and collectives are a launch each, of one thread.
 */
#include "tests/kernels/cuda_shim/shim.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CELL ((size_t)2)
#define WARP 32

enum access { READ, WRITE, ATOMIC };

/* A thread at a point between two barriers. launch 0: nobody. */
struct mark {
	uint32_t launch, block, barrier;
	uint16_t warp_barrier, thread;
};

struct sw_shim_cell {
	struct mark write, read[2];
	bool atomic; /* the write */
};

/* Of the program: constants lie before the first, shared memory behind it. */
extern unsigned char __executable_start[], __bss_start[], _end[];

static struct sw_shim_cell *shared_cells;

static inline bool same_thread(const struct mark *m, const struct mark *me)
{
	return m->block == me->block && m->thread == me->thread;
}

static inline bool same_mark(const struct mark *m, const struct mark *me)
{
	return m->launch == me->launch && m->block == me->block && m->barrier == me->barrier &&
	       m->warp_barrier == me->warp_barrier && m->thread == me->thread;
}

static inline bool in_order(const struct mark *m, const struct mark *me, bool shared)
{
	if (m->launch != me->launch)
		return shared || sw_shim_launch_before(m->launch);
	if (same_thread(m, me))
		return true;
	if (m->block != me->block) /* its shared memory is another one */
		return shared;
	return m->barrier != me->barrier ||
	       (m->thread / WARP == me->thread / WARP && m->warp_barrier != me->warp_barrier);
}

static void race(const struct mark *m, const char *did, const struct mark *me, enum access kind,
		 bool shared, size_t at)
{
	char place[64] = "shared memory";

	if (m->launch != me->launch) {
		fprintf(stderr,
			"cuda shim: race: byte %zu of device memory is %s, which another stream's "
			"work has %s, with no event between\n",
			at, kind == READ ? "read" : "written", did);
		abort();
	}
	if (!shared)
		(void)snprintf(place, sizeof place, "byte %zu of device memory", at);
	fprintf(stderr,
		"cuda shim: race: thread %u of block %u %s %s, which thread %u of block %u has %s, "
		"with no barrier between\n",
		me->thread, me->block, kind == READ ? "reads" : "writes", place, m->thread,
		m->block, did);
	abort();
}

/* Of two readers both are kept while they are of different warps, if that can be. */
static void add_reader(struct sw_shim_cell *c, const struct mark *me, bool shared)
{
	const bool first = !in_order(&c->read[0], me, shared);
	const bool second = !in_order(&c->read[1], me, shared);
	const bool alike = c->read[0].block == me->block &&
			   c->read[0].thread / WARP == me->thread / WARP;

	if ((c->read[1].launch == me->launch && same_thread(&c->read[1], me)) ||
	    (first && (!second || !alike)))
		c->read[1] = *me;
	else
		c->read[0] = *me;
}

/* Kept out of line: most accesses are in order with all before them. */
static void cell_access(struct sw_shim_cell *c, const struct mark *me, enum access kind,
			bool shared, size_t at)
{
	if (!(kind == ATOMIC && c->atomic) && !in_order(&c->write, me, shared))
		race(&c->write, "written", me, kind, shared, at);
	if (kind == READ && shared &&
	    (c->write.launch != me->launch || c->write.block != me->block)) {
		fprintf(stderr,
			"cuda shim: unwritten: thread %u of block %u reads shared memory that "
			"nobody wrote\n",
			me->thread, me->block);
		abort();
	}
	if (kind == READ) {
		add_reader(c, me, shared);
		return;
	}
	for (int i = 0; i < 2; i++)
		if (!in_order(&c->read[i], me, shared))
			race(&c->read[i], "read", me, kind, shared, at);
	c->write = *me;
	c->atomic = kind == ATOMIC;
}

/* What a thread does twice between two barriers needs no second look: had another come between, it
 * would have been the race. */
static inline void cells_access(struct sw_shim_cell *c, size_t from, size_t to,
				const struct mark *me, enum access kind, bool shared)
{
	for (size_t i = from / CELL; i <= to / CELL; i++)
		if (kind == READ ? !same_mark(&c[i].read[0], me) && !same_mark(&c[i].read[1], me)
				 : !same_mark(&c[i].write, me) || kind == ATOMIC)
			cell_access(&c[i], me, kind, shared, i * CELL);
}

static struct sw_shim_cell *cells_of(struct sw_shim_cell **cells, size_t bytes)
{
	if (!*cells)
		*cells = calloc(bytes / CELL + 1, sizeof **cells);
	if (!*cells)
		abort();
	return *cells;
}

static void outside(const struct mark *me, enum access kind, const struct sw_shim_range *near,
		    uintptr_t at)
{
	fprintf(stderr, "cuda shim: out of bounds: thread %u of block %u %s ", me->thread,
		me->block, kind == READ ? "reads" : "writes");
	if (near)
		fprintf(stderr, "byte %td of an allocation of %zu\n",
			(ptrdiff_t)(at - (uintptr_t)near->data), near->bytes);
	else
		fprintf(stderr, "what is no device memory\n");
	abort();
}

static inline bool within(uintptr_t at, const void *from, size_t bytes)
{
	return at - (uintptr_t)from < bytes;
}

static void look(const void *p, size_t n, enum access kind)
{
	const struct sw_shim_thread *t = &sw_shim_thread;
	const uintptr_t at = (uintptr_t)p;

	if (!t->runs || n == 0 ||
	    (kind == READ && within(at, &sw_shim_place, sizeof sw_shim_place)) ||
	    within(at, t->stacks, t->stacks_bytes) || within(at, t->arg, t->arg_bytes))
		return;
	const struct mark me = {t->launch, t->block, t->barrier, (uint16_t)t->warp_barrier,
				(uint16_t)t->thread};

	if (within(at, __bss_start, (size_t)(_end - __bss_start))) {
		const size_t from = at - (uintptr_t)__bss_start;

		cells_access(cells_of(&shared_cells, (size_t)(_end - __bss_start)), from,
			     from + n - 1, &me, kind, true);
		return;
	}
	if (kind == READ &&
	    within(at, __executable_start, (size_t)(__bss_start - __executable_start)))
		return; /* a constant */
	struct sw_shim_range *r = sw_shim_range_near(p);

	if (!t->waited) {
		fprintf(stderr,
			"cuda shim: no wait: thread %u of block %u %s device memory before it has "
			"waited for the kernel before\n",
			t->thread, t->block, kind == READ ? "reads" : "writes");
		abort();
	}
	if (!r || !within(at, r->data, r->bytes) || !within(at + n - 1, r->data, r->bytes))
		outside(&me, kind, r, at);
	const size_t from = at - (uintptr_t)r->data;

	cells_access(cells_of(&r->cells, r->bytes), from, from + n - 1, &me, kind, false);
}

void sw_shim_look_atomic(const void *p, size_t n)
{
	look(p, n, ATOMIC);
}

void sw_shim_look_at(const void *p, size_t n, bool write)
{
#ifdef SW_SHIM_WATCH
	struct sw_shim_range *r = sw_shim_range_near(p);
	const struct mark me = {.launch = sw_shim_thread.launch};

	if (n == 0 || !r || !within((uintptr_t)p, r->data, r->bytes))
		return;
	const size_t from = (uintptr_t)p - (uintptr_t)r->data;

	if (!within((uintptr_t)p + n - 1, r->data, r->bytes))
		outside(&me, write ? WRITE : READ, r, (uintptr_t)p + n - 1);
	cells_access(cells_of(&r->cells, r->bytes), from, from + n - 1, &me, write ? WRITE : READ,
		     false);
#else
	(void)p;
	(void)n;
	(void)write;
#endif
}

/* --- what -fsanitize=thread calls --- */

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(const void *p, size_t n);
void __tsan_write_range(const void *p, size_t n);
void __tsan_vptr_update(void **p, void *v);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(const void *p, size_t n)
{
	look(p, n, READ);
}

void __tsan_write_range(const void *p, size_t n)
{
	look(p, n, WRITE);
}

void __tsan_vptr_update(void **p, void *v)
{
	(void)p;
	(void)v;
}

/* One access of a GPU: at a multiple of its size, or the kernel is lost. */
static void look_whole(const void *p, size_t n, enum access kind)
{
	if (sw_shim_thread.runs && (uintptr_t)p % n) {
		fprintf(stderr, "cuda shim: misaligned: thread %u of block %u takes %zu bytes\n",
			sw_shim_thread.thread, sw_shim_thread.block, n);
		abort();
	}
	look(p, n, kind);
}

#define ENTRY(name, bytes, look_at, kind)                                                          \
	void name(const void *p);                                                                  \
	void name(const void *p)                                                                   \
	{                                                                                          \
		look_at(p, bytes, kind);                                                           \
	}
#define ENTRIES(bytes)                                                                             \
	ENTRY(__tsan_read##bytes, bytes, look_whole, READ)                                         \
	ENTRY(__tsan_write##bytes, bytes, look_whole, WRITE)                                       \
	ENTRY(__tsan_unaligned_read##bytes, bytes, look, READ)                                     \
	ENTRY(__tsan_unaligned_write##bytes, bytes, look, WRITE)

ENTRIES(1)
ENTRIES(2)
ENTRIES(4)
ENTRIES(8)
ENTRIES(16)
