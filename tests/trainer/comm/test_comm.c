/* tests/trainer/comm/test_comm.c — what ranks do together has the bits of the same done alone, each
 * a thread. */
#include "tests/trainer/comm/draws.h"
#include "tests/trainer/comm/gang.h"
#include "trainer/comm/comm_internal.h"
#include <sched.h>

/* A row: a world. */
#define CASES         GANG_MAX
#define CASE_WORLD(i) (1 + (unsigned)(i))

static void element(enum sw_comm_type type, void *p, unsigned rank, unsigned turn, size_t i)
{
	if (type == SW_COMM_F32)
		((float *)p)[i] = (float)number(rank, turn, i);
	else if (type == SW_COMM_F64)
		((double *)p)[i] = number(rank, turn, i);
	else
		((int64_t *)p)[i] = (int64_t)draw(rank, turn, i);
}

/* The plain sum, at p[0]. */
static void plain(enum sw_comm_type type, void *p, unsigned parts, unsigned turn, size_t i)
{
	if (type == SW_COMM_F32) {
		float sum = (float)number(0, turn, i);
		for (unsigned r = 1; r < parts; r++)
			sum += (float)number(r, turn, i);
		memcpy(p, &sum, sizeof sum);
	} else if (type == SW_COMM_F64) {
		double sum = number(0, turn, i);
		for (unsigned r = 1; r < parts; r++)
			sum += number(r, turn, i);
		memcpy(p, &sum, sizeof sum);
	} else {
		uint64_t sum = 0;
		for (unsigned r = 0; r < parts; r++)
			sum += draw(r, turn, i);
		memcpy(p, &sum, sizeof sum);
	}
}

static size_t size_of(enum sw_comm_type type)
{
	return type == SW_COMM_F32 ? sizeof(float) : sizeof(double);
}

/* As the numbers of one turn: what every rank would get. */
static bool is_sum(struct gang_rank *me, enum sw_comm_type type, const char *p, size_t n,
		   unsigned parts, unsigned turn)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t want = 0;

		plain(type, &want, parts, turn, i);
		if (memcmp(p + i * size_of(type), &want, size_of(type)) == 0)
			continue;
		GANG_BAD(me, "turn %u, type %d, %u parts: element %zu of %zu is another", turn,
			 (int)type, parts, i, n);
		return false;
	}
	return true;
}

/* --- sums --- */

static const size_t sizes[] = {
	0,
	1,
	3,
	255,
	1000,
	COMM_CELL / 8 - 1,
	COMM_CELL / 8,
	COMM_CELL / 4,
	COMM_CELL / 4 + 1,
	62006,
	300001,
};

static sw_status sums(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	char *all = malloc(300001 * sizeof(double) + 64);
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; turn < 3 * ROWS(sizes) && rc == SW_OK; turn++) {
		const enum sw_comm_type type = (enum sw_comm_type)(turn % 3);
		const size_t n = sizes[turn / 3];
		const unsigned parts = 1 + (unsigned)(mix(turn) % world);
		char *p = all + size_of(type) * (turn % 4); /* aligned to an element, no more */

		for (size_t i = 0; i < n; i++)
			element(type, p, rank, turn, i);
		rc = sw_comm_sum(c, type, p, n, parts);
		if (rc == SW_OK && !is_sum(me, type, p, n, parts, turn))
			break;
	}
	free(all);
	return rc;
}

TEST_LOOP(sum_of_any_size_has_bits_of_rank_order, 0, CASES)
{
	gang_run(CASE_WORLD(_i), sums, NULL);
}

/* Small and large ones by turns; who is late changes. */
static sw_status many(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	static _Thread_local float p[70000];
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; turn < 600 && rc == SW_OK; turn++) {
		const size_t n = turn % 8 == 0 ? 70000 - turn : 1 + mix(turn) % 40;
		const unsigned parts = 1 + (unsigned)(mix(turn + 7) % world);

		if (mix(turn) % world == rank)
			sched_yield();
		for (size_t i = 0; i < n; i++)
			element(SW_COMM_F32, p, rank, turn, i);
		rc = sw_comm_sum(c, SW_COMM_F32, p, n, parts);
		if (rc == SW_OK && !is_sum(me, SW_COMM_F32, (char *)p, n, parts, turn))
			break;
	}
	return rc;
}

TEST_LOOP(sums_in_a_row_use_cells_again, 0, CASES)
{
	gang_run(CASE_WORLD(_i), many, NULL);
}

/* --- begun sums --- */

/* A sum of doubles between begun ones: right when the call is back, as are these in the end. */
static sw_status buckets_and_now(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	enum { N = 60000, EACH = 20000, DOUBLES = 500 };
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	static _Thread_local float p[N];
	double now[DOUBLES];
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; turn < 40 && rc == SW_OK && *me->bad == '\0'; turn++) {
		const unsigned parts = 1 + (unsigned)(mix(turn) % world);

		for (size_t i = 0; i < N; i++)
			element(SW_COMM_F32, p, rank, turn, i);
		for (size_t at = 0; at < N && rc == SW_OK; at += EACH) {
			for (size_t i = 0; i < DOUBLES; i++)
				element(SW_COMM_F64, now, rank, turn + 1000, i);
			rc = sw_comm_sum_begin(c, NULL, p + at, EACH, parts);
			if (rc == SW_OK)
				rc = sw_comm_sum_now(c, NULL, now, DOUBLES, parts);
			if (rc == SW_OK &&
			    !is_sum(me, SW_COMM_F64, (char *)now, DOUBLES, parts, turn + 1000))
				return rc;
		}
		if (rc == SW_OK)
			rc = sw_comm_sum_end(c);
		if (rc == SW_OK)
			(void)is_sum(me, SW_COMM_F32, (char *)p, N, parts, turn);
	}
	return rc;
}

