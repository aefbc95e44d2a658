/* tests/trainer/comm/test_comm.c — what ranks do together has the bits of the same done alone, each
 * a thread; a rank that gives up ends all others with its reason; one that hangs is heard of no
 * more. A whole pipeline: tests/trainer/net. */
#include "base/beat.h"
#include "tests/run.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_internal.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

/* --- ranks as threads, each with a function, and what became of each --- */

#define GANG_MAX 4

struct gang_rank;

typedef sw_status gang_main(struct sw_comm *c, struct gang_rank *me, void *ctx);

struct gang_rank {
	struct sw_comm *comm;
	gang_main *run;
	void *ctx;
	sw_status rc;     /* that the function returned */
	char why[320];    /* the line */
	char bad[256];    /* what the function found wrong; "" */
	atomic_uint done; /* how far it is: the function's own count */
	pthread_t thread;
};

/* What a rank finds wrong. */
#define GANG_BAD(me, ...) ((void)snprintf((me)->bad, sizeof(me)->bad, __VA_ARGS__))

static void *gang_live(void *rank)
{
	struct gang_rank *me = rank;

	me->rc = me->run(me->comm, me, me->ctx);
	(void)snprintf(me->why, sizeof me->why, "%s", sw_comm_why(me->comm));
	sw_comm_close(me->comm);
	return NULL;
}

/* Runs a gang to its end; each rank is to end with this status and line. */
static void gang_ends(unsigned world, gang_main *run, void *ctx, sw_status rc, const char *why)
{
	static struct gang_rank rank[GANG_MAX];
	struct sw_comm *comm[GANG_MAX];

	ck_assert_int_eq(sw_comm_meet(comm, world, false, NULL), SW_OK);
	for (unsigned r = 0; r < world; r++) {
		rank[r] = (struct gang_rank){.comm = comm[r], .run = run, .ctx = ctx};
		ck_assert_int_eq(pthread_create(&rank[r].thread, NULL, gang_live, &rank[r]), 0);
	}
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
	for (unsigned r = 0; r < world; r++) {
		ck_assert_msg(*rank[r].bad == '\0', "rank %u of %u: %s", r, world, rank[r].bad);
		ck_assert_msg(rank[r].rc == rc, "rank %u of %u: %s (%s), not %s", r, world,
			      sw_status_str(rank[r].rc), rank[r].why, sw_status_str(rc));
		ck_assert_str_eq(rank[r].why, why);
	}
}

/* A gang from its start to its end, without a fault. */
static void gang_run(unsigned world, gang_main *run, void *ctx)
{
	gang_ends(world, run, ctx, SW_OK, "");
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* --- numbers that each rank can make for any other one --- */

static size_t size_of(enum sw_comm_type type)
{
	return type == SW_COMM_F32 ? sizeof(float) : sizeof(double);
}

/* The i-th of a rank in a turn: of very different sizes, so that another order of adding has other
 * bits. */
static uint64_t draw(unsigned rank, unsigned turn, size_t i)
{
	return mix(mix(((uint64_t)turn << 32) + rank + 1) + i);
}

static double number(unsigned rank, unsigned turn, size_t i)
{
	const uint64_t x = draw(rank, turn, i);

	return ((double)(x >> 11) / 9007199254740992.0 - 0.5) * (double)(1u << (x & 15));
}

/* The plain sum of so many ranks, each by `step` higher than the one before. One: its own. */
struct ranks {
	unsigned first, step, n;
};

static uint64_t plain(enum sw_comm_type type, struct ranks of, unsigned turn, size_t i)
{
	float f = 0;
	double d = 0;
	uint64_t bits = 0;

	for (unsigned k = 0; k < of.n; k++) {
		const unsigned r = of.first + k * of.step;

		if (type == SW_COMM_I64)
			bits += draw(r, turn, i);
		else if (type == SW_COMM_F64)
			d = k > 0 ? d + number(r, turn, i) : number(r, turn, i);
		else
			f = k > 0 ? f + (float)number(r, turn, i) : (float)number(r, turn, i);
	}
	if (type == SW_COMM_F64)
		memcpy(&bits, &d, sizeof d);
	if (type == SW_COMM_F32)
		memcpy(&bits, &f, sizeof f);
	return bits;
}

static void fill(enum sw_comm_type type, char *p, size_t n, unsigned rank, unsigned turn)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t bits = plain(type, (struct ranks){.first = rank, .n = 1}, turn, i);

		memcpy(p + i * size_of(type), &bits, size_of(type));
	}
}

