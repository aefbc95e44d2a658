/* tests/worker/comm/test_comm_end.c — a rank that gives up, ends, is killed or stopped ends all
 * others, each with the same reason, and nothing is left of any. */
#include "tests/worker/comm/gang.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A world of 2 to 4, and who is at fault. */
static const struct fault {
	unsigned world, rank;
} faults[] = {{2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}};

static uint64_t chance(void)
{
	static uint64_t x;

	if (x == 0)
		x = (uint64_t)sw_clock_mono_us() | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x >> 20;
}

/* --- the places where a rank may be --- */

static float arena[300000];

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

/* More than the cells hold, when rank 1 has come: what else rank 0 says, as why it ends, comes
 * behind. */
static sw_status in_one_way(struct sw_comm *c)
{
	const size_t n = 300000;
	sw_status rc = SW_OK;

	if (sw_comm_rank(c) == 0)
		rc = sw_comm_exchange(c, NULL, 1, NULL, 0, arena, 1);
	else if (sw_comm_rank(c) == 1)
		rc = sw_comm_exchange(c, NULL, 0, arena, 1, NULL, 0);
	for (int i = 0; i < 9 && rc == SW_OK; i++) {
		if (sw_comm_rank(c) == 0)
			rc = sw_comm_exchange(c, NULL, 1, arena, n, NULL, 0);
		else if (sw_comm_rank(c) == 1)
			rc = sw_comm_exchange(c, NULL, 0, NULL, 0, arena, n);
	}
	return rc;
}

static sw_status in_broadcast(struct sw_comm *c)
{
	return sw_comm_broadcast(c, sw_comm_world(c) - 1, arena, sizeof arena);
}

static sw_status in_all_gather(struct sw_comm *c)
{
	static char all[4 * 1000];

	return sw_comm_all_gather(c, arena, all, 1000);
}

static sw_status in_go(struct sw_comm *c)
{
	bool on = true;

	return sw_comm_broadcast(c, 0, &on, sizeof on);
}

static sw_status (*const places[])(struct sw_comm *c) = {
	in_sum,     in_small_sum, in_begun_sums,   in_broadcast, in_all_gather,
	in_one_way, in_exchange,  sw_comm_barrier, in_go,
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
			sw_comm_abort(c, SW_NOMEM, "no memory for the rows");
			sw_comm_abort(c, SW_IO, "a later one does not count");
		}
		rc = places[up->place](c);
	}
	if (rc == SW_OK) /* a rank that had nothing to wait for: then */
		rc = sw_comm_barrier(c);
	if (rc == sw_comm_barrier(c) && rc == sw_comm_broadcast(c, 0, &on, sizeof on))
		return rc;
	GANG_BAD(me, "another error than before");
	return SW_INTERNAL;
}

TEST_ROWS(rank_that_gives_up_tells_all_why, faults)
{
	for (unsigned place = 0; place < ROWS(places); place++) {
		struct giving_up up = {.rank = faults[_i].rank, .place = place};
		struct gang g;

		gang_start(&g, "shm", faults[_i].world, give_up, &up);
		gang_wait(&g);
		for (unsigned r = 0; r < g.world; r++)
			gang_check(&g, r, SW_NOMEM, "no memory for the rows");
		gang_fini(&g);
	}
}

/* --- a rank is lost --- */

/* All that ranks do, until something ends it. */
static sw_status work(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	sw_status rc = SW_OK;

	(void)ctx;
	for (unsigned turn = 0; rc == SW_OK; turn++) {
		atomic_store(&me->done, turn);
		rc = places[turn % ROWS(places)](c);
		sw_comm_beat(c);
	}
	return rc;
}

/* Does that to the rank at a random moment. The others learn it within the limit. */
static void lose(unsigned world, unsigned rank, int sig, const char *how)
{
	struct gang g;
	char line[64];
	int64_t at_us;

	gang_start(&g, "shm", world, work, NULL);
	gang_await(&g, rank, 1 + (unsigned)(chance() % 60));
	for (uint64_t k = chance() % 20000; k > 0; k--) /* no wait: any moment of a turn */
		at_us = sw_clock_mono_us();
	at_us = sw_clock_mono_us();
	ck_assert_int_eq(kill(g.rank[rank].pid, sig), 0);
	gang_wait(&g); /* of a stopped one too: the others kill it */
	(void)snprintf(line, sizeof line, "rank %u of %u %s", rank, world, how);
	for (unsigned r = 0; r < world; r++) {
		if (r == rank)
			continue;
		gang_check(&g, r, SW_PEER_LOST, line);
		ck_assert_msg(g.rank[r].end_us - at_us < 10 * 1000000, "rank %u ends after %ld ms",
			      r, (long)(g.rank[r].end_us - at_us) / 1000);
	}
	ck_assert_msg(WIFSIGNALED(g.rank[rank].status) && WTERMSIG(g.rank[rank].status) == SIGKILL,
		      "rank %u ended with status %x", rank, (unsigned)g.rank[rank].status);
	gang_fini(&g);
}

