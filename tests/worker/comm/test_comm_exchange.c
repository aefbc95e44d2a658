/* tests/worker/comm/test_comm_exchange.c — what two ranks exchange arrives, beside the sums of
 * stages, whose bits are those of the plain sum. A whole pipeline: tests/worker/net. */
#include "tests/worker/comm/draws.h"
#include "tests/worker/comm/gang.h"
#include "worker/comm/comm_internal.h"

#define CHUNK_N (COMM_CHUNK / sizeof(float))
#define CELLS_N (COMM_CELLS * CHUNK_N) /* what one rank's cells hold: 8 MiB */
#define MOST_N  (CELLS_N + 2 * CHUNK_N + 3)

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

static const size_t sizes[] = {0, 1, 1003, CHUNK_N, CHUNK_N + 1, MOST_N};

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
	gang_run("shm", ROW_WORLD(_i), pairs, NULL);
}

/* What is sent waits for nobody while the cells suffice: rank 1 comes when rank 0 is back. */
static sw_status send_first(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const int *gate = ctx;
	char byte = 0;
	sw_status rc = SW_OK;

	if (sw_comm_rank(c) == 1 && read(gate[0], &byte, 1) != 1)
		GANG_BAD(me, "nobody opens the gate");
	for (unsigned turn = 0; turn < 4 && rc == SW_OK; turn++)
		rc = sw_comm_rank(c) == 0 ? trade(c, me, 1, CELLS_N / 4, 0, turn)
					  : trade(c, me, 0, 0, CELLS_N / 4, turn);
	if (sw_comm_rank(c) == 0 && write(gate[1], &byte, 1) != 1)
		GANG_BAD(me, "the gate stays shut");
	return rc == SW_OK ? sw_comm_barrier(c) : rc;
}

TEST(sending_waits_for_nobody_while_slots_suffice)
{
	int gate[2];

	ck_assert_int_eq(pipe(gate), 0);
	gang_run("shm", 2, send_first, gate);
}

/* Streams keep their order: exchanges, broadcasts, words and sums of all by turns. */
static sw_status by_turns(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const unsigned world = sw_comm_world(c), rank = sw_comm_rank(c);
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; turn < 400 && rc == SW_OK; turn++) {
		const unsigned a = (unsigned)(mix(turn) % world), b = (a + 1) % world;
		const size_t n = turn % 16 == 0 ? 3 * CHUNK_N + turn : 1 + mix(turn) % 50;
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
	gang_run("shm", ROW_WORLD(_i), by_turns, NULL);
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

#define GRADIENTS 2500003 /* more than the cells hold */

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

	gang_run("shm", s.world, stage_sums, &s);
}

/* Rank 0 begins a sum that its cells do not hold, and sends what they do not hold either to rank 1,
 * which has yet to hear from rank 2, which waits for the sum: what is sent must leave it cells. */
static sw_status sum_before_send(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const struct shape s = {4, 2};
	const size_t n = 3 * CELLS_N;
	const unsigned rank = sw_comm_rank(c);
	float *p = floats(n);
	sw_status rc = SW_OK;

	(void)ctx;
	sw_comm_groups(c, 2);
	for (size_t i = 0; i < n; i++)
		p[i] = (float)number(rank, 0, i);
	if (rank % 2 == 0)
		rc = sw_comm_sum_begin(c, NULL, p, n, 2);
	if (rc == SW_OK && rank == 0)
		rc = trade(c, me, 1, MOST_N, 0, 1);
	if (rc == SW_OK && rank % 2 == 0)
		rc = sw_comm_sum_end(c);
	if (rc == SW_OK && rank == 2)
		rc = trade(c, me, 1, 1, 0, 2);
	if (rc == SW_OK && rank == 1)
		rc = trade(c, me, 2, 0, 1, 2);
	if (rc == SW_OK && rank == 1)
		rc = trade(c, me, 0, 0, MOST_N, 1);
	if (rc == SW_OK && rank % 2 == 0)
		check_stage(me, &s, rank, p, n, 2, 0);
	free(p);
	return rc == SW_OK ? sw_comm_barrier(c) : rc;
}

TEST(what_is_sent_takes_no_slot_that_a_begun_sum_needs)
{
	gang_run("shm", 4, sum_before_send, NULL);
}

/* --- ranks that do not do the same --- */

struct differ {
	size_t n[2][2]; /* of ranks 0 and 1: out, in */
};

static const struct differ differ_rows[] = {
	{{{10, 0}, {0, 12}}}, {{{12, 0}, {0, 10}}}, {{{CHUNK_N + 1, 0}, {0, CHUNK_N}}},
	{{{0, 0}, {0, 1}}},   {{{5, 5}, {5, 4}}},   {{{MOST_N, MOST_N}, {MOST_N - 1, MOST_N}}},
};

static sw_status differ(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const struct differ *d = ctx;
	const unsigned rank = sw_comm_rank(c);
	float *p = floats(2 * MOST_N);
	sw_status rc = SW_OK;

	(void)me;
	memset(p, 0, 2 * MOST_N * sizeof *p);
	if (rank < 2)
		rc = sw_comm_exchange(c, NULL, 1 - rank, p, d->n[rank][0], p + MOST_N,
				      d->n[rank][1]);
	free(p);
	/* Of the first one a rank may have all before another finds what is wrong. */
	for (int k = 0; k < 2 && rc == SW_OK; k++)
		rc = sw_comm_barrier(c);
	return rc;
}

TEST(sizes_that_differ_end_all_with_a_line)
{
	for (unsigned k = 0; k < ROWS(differ_rows); k++) {
		struct differ d = differ_rows[k];
		struct gang g;

		gang_start(&g, "shm", 3, differ, &d);
		gang_wait(&g);
		for (unsigned r = 0; r < g.world; r++) {
			gang_check(&g, r, SW_INTERNAL, g.rank[0].why);
			ck_assert_msg(strstr(g.rank[r].why, " of an exchange") != NULL,
				      "row %u: %s", k, g.rank[r].why);
		}
		gang_fini(&g);
	}
}

RUN_TESTS(NULL, NULL)