static void check(struct gang_rank *me, const char *what, enum sw_comm_type type, const char *p,
		  size_t n, struct ranks of, unsigned turn)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t want = plain(type, of, turn, i);

		if (memcmp(p + i * size_of(type), &want, size_of(type)) == 0)
			continue;
		GANG_BAD(me, "turn %u, %s, type %d, %u ranks: element %zu of %zu is another", turn,
			 what, (int)type, of.n, i, n);
		return;
	}
}

/* --- a call of each kind, of n elements --- */

struct call {
	struct sw_comm *c;
	struct gang_rank *me;
	unsigned rank, world, groups, turn;
	enum sw_comm_type type;
	size_t n;
};

/* Room for a row of each rank, at an element's alignment and no more. Freed at once when the call
 * is back: whoever still uses it crashes. */
static char *room_new(const struct call *k, size_t rows)
{
	char *p = malloc((rows * k->n + 8) * sizeof(double));

	ck_assert_ptr_nonnull(p);
	return p + k->turn % 4 * size_of(k->type);
}

static void room_free(const struct call *k, char *room)
{
	free(room - k->turn % 4 * size_of(k->type));
}

static sw_status call_sum(const struct call *k)
{
	const struct ranks of = {0, 1, 1 + (unsigned)(mix(k->turn) % k->world)};
	char *p = room_new(k, 1);
	sw_status rc;

	fill(k->type, p, k->n, k->rank, k->turn);
	rc = k->type == SW_COMM_F64 ? sw_comm_sum_now(k->c, NULL, (double *)(void *)p, k->n, of.n)
				    : sw_comm_sum(k->c, k->type, p, k->n, of.n);
	if (rc == SW_OK)
		check(k->me, "a sum", k->type, p, k->n, of, k->turn);
	room_free(k, p);
	return rc;
}

static sw_status call_broadcast(const struct call *k)
{
	const unsigned from = (unsigned)(mix(k->turn) % k->world);
	char *p = room_new(k, 1);
	sw_status rc;

	fill(k->type, p, k->n, k->rank, k->turn);
	rc = sw_comm_broadcast(k->c, from, p, k->n * size_of(k->type));
	if (rc == SW_OK)
		check(k->me, "a broadcast", k->type, p, k->n, (struct ranks){from, 1, 1}, k->turn);
	room_free(k, p);
	return rc;
}

static sw_status call_all_gather(const struct call *k)
{
	const size_t bytes = k->n * size_of(k->type);
	char *mine = room_new(k, 1), *all = room_new(k, k->world);
	sw_status rc;

	fill(k->type, mine, k->n, k->rank, k->turn);
	rc = sw_comm_all_gather(k->c, mine, all, bytes);
	for (unsigned r = 0; rc == SW_OK && r < k->world; r++)
		check(k->me, "a row", k->type, all + r * bytes, k->n, (struct ranks){r, 1, 1},
		      k->turn);
	room_free(k, mine);
	room_free(k, all);
	return rc;
}

/* Nobody leaves a barrier before all have come to it. */
static sw_status call_barrier(const struct call *k)
{
	const struct gang_rank *all = k->me - k->rank;
	sw_status rc;

	atomic_store(&k->me->done, k->turn);
	rc = sw_comm_barrier(k->c);
	for (unsigned r = 0; r < k->world && rc == SW_OK; r++)
		if (atomic_load(&all[r].done) < k->turn)
			GANG_BAD(k->me, "rank %u was not at barrier %u", r, k->turn);
	return rc;
}

/* n floats go up, and half as many down, or none; not one more is written. */
static sw_status trade(const struct call *k, unsigned peer)
{
	const size_t sizes[] = {k->n, k->turn % 3 == 0 ? 0 : k->n / 2};
	const size_t out_n = sizes[k->rank > peer], in_n = sizes[k->rank < peer];
	float *out = malloc((k->n + 1) * sizeof *out), *in = malloc((k->n + 1) * sizeof *in);
	sw_status rc;

	ck_assert(out != NULL && in != NULL);
	fill(SW_COMM_F32, (char *)out, out_n, k->rank, k->turn);
	in[in_n] = -1;
	rc = sw_comm_exchange(k->c, NULL, peer, out_n > 0 ? out : NULL, out_n, in_n > 0 ? in : NULL,
			      in_n);
	if (rc == SW_OK)
		check(k->me, "an exchange", SW_COMM_F32, (char *)in, in_n,
		      (struct ranks){peer, 1, 1}, k->turn);
	if (in[in_n] != -1)
		GANG_BAD(k->me, "turn %u: a float more than %zu was written", k->turn, in_n);
	free(out);
	free(in);
	return rc;
}

