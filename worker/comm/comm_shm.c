/*
 * worker/comm/comm_shm.c — ranks of one machine: memory that all of them map (a memfd without a
 * name, which goes with the last of them).
 *
 * It has a member for each rank, with a lane to each other rank, and COMM_CELLS cells of a chunk
 * each. Rank w alone writes member w and its cells, with two exceptions: all ring its bell, and in
 * its lane to r the word `read` is r's.
 *
 *   w writes cell s and, in its lane to r, ticket[k % COMM_CELLS] = {kind, bytes, s}; then it sets
 *     published = k + 1 (release); so for each r that the chunk is for
 *   r reads published > k (acquire), the ticket, the cell; then it sets read = k + 1 (release)
 *
 * 1. r reads what w wrote of chunk k: its acquire load saw a release store that came after the
 *    writes.
 * 2. w writes a cell or a ticket again only when its readers are done: w has seen read > k
 *    (acquire) in each lane whose chunk k used it, and all reads came before those release stores.
 *    Cell s is taken from w's set of free cells, and returns there only then. Ticket k % COMM_CELLS
 *    is free then, too: if chunk k - COMM_CELLS of the lane still held a cell, all cells would be
 *    taken.
 * 3. No wake-up is missed. A rank that changes published or read increments the bell of each rank
 *    that may wait for it, then looks whether that one sleeps. A rank that waits loads its bell,
 *    looks for what it needs, says that it sleeps, and FUTEX_WAIT compares the bell with that load.
 *    All four are sequentially consistent: if the first looked before the second said that it
 *    sleeps, then the increment came before the comparison. The limit of a wait would cover a miss
 *    nevertheless.
 *
 * A ticket is not trusted, for another process writes it: the number of a cell is cut, so that
 * nothing outside of this memory is read, and its bytes are compared (comm_expect).
 *
 * The lowest free cell is taken, not the next in turn: ranks in step use two or three, which stay
 * in their caches.
 */
#include "base/beat.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/process.h"
#include "worker/comm/comm_internal.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x316d6d6f63777331u
#define LINE  64 /* of a cache: what different ranks write lies apart */
/* So often a rank looks at its bell before it sleeps: some tens of microseconds. */
#define LOOKS 1000

enum member_state { ABSENT, HERE, CLOSED };
enum abort_state { NO_ABORT, ABORT_WRITTEN, ABORTED };

struct ticket {
	uint32_t kind, bytes, cell;
};

struct lane {
	_Alignas(LINE) atomic_ullong published;
	_Alignas(LINE) atomic_ullong read; /* the other's */
	_Alignas(LINE) struct ticket ticket[COMM_CELLS];
};

struct member {
	_Alignas(LINE) atomic_uint bell; /* a futex */
	atomic_uint sleeps;
	struct lane to[SW_COMM_WORLD_MAX];
	_Alignas(LINE) atomic_llong beat_us; /* monotonic, which all processes share */
	atomic_uint state;
	/* written before it is HERE: */
	pid_t pid, tid; /* tid: of the thread whose work it is */
	uint64_t start; /* as struct sw_process has it; 0: unknown */
	cpu_set_t cores;
};

struct segment {
	uint64_t magic;
	uint32_t world;
	atomic_uint aborted;
	uint32_t why; /* written before it is ABORTED */
	char line[256];
	struct member member[]; /* [world], then cells */
};

/* Of one rank. */
struct cells {
	_Alignas(4096) unsigned char cell[COMM_CELLS][COMM_CHUNK];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2,
	       "atomics of a segment that processes share");
_Static_assert(COMM_CELLS == 64, "free cells are the bits of a word");

struct shm {
	struct sw_comm comm; /* the first: it is cast to this */
	struct segment *seg;
	struct cells *cells; /* [world] */
	size_t bytes;
	struct member *me;
	unsigned seen; /* of the own bell */
	unsigned looks;
	bool looks_known;
	int64_t look_us;           /* next look at the others */
	uint64_t free;             /* bit s: cell s */
	unsigned room;             /* the cell that was given, or COMM_CELLS */
	unsigned left[COMM_CELLS]; /* ranks that have yet to read it */
	struct {
		uint64_t published,
			back;  /* chunks to it: all; those that it has read, as far as known */
		uint64_t read; /* of its chunks */
	} peer[SW_COMM_WORLD_MAX];
};