TEST_ROWS(killed_rank_ends_all, faults)
{
	const size_t fds = gang_fds();

	for (int k = 0; k < 8; k++)
		lose(faults[_i].world, faults[_i].rank, SIGKILL, "has ended");
	ck_assert_uint_eq(gang_fds(), fds);
}

TEST_ROWS(stopped_rank_is_killed_and_ends_all, faults)
{
	setenv("SWEEPD_COMM_SILENT_MS", "1000", 1);
	for (int k = 0; k < 2; k++)
		lose(faults[_i].world, faults[_i].rank, SIGSTOP, "is silent for 1 s");
}

/* One long operation: rank 1 computes for over two limits without a sign of life. */
static sw_status compute(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	volatile double x = 1;
	float one = 1;

	(void)me;
	(void)ctx;
	for (const int64_t until_us = sw_clock_mono_us() + 2500000;
	     sw_comm_rank(c) == 1 && sw_clock_mono_us() < until_us;)
		x = x * 1.000001;
	return sw_comm_sum(c, SW_COMM_F32, &one, 1, sw_comm_world(c));
}

static void *live_beside(void *ctx)
{
	gang_live(ctx, 1, compute, NULL);
	return NULL;
}

/* _i: rank 1's work is that of its process's first thread, or of another one, as a lane's is */
TEST_LOOP(rank_that_computes_for_long_is_not_lost, 0, 2)
{
	struct sw_err err = SW_ERR_INIT;
	struct gang g = {.world = 2};
	pthread_t thread;
	pid_t pid;

	setenv("SWEEPD_COMM_SILENT_MS", "1000", 1);
	g.rank = mmap(NULL, 2 * sizeof *g.rank, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ck_assert_int_eq(sw_comm_meet(&g.place, "shm", 2, &err), SW_OK);
	gang_fork(&g, 0, compute, NULL);
	pid = fork();
	if (pid == 0) {
		if (_i == 1 && pthread_create(&thread, NULL, live_beside, &g) == 0)
			(void)pthread_join(thread, NULL);
		gang_live(&g, 1, compute, NULL);
	}
	g.rank[1].pid = pid;
	close(g.place.fd);
	gang_wait(&g);
	for (unsigned r = 0; r < g.world; r++)
		gang_check(&g, r, SW_OK, "");
	gang_fini(&g);
}

/* Rank 1's ticket names a cell that there is not, as a fault of memory might have it. */
static sw_status break_ticket(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	enum { BROADCAST = 1, BYTES = 12345 };
	struct gang *g = ctx;
	static char p[BYTES];
	struct stat st;
	uint32_t *word;

	if (sw_comm_rank(c) == 0)
		gang_await(g, 1, 1);
	const sw_status rc = sw_comm_broadcast(c, 1, p, BYTES);

	if (sw_comm_rank(c) == 1) {
		ck_assert_int_eq(fstat(g->place.fd, &st), 0);
		word = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    g->place.fd, 0);
		ck_assert_ptr_ne(word, MAP_FAILED);
		while (word[0] != BROADCAST || word[1] != BYTES)
			word++;
		word[2] = UINT32_MAX;
		atomic_store(&me->done, 1);
	}
	return rc == SW_OK ? sw_comm_barrier(c) : rc;
}

TEST(ticket_of_no_slot_crashes_no_rank)
{
	struct gang g;

	gang_start(&g, "shm", 2, break_ticket, &g);
	gang_wait(&g);
	for (unsigned r = 0; r < g.world; r++)
		gang_check(&g, r, SW_OK, "");
	gang_fini(&g);
}

/* As a machine that sleeps, or a person who stops all of a group: nobody takes another for lost. */
TEST(gang_that_is_stopped_as_a_whole_goes_on)
{
	struct gang g;
	unsigned far[GANG_MAX];

	setenv("SWEEPD_COMM_SILENT_MS", "1000", 1);
	gang_start(&g, "shm", 3, work, NULL);
	gang_await(&g, 0, 20);
	for (unsigned r = 0; r < g.world; r++)
		ck_assert_int_eq(kill(g.rank[r].pid, SIGSTOP), 0);
	for (unsigned r = 0; r < g.world; r++)
		ck_assert_int_eq(waitpid(g.rank[r].pid, NULL, WUNTRACED), g.rank[r].pid);
	for (const int64_t until_us = sw_clock_mono_us() + 1500000; sw_clock_mono_us() < until_us;)
		(void)poll(NULL, 0, 100);
	for (unsigned r = 0; r < g.world; r++)
		far[r] = atomic_load(&g.rank[r].done);
	for (unsigned r = 0; r < g.world; r++)
		ck_assert_int_eq(kill(g.rank[r].pid, SIGCONT), 0);
	for (unsigned r = 0; r < g.world; r++)
		gang_await(&g, r, far[r] + 30);
	kill(g.rank[1].pid, SIGKILL);
	gang_wait(&g);
	gang_check(&g, 0, SW_PEER_LOST, "rank 1 of 3 has ended");
	gang_check(&g, 2, SW_PEER_LOST, "rank 1 of 3 has ended");
	gang_fini(&g);
}

