/* tests/trainer/comm/test_comm_exchange.c — what two ranks exchange arrives, beside the sums of
 * stages, whose bits are those of the plain sum. A whole pipeline: tests/trainer/net. */
#include "tests/trainer/comm/draws.h"
#include "tests/trainer/comm/gang.h"
#include "trainer/comm/comm_internal.h"

#define MOST_N 2500003

/* What rank `from` sends to rank `to`: whole numbers, which a float has exactly. */
static float piece(unsigned from, unsigned to, unsigned turn, size_t i)
{
	return (float)((i * 2654435761u + mix(turn * 64 + from * 8 + to)) & 0x3fffff);
}

static float *floats(size_t n)
{
	float *p = malloc((n + 1) * sizeof *p);

	ck_assert_ptr_nonnull(p);
	return p;
}

/* One exchange, whose content is checked; not a float more is written. */
static sw_status trade(struct sw_comm *c, struct gang_rank *me, unsigned peer, size_t out_n,
		       size_t in_n, unsigned turn)
{
	const unsigned rank = sw_comm_rank(c);
	float *out = floats(out_n), *in = floats(in_n);
	sw_status rc;

	for (size_t i = 0; i < out_n; i++)
		out[i] = piece(rank, peer, turn, i);
	in[in_n] = -1;
	rc = sw_comm_exchange(c, NULL, peer, out_n > 0 ? out : NULL, out_n, in_n > 0 ? in : NULL,
			      in_n);
	for (size_t i = 0; i < in_n && rc == SW_OK; i++)
		if (in[i] != piece(peer, rank, turn, i)) {
			GANG_BAD(me, "turn %u: float %zu of %zu from rank %u is another", turn, i,
				 in_n, peer);
			break;
		}
	if (in[in_n] != -1)
		GANG_BAD(me, "turn %u: a float more than %zu was written", turn, in_n);
	free(out);
	free(in);
	return rc;
}

/* --- two ranks --- */

static const size_t sizes[] = {0, 1, 1003, 70000, MOST_N};

/* Each pair of sizes, between each pair of ranks. */
static sw_status pairs(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	unsigned turn = 0;
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned k = 0; k < ROWS(sizes) * ROWS(sizes) && rc == SW_OK; k++) {
		const size_t up = sizes[k % ROWS(sizes)], down = sizes[k / ROWS(sizes)];

		for (unsigned a = 0; a < world && rc == SW_OK; a++)
			for (unsigned b = a + 1; b < world && rc == SW_OK; b++, turn++) {
				if (rank == a)
					rc = trade(c, me, b, up, down, turn);
				else if (rank == b)
					rc = trade(c, me, a, down, up, turn);
			}
	}
	return rc == SW_OK ? sw_comm_barrier(c) : rc;
}

/* A row: a world of 2 to 4. */
#define ROW_N        3
#define ROW_WORLD(i) (2 + (unsigned)(i))

TEST_LOOP(exchange_of_any_sizes_arrives, 0, ROW_N)
{
	gang_run(ROW_WORLD(_i), pairs, NULL);
}

/* Calls keep their order: exchanges, broadcasts, words and sums of all by turns. */
static sw_status by_turns(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; turn < 400 && rc == SW_OK; turn++) {
		const unsigned a = (unsigned)(mix(turn) % world), b = (a + 1) % world;
		const size_t n = turn % 16 == 0 ? 100000 + turn : 1 + mix(turn) % 50;
		double word = turn, sum = rank;
		bool on = turn % 3 == 0;

		if (rank == a)
			rc = trade(c, me, b, n, turn % 5, turn);
		else if (rank == b)
			rc = trade(c, me, a, turn % 5, n, turn);
		if (rc == SW_OK)
			rc = sw_comm_broadcast(c, turn % world, &word, sizeof word);
		if (rc == SW_OK && turn % 4 == 1)
			rc = sw_comm_broadcast(c, 0, &on, sizeof on);
		if (rc == SW_OK)
			rc = sw_comm_sum(c, SW_COMM_F64, &sum, 1, world);
		if (word != turn || on != (turn % 3 == 0) ||
		    (rc == SW_OK && sum != world * (world - 1) / 2))
			GANG_BAD(me, "turn %u: a word or a sum is another", turn);
	}
	return rc;
}

