/* tests/trainer/comm/test_comm_end.c — a rank that gives up ends all others, each with the same
 * reason; one that hangs is heard of no more. */
#include "base/beat.h"
#include "tests/trainer/comm/gang.h"
#include <poll.h>
#include <stdlib.h>

/* A world of 2 to 4, and who is at fault. */
static const struct fault {
	unsigned world, rank;
} faults[] = {{2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}};

/* --- the places where a rank may be --- */

static _Thread_local float arena[300000];

static sw_status in_sum(struct sw_comm *c)
{
	return sw_comm_sum(c, SW_COMM_F32, arena, 300000, sw_comm_world(c));
}

static sw_status in_small_sum(struct sw_comm *c)
{
	int64_t n[3] = {1, 2, 3};

	return sw_comm_sum(c, SW_COMM_I64, n, 3, 1);
}

static sw_status in_begun_sums(struct sw_comm *c)
{
	sw_status rc = SW_OK;

	for (size_t at = 0; at < 300000 && rc == SW_OK; at += 50000)
		rc = sw_comm_sum_begin(c, NULL, arena + at, 50000, sw_comm_world(c));
	return rc != SW_OK ? rc : sw_comm_sum_end(c);
}

/* Each two neighbours, one pair after the other. */
static sw_status in_exchange(struct sw_comm *c)
{
	const unsigned rank = sw_comm_rank(c), last = sw_comm_world(c) - 1;
	sw_status rc = SW_OK;

	if (rank > 0)
		rc = sw_comm_exchange(c, NULL, rank - 1, arena, 70000, arena + 150000, 150000);
	if (rc == SW_OK && rank < last)
		rc = sw_comm_exchange(c, NULL, rank + 1, arena, 150000, arena + 150000, 70000);
	return rc;
}

static sw_status in_broadcast(struct sw_comm *c)
{
	return sw_comm_broadcast(c, sw_comm_world(c) - 1, arena, sizeof arena);
}

static sw_status in_all_gather(struct sw_comm *c)
{
	char all[4 * 1000];

	return sw_comm_all_gather(c, arena, all, 1000);
}

static sw_status in_go(struct sw_comm *c)
{
	bool on = true;

	return sw_comm_broadcast(c, 0, &on, sizeof on);
}

static sw_status (*const places[])(struct sw_comm *c) = {
	in_sum,        in_small_sum, in_begun_sums,   in_broadcast,
	in_all_gather, in_exchange,  sw_comm_barrier, in_go,
};

/* --- a rank gives up --- */

struct giving_up {
	unsigned rank, place;
};

static sw_status give_up(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const struct giving_up *up = ctx;
	bool on = true;
	sw_status rc = SW_OK;

	for (unsigned turn = 0; turn < 5000 && rc == SW_OK; turn++) {
		if (turn == 3 && sw_comm_rank(c) == up->rank) {
			sw_comm_give_up(c, SW_NOMEM, "no memory for the rows");
			sw_comm_give_up(c, SW_IO, "a later one does not count");
		}
		rc = places[up->place](c);
	}
	if (rc == SW_OK) /* a rank that had nothing to wait for: then */
		rc = sw_comm_barrier(c);
	if (sw_comm_blamed(c) != up->rank)
		GANG_BAD(me, "rank %u is blamed", sw_comm_blamed(c));
	if (rc == sw_comm_barrier(c) && rc == sw_comm_broadcast(c, 0, &on, sizeof on))
		return rc;
	GANG_BAD(me, "another error than before");
	return SW_INTERNAL;
}

TEST_ROWS(rank_that_gives_up_tells_all_why, faults)
{
	char line[64] = "no memory for the rows";

	if (faults[_i].rank > 0)
		(void)snprintf(line, sizeof line, "rank %u: no memory for the rows",
			       faults[_i].rank);
	for (unsigned place = 0; place < ROWS(places); place++) {
		struct giving_up up = {.rank = faults[_i].rank, .place = place};

		gang_ends(faults[_i].world, give_up, &up, SW_NOMEM, line);
	}
}

/* --- a rank frees its buffers as soon as it knows of an error --- */

/* Each has its own numbers, and fills them with others when it is back: a rank that still read them
 * would have a sum of these, or a memory checker says so. */
static sw_status freed_at_once(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	enum { N = 100000 };
	const struct giving_up *up = ctx;
	sw_status rc = SW_OK;

	(void)me;
	for (unsigned turn = 0; rc == SW_OK; turn++) {
		float *p = calloc(N, sizeof *p);

		if (turn == up->place && sw_comm_rank(c) == up->rank)
			sw_comm_give_up(c, SW_NOMEM, "no more");
		for (size_t at = 0; at < N && rc == SW_OK; at += N / 4)
			rc = sw_comm_sum_begin(c, NULL, p + at, N / 4, sw_comm_world(c));
		if (rc == SW_OK)
			rc = sw_comm_sum_end(c);
		free(p);
	}
	return rc;
}

TEST_ROWS(ranks_free_their_buffers_after_an_error, faults)
{
	char line[64] = "no more";

	if (faults[_i].rank > 0)
		(void)snprintf(line, sizeof line, "rank %u: no more", faults[_i].rank);
	for (unsigned turn = 0; turn < 30; turn++) {
		struct giving_up up = {.rank = faults[_i].rank, .place = turn};

		gang_ends(faults[_i].world, freed_at_once, &up, SW_NOMEM, line);
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

	(void)me;
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