TEST_LOOP(sum_between_begun_ones_is_there_at_once, 0, CASES)
{
	gang_run(CASE_WORLD(_i), buckets_and_now, NULL);
}

/* More sums than are remembered, of ranks that are late by turns. */
static sw_status many_begun(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	enum { N = 5 * COMM_SUMS, EACH = 3000 };
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	float *p = malloc((size_t)N * EACH * sizeof *p);
	sw_status rc = SW_OK;

	(void)ctx;
	for (size_t i = 0; i < (size_t)N * EACH; i++)
		element(SW_COMM_F32, p, rank, 0, i);
	for (unsigned k = 0; k < N && rc == SW_OK; k++) {
		if (mix(k / 40) % world == rank)
			sched_yield();
		rc = sw_comm_sum_begin(c, NULL, p + (size_t)k * EACH, EACH, world);
	}
	if (rc == SW_OK)
		rc = sw_comm_sum_end(c);
	if (rc == SW_OK)
		(void)is_sum(me, SW_COMM_F32, (char *)p, (size_t)N * EACH, world, 0);
	free(p);
	return rc;
}

TEST_LOOP(begun_sums_may_be_more_than_are_remembered, 0, CASES)
{
	gang_run(CASE_WORLD(_i), many_begun, NULL);
}

/* --- the rest --- */

static bool holds(const unsigned char *p, size_t n, unsigned rank, unsigned turn)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)draw(rank, turn, i))
			return false;
	return true;
}

static sw_status copies(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	static const size_t n_of[] = {0, 1, 1000, COMM_CELL, COMM_CELL + 1, 3000000};
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	unsigned char *mine = malloc(3000000), *all = malloc((size_t)3000000 * world);
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; turn < ROWS(n_of) * world && rc == SW_OK; turn++) {
		const size_t n = n_of[turn / world];
		const unsigned from = turn % world;

		for (size_t i = 0; i < n; i++)
			mine[i] = (unsigned char)draw(rank, turn, i);
		rc = sw_comm_all_gather(c, mine, all, n);
		for (unsigned r = 0; r < world && rc == SW_OK; r++)
			if (!holds(all + r * n, n, r, turn))
				GANG_BAD(me, "all_gather of %zu: row %u is another", n, r);
		if (rc == SW_OK)
			rc = sw_comm_broadcast(c, from, mine, n);
		if (rc == SW_OK && !holds(mine, n, from, turn))
			GANG_BAD(me, "broadcast of %zu from %u is another", n, from);
		if (rc == SW_OK)
			rc = sw_comm_barrier(c);
	}
	free(mine);
	free(all);
	return rc;
}

TEST_LOOP(broadcast_and_all_gather_give_all_the_same, 0, CASES)
{
	gang_run(CASE_WORLD(_i), copies, NULL);
}

/* Nobody leaves a barrier before all have come to it. */
static sw_status barriers(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	struct gang_rank *all = me - sw_comm_rank(c);
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 1; turn <= 300 && rc == SW_OK; turn++) {
		atomic_store(&me->done, turn);
		rc = sw_comm_barrier(c);
		for (unsigned r = 0; r < sw_comm_world(c) && rc == SW_OK; r++)
			if (atomic_load(&all[r].done) < turn)
				GANG_BAD(me, "rank %u was not at barrier %u", r, turn);
	}
	return rc;
}

TEST_LOOP(barrier_is_left_when_all_have_come, 0, CASES)
{
	gang_run(CASE_WORLD(_i), barriers, NULL);
}

/* Steps in launches, until rank 0 says stop; all have made the same number then. */
static sw_status steps(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned stop = *(const unsigned *)ctx;
	float g[100] = {0};
	int64_t made = 0;
	int64_t all[GANG_MAX];
	sw_status rc;

	for (;;) {
		bool on = made < stop; /* what the others think does not count */

		if (sw_comm_rank(c) != 0)
			on = !on;
		rc = sw_comm_broadcast(c, 0, &on, sizeof on);
		if (rc != SW_OK || !on)
			break;
		rc = sw_comm_sum(c, SW_COMM_F32, g, 100, sw_comm_world(c));
		if (rc != SW_OK)
			break;
		made++;
	}
	if (rc == SW_OK)
		rc = sw_comm_all_gather(c, &made, all, sizeof made);
	for (unsigned r = 0; r < sw_comm_world(c) && rc == SW_OK; r++)
		if (all[r] != (int64_t)stop)
			GANG_BAD(me, "rank %u made %ld steps of %u", r, (long)all[r], stop);
	return rc;
}

TEST_LOOP(all_stop_at_rank_0s_word, 0, CASES)
{
	for (unsigned k = 0; k < 3; k++) {
		unsigned stop = (unsigned)(mix((unsigned)_i * 3 + k) % 200);

		gang_run(CASE_WORLD(_i), steps, &stop);
	}
}

RUN_TESTS(NULL, NULL)