/* Each two neighbours, one pair after the other, and the first with the last. */
static sw_status call_exchange(const struct call *k)
{
	const unsigned last = k->world - 1;
	sw_status rc = SW_OK;

	if (k->rank > 0)
		rc = trade(k, k->rank - 1);
	if (rc == SW_OK && k->rank < last)
		rc = trade(k, k->rank + 1);
	if (rc == SW_OK && last > 1 && (k->rank == 0 || k->rank == last))
		rc = trade(k, last - k->rank);
	return rc;
}

/* What may be between begun sums: a sum of all, which is right when it is back, or, in a pipeline,
 * its cuts. */
static sw_status between(const struct call *k, unsigned nth)
{
	struct call inner = *k;
	const unsigned stage = k->rank % k->groups;
	sw_status rc = SW_OK;

	inner.turn += 1000 + nth;
	inner.n = nth == 1 || nth == 3 ? k->n : 9;
	inner.type = SW_COMM_F64;
	if (nth % 4 == 1)
		return call_sum(&inner);
	if (nth % 4 == 3 && stage > 0)
		rc = trade(&inner, k->rank - 1);
	if (rc == SW_OK && nth % 4 == 3 && stage + 1 < k->groups)
		rc = trade(&inner, k->rank + 1);
	return rc;
}

/* Sums of the group, the last part first: few large ones, or more than are remembered. */
static sw_status call_begun_sums(const struct call *k)
{
	const unsigned stage = k->rank % k->groups, group = k->world / k->groups;
	const struct ranks of = {stage, k->groups, 1 + (unsigned)(mix(k->turn) % group)};
	const size_t most = k->turn % 2 ? k->n / 3 + 1 : k->n / (4 * COMM_SUMS) + 1;
	float *p = malloc((k->n + 1) * sizeof *p);
	sw_status rc = SW_OK;

	ck_assert_ptr_nonnull(p);
	fill(SW_COMM_F32, (char *)p, k->n, k->rank, k->turn);
	for (size_t end = k->n, n, nth = 1; end > 0 && rc == SW_OK; end -= n, nth++) {
		n = 1 + mix(k->turn + 100 * nth) % most;
		n = n < end ? n : end;
		rc = sw_comm_sum_begin(k->c, NULL, p + end - n, n, of.n);
		if (rc == SW_OK && k->turn % 2) /* without, a rank may be far ahead */
			rc = between(k, (unsigned)nth);
	}
	if (rc == SW_OK)
		rc = sw_comm_sum_end(k->c);
	if (rc == SW_OK)
		check(k->me, "begun sums", SW_COMM_F32, (char *)p, k->n, of, k->turn);
	free(p);
	return rc;
}

static sw_status (*const calls[])(const struct call *k) = {
	call_sum, call_broadcast, call_all_gather, call_barrier, call_exchange, call_begun_sums,
};

/* --- all by turns --- */

static const size_t sizes[] = {
	0,     1,      3, 255, COMM_CELL / 8 - 1, COMM_CELL / 8, COMM_CELL / 4, COMM_CELL / 4 + 1,
	62006, 150001,
};

struct shape {
	unsigned world, groups;
};

static struct call call_of(struct sw_comm *c, struct gang_rank *me, unsigned groups)
{
	return (struct call){.c = c,
			     .me = me,
			     .rank = sw_comm_rank(c),
			     .world = sw_comm_world(c),
			     .groups = groups};
}

/* Each kind of each size, three times, of each type; who is late changes. */
static sw_status by_turns(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	struct call k = call_of(c, me, ((const struct shape *)ctx)->groups);
	sw_status rc = SW_OK;

	sw_comm_groups(c, k.groups);
	for (; k.turn < 3 * ROWS(calls) * ROWS(sizes) && rc == SW_OK && !*me->bad; k.turn++) {
		k.n = sizes[k.turn / ROWS(calls) % ROWS(sizes)];
		k.type = (enum sw_comm_type)(k.turn / (ROWS(calls) * ROWS(sizes)));
		if (mix(k.turn) % k.world == k.rank)
			sched_yield();
		rc = calls[k.turn % ROWS(calls)](&k);
	}
	return rc;
}

static const struct shape shapes[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1},
				      {3, 3}, {4, 1}, {4, 2}, {4, 4}};

TEST_ROWS(calls_of_all_kinds_and_sizes_have_bits_of_rank_order, shapes)
{
	struct shape s = shapes[_i];

	gang_run(s.world, by_turns, &s);
}