static size_t cells_at(unsigned world)
{
	const size_t at = sizeof(struct segment) + world * sizeof(struct member);

	return (at + _Alignof(struct cells) - 1) / _Alignof(struct cells) * _Alignof(struct cells);
}

static size_t segment_bytes(unsigned world)
{
	return cells_at(world) + world * sizeof(struct cells);
}

/* --- the lead's --- */

sw_status comm_shm_meet(struct sw_comm_seat *at, struct sw_err *err)
{
	const size_t bytes = segment_bytes(at->world);
	const int fd = sw_fault_hit(SW_FAULT_IO)
			       ? -1
			       : memfd_create("sweepd-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct segment *seg = MAP_FAILED;
	int why = errno;

	/* All of its memory now: later a want of it would be SIGBUS. */
	if (fd >= 0 && (why = posix_fallocate(fd, 0, (off_t)bytes)) == 0) {
		seg = mmap(NULL, cells_at(at->world), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		why = errno;
	}
	if (seg == MAP_FAILED) {
		if (fd >= 0)
			(void)close(fd);
		return sw_err_set(err, sw_process_lacks(why) || why == ENOSPC ? SW_BUSY : SW_IO,
				  "no %zu bytes of memory for the ranks to share: %s", bytes,
				  strerror(why));
	}
	seg->magic = MAGIC;
	seg->world = at->world;
	for (unsigned r = 0; r < at->world; r++)
		atomic_init(&seg->member[r].beat_us, sw_clock_mono_us());
	(void)munmap(seg, cells_at(at->world));
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	at->fd = fd;
	return SW_OK;
}

/* --- a rank's --- */

static sw_status map_segment(struct shm *s, const struct sw_comm_seat *at, struct sw_err *err)
{
	struct stat st;

	s->bytes = segment_bytes(at->world);
	if (fstat(at->fd, &st) != 0 || (size_t)st.st_size != s->bytes)
		return sw_err_set(err, SW_INVALID, "descriptor %d is no segment of %u ranks",
				  at->fd, at->world);
	s->seg = sw_fault_hit(SW_FAULT_IO)
			 ? MAP_FAILED
			 : mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, at->fd, 0);
	if (s->seg == MAP_FAILED)
		return sw_err_set(err, SW_NOMEM, "the memory that the ranks share: %s",
				  strerror(errno));
	s->cells = (struct cells *)(void *)((char *)s->seg + cells_at(at->world));
	if (s->seg->magic == MAGIC && s->seg->world == at->world)
		return SW_OK;
	(void)munmap(s->seg, s->bytes);
	return sw_err_set(err, SW_INVALID, "descriptor %d is no segment of %u ranks", at->fd,
			  at->world);
}

sw_status comm_shm_open(struct sw_comm **out, const struct sw_comm_seat *at, int64_t silent_us,
			struct sw_err *err)
{
	struct shm *s = sw_calloc(1, sizeof *s);
	struct sw_process self;

	if (s == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for what a rank keeps of the others");
	const sw_status rc = map_segment(s, at, err);
	if (rc != SW_OK) {
		free(s);
		return rc;
	}
	s->comm = (struct sw_comm){.rank = at->rank, .world = at->world, .silent_us = silent_us};
	s->me = &s->seg->member[at->rank];
	s->free = UINT64_MAX;
	s->room = COMM_CELLS;
	s->me->pid = getpid();
	s->me->tid = (pid_t)syscall(SYS_gettid);
	s->me->start = sw_process_read(s->me->pid, &self) ? self.start : 0;
	if (sched_getaffinity(0, sizeof s->me->cores, &s->me->cores) != 0)
		CPU_ZERO(&s->me->cores);
	atomic_store(&s->me->beat_us, sw_clock_mono_us());
	atomic_store(&s->me->state, HERE);
	*out = &s->comm;
	return SW_OK;
}

static void ring(struct member *m)
{
	(void)atomic_fetch_add(&m->bell, 1);
	if (atomic_load(&m->sleeps) != 0)
		(void)syscall(SYS_futex, &m->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void ring_all(struct shm *s)
{
	for (unsigned r = 0; r < s->comm.world; r++)
		if (r != s->comm.rank)
			ring(&s->seg->member[r]);
}

void comm_shm_close(struct sw_comm *c)
{
	struct shm *s = (struct shm *)c;

	atomic_store(&s->me->state, CLOSED);
	ring_all(s);
	(void)munmap(s->seg, s->bytes);
	free(s);
}

/* Cells whose readers have all read them are free again. */
static void take_back(struct shm *s)
{
	for (unsigned r = 0; r < s->comm.world; r++) {
		struct lane *lane = &s->me->to[r];

		if (s->peer[r].back == s->peer[r].published)
			continue;
		const uint64_t read = atomic_load_explicit(&lane->read, memory_order_acquire);
		for (; s->peer[r].back < read; s->peer[r].back++) {
			const unsigned cell =
				lane->ticket[s->peer[r].back % COMM_CELLS].cell % COMM_CELLS;

			if (--s->left[cell] == 0)
				s->free |= UINT64_C(1) << cell;
		}
	}
}

void *comm_shm_room(struct sw_comm *c)
{
	struct shm *s = (struct shm *)c;

	if (s->room == COMM_CELLS) {
		take_back(s);
		if (s->free == 0)
			return NULL;
		s->room = (unsigned)__builtin_ctzll(s->free);
	}
	return s->cells[c->rank].cell[s->room];
}

void comm_shm_publish(struct sw_comm *c, enum comm_kind kind, size_t bytes, uint64_t to)
{
	struct shm *s = (struct shm *)c;
	const unsigned cell = s->room;

	assert(cell < COMM_CELLS && bytes <= COMM_CHUNK);
	s->room = COMM_CELLS;
	s->left[cell] = 0;
	for (unsigned r = 0; r < c->world; r++) {
		struct lane *lane = &s->me->to[r];

		if (r == c->rank || !(to >> r & 1))
			continue;
		s->left[cell]++;
		lane->ticket[s->peer[r].published++ % COMM_CELLS] = (struct ticket){
			.kind = (uint32_t)kind, .bytes = (uint32_t)bytes, .cell = cell};
		atomic_store_explicit(&lane->published, s->peer[r].published, memory_order_release);
		ring(&s->seg->member[r]);
	}
	if (s->left[cell] > 0)
		s->free &= ~(UINT64_C(1) << cell);
}

bool comm_shm_peek(struct sw_comm *c, unsigned from, struct comm_chunk *out)
{
	struct shm *s = (struct shm *)c;
	const struct lane *lane = &s->seg->member[from].to[c->rank];
	const struct ticket *t = &lane->ticket[s->peer[from].read % COMM_CELLS];

	if (atomic_load_explicit(&lane->published, memory_order_acquire) == s->peer[from].read)
		return false; /* nothing new */
	*out = (struct comm_chunk){.kind = t->kind,
				   .bytes = t->bytes,
				   .data = s->cells[from].cell[t->cell % COMM_CELLS]};
	return true;
}

void comm_shm_release(struct sw_comm *c, unsigned from)
{
	struct shm *s = (struct shm *)c;
	struct member *m = &s->seg->member[from];

	atomic_store_explicit(&m->to[c->rank].read, ++s->peer[from].read, memory_order_release);
	ring(m);
}

/* --- waits, and what ends them --- */

void comm_shm_beat(struct sw_comm *c)
{
	struct shm *s = (struct shm *)c;

	atomic_store_explicit(&s->me->beat_us, c->beaten_us, memory_order_relaxed);
}

void comm_shm_abort(struct sw_comm *c)
{
	struct shm *s = (struct shm *)c;
	unsigned none = NO_ABORT;

	if (!atomic_compare_exchange_strong(&s->seg->aborted, &none, ABORT_WRITTEN))
		return; /* another rank was faster */
	s->seg->why = (uint32_t)c->failed;
	memcpy(s->seg->line, c->why, sizeof s->seg->line);
	atomic_store(&s->seg->aborted, ABORTED);
	ring_all(s);
}

static bool has_ended(const struct member *m)
{
	struct sw_process p;

	if (!sw_process_read(m->pid, &p)) /* or there is no /proc, or no descriptor left for it */
		return kill(m->pid, 0) != 0 && errno == ESRCH;
	return p.state == 'Z' || p.state == 'X' || (m->start != 0 && p.start != m->start);
}

/* Of all others the first that is lost. A silent one is killed, after the word that it is. One that
 * has closed counts as silent, no more: a chunk comes to one of its readers after the other, and
 * who has it may have all and be gone while others still wait for it. */
static void look(struct shm *s, int64_t now_us, unsigned *lost)
{
	struct sw_comm *c = &s->comm;

	s->look_us = now_us + COMM_LOOK_US;
	sw_comm_beat(c);
	sw_beat();
	for (unsigned r = 0; r < c->world; r++) {
		struct member *m = &s->seg->member[r];
		const unsigned state = atomic_load(&m->state);

		if (r == c->rank)
			continue;
		/* again: it may have closed, and then ended */
		if (state == HERE && has_ended(m) && atomic_load(&m->state) == HERE) {
			*lost = r;
			return;
		}
		const int64_t beat_us = atomic_load_explicit(&m->beat_us, memory_order_relaxed);

		if (!comm_is_silent(c, beat_us, now_us, state == HERE ? m->tid : 0))
			continue;
		(void)comm_lose(c, r, state != CLOSED);
		if (state == HERE && m->start != 0)
			(void)sw_process_signal(
				&(struct sw_process){.pid = m->pid, .start = m->start}, SIGKILL);
		return;
	}
}

/* Only with a core for each of the ranks a look at the bell is worth more than sleep. */
static void count_looks(struct shm *s)
{
	cpu_set_t all;

	CPU_ZERO(&all);
	for (unsigned r = 0; r < s->comm.world; r++) {
		if (atomic_load(&s->seg->member[r].state) == ABSENT)
			return; /* its cores are not known yet */
		CPU_OR(&all, &all, &s->seg->member[r].cores);
	}
	s->looks_known = true;
	s->looks = CPU_COUNT(&all) >= (int)s->comm.world ? LOOKS : 0;
}

static void await_bell(struct shm *s)
{
	const struct timespec limit = {.tv_nsec = COMM_LOOK_US * 1000};

	if (!s->looks_known)
		count_looks(s);
	for (unsigned i = 0; i < s->looks; i++) {
		if (atomic_load_explicit(&s->me->bell, memory_order_relaxed) != s->seen)
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	atomic_store(&s->me->sleeps, 1);
	(void)syscall(SYS_futex, &s->me->bell, FUTEX_WAIT, s->seen, &limit, NULL, 0);
	atomic_store(&s->me->sleeps, 0);
}

void comm_shm_look(struct sw_comm *c, unsigned *lost)
{
	struct shm *s = (struct shm *)c;
	const int64_t now_us = sw_clock_mono_us();

	if (now_us >= s->look_us)
		look(s, now_us, lost);
	/* After the look: who has said why it ends, and has ended, is not lost. */
	if (c->failed == SW_OK && atomic_load(&s->seg->aborted) == ABORTED)
		(void)comm_fail(c, (sw_status)s->seg->why, s->seg->line);
}

void comm_shm_idle(struct sw_comm *c, unsigned *lost)
{
	struct shm *s = (struct shm *)c;

	await_bell(s);
	s->seen = atomic_load(&s->me->bell);
	comm_shm_look(c, lost);
}