TEST_LOOP(exchanges_keep_their_place_among_calls_of_all, 0, ROW_N)
{
	gang_run(ROW_WORLD(_i), by_turns, NULL);
}

/* --- sums of stages --- */

struct shape {
	unsigned world, stages;
};

/* As the numbers of one turn: the sum of the stage's first `parts` ranks, in their order. */
static void check_stage(struct gang_rank *me, const struct shape *s, unsigned rank, const float *p,
			size_t n, unsigned parts, unsigned turn)
{
	for (size_t i = 0; i < n; i++) {
		float want = (float)number(rank % s->stages, turn, i);

		for (unsigned k = 1; k < parts; k++)
			want += (float)number(rank % s->stages + k * s->stages, turn, i);
		if (memcmp(&p[i], &want, sizeof want) == 0)
			continue;
		GANG_BAD(me, "turn %u, %u parts: element %zu of %zu is another", turn, parts, i, n);
		return;
	}
}

/* Of the pipeline that is this rank's: each cut once, from above. */
static sw_status cross_cuts(struct sw_comm *c, struct gang_rank *me, unsigned stages, size_t n,
			    unsigned turn)
{
	const unsigned rank = sw_comm_rank(c), stage = rank % stages;
	sw_status rc = SW_OK;

	if (stage > 0)
		rc = trade(c, me, rank - 1, n, n / 2, turn);
	if (rc == SW_OK && stage + 1 < stages)
		rc = trade(c, me, rank + 1, n / 2, n, turn);
	return rc;
}

#define GRADIENTS 2500003

static sw_status stage_sums(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const struct shape *s = ctx;
	const unsigned rank = sw_comm_rank(c), group = s->world / s->stages;
	float *p = floats(GRADIENTS);
	int64_t all = 1;
	sw_status rc = SW_OK;

	sw_comm_groups(c, s->stages);
	for (unsigned turn = 0; turn < 4 && rc == SW_OK && *me->bad == '\0'; turn++) {
		const unsigned parts = 1 + turn % group;
		const size_t most = turn % 3 == 2 ? 30000 : 900000; /* 30000: over COMM_SUMS */

		for (size_t i = 0; i < GRADIENTS; i++)
			p[i] = (float)number(rank, turn, i);
		for (size_t end = GRADIENTS, n, k = 0; end > 0 && rc == SW_OK; end -= n) {
			n = mix(turn + 100 * ++k) % most;
			n = n < end ? n : end;
			rc = sw_comm_sum_begin(c, NULL, p + end - n, n, parts);
			if (rc == SW_OK && k % 4 == 1)
				rc = cross_cuts(c, me, s->stages, k % 8 == 1 ? MOST_N / 2 : 9,
						turn);
		}
		if (rc == SW_OK)
			rc = sw_comm_sum_end(c);
		if (rc == SW_OK)
			check_stage(me, s, rank, p, GRADIENTS, parts, turn);
		if (rc == SW_OK)
			rc = sw_comm_sum(c, SW_COMM_I64, &all, 1, s->world);
		if (rc == SW_OK && all != s->world)
			GANG_BAD(me, "turn %u: the sum of all is %ld", turn, (long)all);
		all = 1;
	}
	free(p);
	return rc;
}

static const struct shape shapes[] = {{4, 2}, {4, 4}, {4, 1}, {3, 3}, {3, 1}, {2, 2}, {2, 1}};

TEST_ROWS(sums_of_stages_and_exchanges_go_beside_each_other, shapes)
{
	struct shape s = shapes[_i];

	gang_run(s.world, stage_sums, &s);
}

RUN_TESTS(NULL, NULL)