/* Small and large ones in a row: cells are used again. */
static sw_status many(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	struct call k = call_of(c, me, 1);
	sw_status rc = SW_OK;

	(void)ctx;
	for (; k.turn < 600 && rc == SW_OK && !*me->bad; k.turn++) {
		k.n = k.turn % 8 == 0 ? 30000 - k.turn : 1 + mix(k.turn) % 40;
		rc = call_sum(&k);
	}
	return rc;
}

TEST_LOOP(sums_in_a_row_use_cells_again, 1, GANG_MAX + 1)
{
	gang_run((unsigned)_i, many, NULL);
}

/* --- a rank gives up --- */

/* A world of 2 to 4, and who is at fault. */
static const struct fault {
	unsigned world, rank;
} faults[] = {{2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}};

struct giving_up {
	unsigned rank, place, turn;
};

static sw_status give_up(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const struct giving_up *up = ctx;
	struct call k = call_of(c, me, 1);
	bool on = true;
	sw_status rc = SW_OK;

	k.n = 600;
	for (; k.turn < 5000 && rc == SW_OK; k.turn++) {
		if (k.turn == up->turn && k.rank == up->rank) {
			sw_comm_give_up(c, SW_NOMEM, "no memory for the rows");
			sw_comm_give_up(c, SW_IO, "a later one does not count");
		}
		rc = calls[up->place](&k);
	}
	if (sw_comm_blamed(c) != up->rank)
		GANG_BAD(me, "rank %u is blamed", sw_comm_blamed(c));
	if (rc == sw_comm_barrier(c) && rc == sw_comm_broadcast(c, 0, &on, sizeof on))
		return rc;
	GANG_BAD(me, "another error than before");
	return SW_INTERNAL;
}

/* Large ones, which a free gives back to the system: a rank that still read them may crash, and a
 * memory checker says so. */
static sw_status freed_at_once(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	enum { N = 100000 };
	const struct giving_up *up = ctx;
	sw_status rc = SW_OK;

	(void)me;
	for (unsigned turn = 0; rc == SW_OK; turn++) {
		float *p = calloc(N, sizeof *p);

		if (turn == up->turn && sw_comm_rank(c) == up->rank)
			sw_comm_give_up(c, SW_NOMEM, "no memory for the rows");
		for (size_t at = 0; at < N && rc == SW_OK; at += N / 4)
			rc = sw_comm_sum_begin(c, NULL, p + at, N / 4, sw_comm_world(c));
		if (rc == SW_OK)
			rc = sw_comm_sum_end(c);
		free(p);
	}
	return rc;
}

TEST_ROWS(rank_that_gives_up_tells_all_why_and_they_may_free_what_they_have, faults)
{
	const struct fault f = faults[_i];
	char line[64] = "no memory for the rows";

	if (f.rank > 0)
		(void)snprintf(line, sizeof line, "rank %u: no memory for the rows", f.rank);
	for (unsigned i = 0; i < 5 * ROWS(calls); i++) {
		struct giving_up up = {f.rank, i % ROWS(calls), i / ROWS(calls)};

		gang_ends(f.world, give_up, &up, SW_NOMEM, line);
		gang_ends(f.world, freed_at_once, &(struct giving_up){f.rank, 0, i}, SW_NOMEM,
			  line);
	}
}

/* --- signs of life --- */

static atomic_uint heard;

static void hear(void *ctx)
{
	(void)ctx;
	(void)atomic_fetch_add(&heard, 1);
}

/* Rank 0 waits for rank 1, which hangs, or works on: it is quiet then, or not. */
static sw_status hang(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const bool hangs = *(const bool *)ctx;

	if (sw_comm_rank(c) == 0) {
		sw_beat_to(hear, NULL, 0);
		const sw_status rc = sw_comm_barrier(c);

		sw_beat_to(NULL, NULL, 0);
		return rc;
	}
	for (int i = 0; i < 100; i++) {
		if (!hangs)
			sw_comm_beat(c);
		if (i == 90)
			atomic_store(&heard, 0);
		(void)poll(NULL, 0, 100);
	}
	if (hangs != (atomic_load(&heard) == 0))
		GANG_BAD(me, "%u signs of life", atomic_load(&heard));
	return sw_comm_barrier(c);
}

/* _i: it hangs */
TEST_LOOP(rank_that_waits_for_one_that_hangs_is_quiet, 0, 2)
{
	bool hangs = _i;

	gang_run(2, hang, &hangs);
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 60);
}
