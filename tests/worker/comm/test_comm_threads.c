/*
 * tests/worker/comm/test_comm_threads.c — ranks of shm as threads of one process, so that the
 * thread sanitizer sees the accesses of all: who reads a cell before it is written, or writes it
 * before it was read, is a race.
 *
 * It knows memory by its address, so all ranks must map the segment at the same one: mmap and
 * munmap are the ones below (--wrap).
 */
#include "tests/run.h"
#include "worker/comm/comm.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORLD 4
#define N     200000 /* seven chunks */
#define TURNS 60

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __real_munmap(void *p, size_t n);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __wrap_munmap(void *p, size_t n);

static struct {
	_Atomic(void *) p; /* of the descriptor fd, while a gang runs */
	int fd;
} shared = {.fd = -1};

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	if (shared.fd >= 0 && fd == shared.fd)
		return shared.p;
	return __real_mmap(at, n, prot, flags, fd, from);
}

int __wrap_munmap(void *p, size_t n)
{
	return p == shared.p ? 0 : __real_munmap(p, n);
}

static struct rank {
	struct sw_comm_seat place;
	sw_status rc;
	const char *bad;
	char why[320];
} rank[WORLD];

/* Element i is (rank + 1) * (i + turn) of each: whole numbers, whose sum is exact. */
static sw_status turn_of_all(struct sw_comm *c, struct rank *me, unsigned turn, float *p)
{
	const unsigned parts = 1 + turn % WORLD, r = sw_comm_rank(c);
	const float of_all = (float)(parts * (parts + 1) / 2);
	unsigned char word = (unsigned char)turn;
	bool on = r == 0;
	sw_status rc = SW_OK;

	for (size_t i = 0; i < N; i++)
		p[i] = (float)(r + 1) * (float)((i + turn) % 1000);
	for (size_t at = 0; at < N && rc == SW_OK; at += N / 4)
		rc = sw_comm_sum_begin(c, NULL, p + at, N / 4, parts);
	if (rc == SW_OK)
		rc = sw_comm_sum_end(c);
	for (size_t i = 0; i < N && rc == SW_OK; i++)
		if (p[i] != of_all * (float)((i + turn) % 1000))
			me->bad = "a sum is another";
	if (rc == SW_OK)
		rc = sw_comm_broadcast(c, 0, &on, sizeof on);
	if (rc == SW_OK)
		rc = sw_comm_broadcast(c, turn % WORLD, &word, 1);
	/* In the last turn rank 1 may give up while another still waits for its word. */
	if (rc == SW_OK && (word != (unsigned char)turn || !on))
		me->bad = "a word is another";
	return rc;
}

/* Exchanges of both pipelines of two stages, beside their sums. */
static sw_status turn_of_stages(struct sw_comm *c, struct rank *me, unsigned turn, float *p)
{
	const unsigned r = sw_comm_rank(c), parts = 1 + turn % 2;
	const float of_all = (float)(r % 2 + 1) + (parts > 1 ? (float)(r % 2 + 3) : 0);
	float *out = p + N / 2, *in = p + N / 2 + N / 4;
	sw_status rc;

	for (size_t i = 0; i < N; i++)
		p[i] = (float)(r + 1) * (float)((i + turn) % 1000);
	sw_comm_groups(c, 2);
	rc = sw_comm_sum_begin(c, NULL, p, N / 2, parts);
	for (unsigned i = 0; i < 4 && rc == SW_OK; i++)
		rc = sw_comm_exchange(c, NULL, r ^ 1, out + i * N / 16, i == turn % 4 ? 0 : N / 16,
				      in + i * N / 16, i == turn % 4 ? 0 : N / 16);
	if (rc == SW_OK)
		rc = sw_comm_sum_end(c);
	sw_comm_groups(c, 1);
	for (size_t i = 0; i < N / 2 && rc == SW_OK; i++)
		if (p[i] != of_all * (float)((i + turn) % 1000))
			me->bad = "a stage's sum is another";
	for (size_t i = 0; i < N / 4 && rc == SW_OK; i++)
		if (i / (N / 16) != turn % 4 &&
		    in[i] != (float)((r ^ 1) + 1) * (float)((N / 2 + i + turn) % 1000))
			me->bad = "what was exchanged is another";
	return rc;
}

static void *live(void *arg)
{
	struct rank *me = arg;
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm *c;
	float *p = malloc(N * sizeof *p);

	me->rc = sw_comm_open(&c, &me->place, &err);
	for (unsigned turn = 0; turn < TURNS && me->rc == SW_OK && me->bad == NULL; turn++) {
		me->rc = turn_of_all(c, me, turn, p);
		if (me->rc == SW_OK)
			me->rc = turn_of_stages(c, me, turn, p);
	}
	if (me->place.rank == 1 && me->rc == SW_OK)
		sw_comm_abort(c, SW_NOMEM, "the last word");
	if (me->rc == SW_OK)
		me->rc = sw_comm_barrier(c);
	(void)snprintf(me->why, sizeof me->why, "%s", c != NULL ? sw_comm_why(c) : err.msg);
	sw_comm_close(c);
	free(p);
	return NULL;
}

TEST(ranks_of_one_process_do_not_race)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm_seat at;
	pthread_t thread[WORLD];

	ck_assert_int_eq(sw_comm_meet(&at, "shm", WORLD, &err), SW_OK);
	const off_t bytes = lseek(at.fd, 0, SEEK_END);
	shared.p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, at.fd, 0);
	ck_assert_ptr_ne(shared.p, MAP_FAILED);
	shared.fd = at.fd;
	for (unsigned r = 0; r < WORLD; r++) {
		rank[r].place = at;
		rank[r].place.rank = r;
		ck_assert_int_eq(pthread_create(&thread[r], NULL, live, &rank[r]), 0);
	}
	for (unsigned r = 0; r < WORLD; r++)
		pthread_join(thread[r], NULL);
	for (unsigned r = 0; r < WORLD; r++) {
		ck_assert_ptr_null(rank[r].bad);
		ck_assert_int_eq(rank[r].rc, SW_NOMEM);
		ck_assert_str_eq(rank[r].why, "the last word");
	}
	shared.fd = -1;
	close(at.fd);
	ck_assert_int_eq(__real_munmap(shared.p, (size_t)bytes), 0);
}

RUN_TESTS(NULL, NULL)