/* --- a rank that ends too early, or never comes --- */

static sw_status leave_early(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	const struct fault *f = ctx;
	sw_status rc = SW_OK;

	(void)me;
	for (unsigned turn = 0; rc == SW_OK; turn++) {
		if (sw_comm_rank(c) == f->rank && turn == 20)
			return SW_OK;
		rc = in_sum(c);
	}
	return rc;
}

TEST_ROWS(rank_that_closes_early_is_lost, faults)
{
	struct fault f = faults[_i];
	struct gang g;
	char line[64];

	setenv("SWEEPD_COMM_SILENT_MS", "500", 1);
	(void)snprintf(line, sizeof line, "rank %u of %u has ended", f.rank, f.world);
	gang_start(&g, "shm", f.world, leave_early, &f);
	gang_wait(&g);
	for (unsigned r = 0; r < f.world; r++)
		gang_check(&g, r, r == f.rank ? SW_OK : SW_PEER_LOST, r == f.rank ? "" : line);
	gang_fini(&g);
}

/* Rank 0 has closed while the others wait for each other. */
static sw_status leave_first(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	sw_status rc = sw_comm_barrier(c);

	(void)me, (void)ctx;
	if (sw_comm_rank(c) == 0)
		return rc;
	if (sw_comm_rank(c) == 1)
		(void)poll(NULL, 0, 500); /* the wait of rank 2 is what is tested */
	if (rc == SW_OK)
		rc = sw_comm_exchange(c, NULL, 3 - sw_comm_rank(c), arena, 5, arena + 5, 5);
	return rc;
}

TEST(rank_that_has_closed_is_not_lost_while_others_wait)
{
	gang_run("shm", 3, leave_first, NULL);
}

/* What was sent before reaches all, however late they read it: all of its cells. */
static sw_status leave_last_word(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	static unsigned char p[8 << 20];
	const unsigned last = sw_comm_world(c) - 1;
	sw_status rc = sw_comm_barrier(c);

	(void)ctx;
	if (sw_comm_rank(c) == last)
		memset(p, 7, sizeof p);
	else
		(void)poll(NULL, 0, 50 * (int)sw_comm_rank(c)); /* the wait is what is tested */
	if (rc == SW_OK)
		rc = sw_comm_broadcast(c, last, p, sizeof p);
	for (size_t i = 0; i < sizeof p && rc == SW_OK; i++)
		if (p[i] != 7) {
			GANG_BAD(me, "byte %zu is another", i);
			break;
		}
	return rc;
}

TEST_LOOP(last_words_of_a_rank_reach_all, 0, 3)
{
	gang_run("shm", 2 + (unsigned)_i, leave_last_word, NULL);
}

static sw_status nothing(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	(void)c, (void)me, (void)ctx;
	return SW_OK;
}

TEST(rank_that_never_comes_is_lost)
{
	struct gang g;
	char line[64];

	setenv("SWEEPD_COMM_SILENT_MS", "500", 1);
	(void)snprintf(line, sizeof line, "rank 2 of 3 is silent for 0.5 s");
	gang_start_but(&g, "shm", 3, 2, nothing, NULL);
	gang_wait(&g);
	gang_check(&g, 0, SW_PEER_LOST, line);
	gang_check(&g, 1, SW_PEER_LOST, NULL);
	gang_fini(&g);
}

/* --- ranks that do not do the same --- */

static sw_status differ(struct sw_comm *c, struct gang_rank *me, void *ctx)
{
	(void)me, (void)ctx;
	return sw_comm_rank(c) == 1 ? in_all_gather(c) : in_sum(c);
}

TEST(ranks_that_do_not_do_the_same_are_told)
{
	struct gang g;

	gang_start(&g, "shm", 2, differ, NULL);
	gang_wait(&g);
	for (unsigned r = 0; r < 2; r++) {
		gang_check(&g, r, SW_INTERNAL, NULL);
		ck_assert_ptr_nonnull(strstr(g.rank[r].why, " bytes of "));
	}
	gang_fini(&g);
}

RUN_TESTS(NULL, NULL)
