/* tests/trainer/comm/test_nccl_rules.c — the stand-in for NCCL ends a process that breaks a rule of
 * groups, of sends or of receives: so no test passes by chance. */
#include "tests/trainer/comm/fake_nccl_api.h"
#include "tests/trainer/comm/nccl_ranks.h"
#include <signal.h>

static void open_devices(void)
{
	sw_comm_groups(comm, 2);
	ck_assert_msg(sw_comm_devices(comm, &rank_err) == SW_OK, "%s", rank_err.msg);
}

static void another_size(unsigned rank)
{
	float *out = floats(0), *in = zeros();
	void *stream;

	open_devices();
	ck_assert_int_eq(o->fork(q, &stream), SW_OK);
	ck_assert_int_eq(sw_comm_exchange(comm, stream, 1 - rank, out, N - rank, in, N), SW_OK);
	ck_assert_int_eq(o->join(q), SW_OK);
	(void)o->sync(q);
}

START_TEST(stand_in_aborts_at_a_receive_of_another_size)
{
	ranks_run(2, another_size);
}
END_TEST

/* Each sends first, and receives only then: what one exchange does in a group. */
static void two_groups(unsigned rank)
{
	float *out = floats(0), *in = zeros();
	void *stream;

	open_devices();
	ck_assert_int_eq(o->fork(q, &stream), SW_OK);
	ck_assert_int_eq(sw_comm_exchange(comm, stream, 1 - rank, out, N, NULL, 0), SW_OK);
	ck_assert_int_eq(sw_comm_exchange(comm, stream, 1 - rank, NULL, 0, in, N), SW_OK);
	ck_assert_int_eq(o->join(q), SW_OK);
	(void)signal(SIGALRM, SIG_DFL); /* not Check's */
	if (rank == 0)
		(void)alarm(1);
	(void)o->sync(q);
}

START_TEST(stand_in_never_ends_two_sends_that_wait_for_each_other)
{
	ranks_run(2, two_groups);
}
END_TEST

/* A call against the rules, of a communicator of rank 0 of two. */
static const struct rule {
	bool group; /* in one */
	enum { SEND, RECEIVE, SUM, START, END, FINALIZE, QUESTION } call;
	size_t n;
	int type, peer;
	bool hosts; /* memory */
} rules[] = {
	{false, SEND, 1, 7, 1, false},    {false, RECEIVE, 1, 7, 1, false},
	{true, START, 0, 0, 0, false},    {true, END, 0, 0, 0, false}, /* of nothing */
	{false, END, 0, 0, 0, false},     {true, SUM, 1, 7, 0, false},
	{true, FINALIZE, 0, 0, 0, false}, {true, QUESTION, 0, 0, 0, false},
	{true, SEND, 1, 8, 1, false},    /* another type */
	{true, SEND, 0, 7, 1, false},    /* nothing */
	{true, SEND, 1, 7, 2, false},    /* there is none */
	{true, RECEIVE, 1, 7, 0, false}, /* itself */
	{true, SEND, 1, 7, 1, true},
};

static struct rule broken;

static void rule_break(struct comm *c, float *mine)
{
	const struct rule *r = &broken;
	static float live[1];
	void *p = r->hosts ? live : mine, *stream = NULL;
	int state;

	if (r->hosts)
		(void)o->fork(q, &stream);
	if (r->group)
		(void)ncclGroupStart();
	switch (r->call) {
	case SEND:
		(void)ncclSend(p, r->n, r->type, r->peer, c, stream);
		break;
	case RECEIVE:
		(void)ncclRecv(p, r->n, r->type, r->peer, c, stream);
		break;
	case SUM:
		(void)ncclAllReduce(p, p, r->n, r->type, 0, c, stream);
		break;
	case START:
		(void)ncclGroupStart();
		break;
	case END:
		(void)ncclGroupEnd();
		break;
	case FINALIZE:
		(void)ncclCommFinalize(c);
		break;
	case QUESTION:
		(void)ncclCommGetAsyncError(c, &state);
		break;
	}
}

/* Of a communicator of its own, of two ranks. */
static void break_rule(unsigned rank)
{
	const struct config config = {sizeof config, 0xcafebeef, 21400, 0};
	struct id id = {{0}};
	struct comm *other;
	float *mine = floats(0);
	int state = IN_PROGRESS;

	open_devices(); /* which pins the order, too */
	if (rank == 0)
		ck_assert_int_eq(ncclGetUniqueId(&id), SUCCESS);
	ck_assert_int_eq(sw_comm_broadcast(comm, 0, &id, sizeof id), SW_OK);
	(void)ncclCommInitRankConfig(&other, 2, id, (int)rank, &config);
	while (state == IN_PROGRESS) {
		ck_assert_int_eq(ncclCommGetAsyncError(other, &state), SUCCESS);
		baton_pass(NULL);
	}
	if (rank == 0)
		rule_break(other, mine);
}

START_TEST(stand_in_aborts_at_a_group_against_the_rules)
{
	broken = rules[_i];
	ranks_run(2, break_rule);
}
END_TEST

SUITE(tcase)
{
	tcase_set_timeout(tcase, 60);
	tcase_add_test_raise_signal(tcase, stand_in_aborts_at_a_receive_of_another_size, SIGABRT);
	tcase_add_test_raise_signal(tcase, stand_in_never_ends_two_sends_that_wait_for_each_other,
				    SIGALRM);
	tcase_add_loop_test_raise_signal(tcase, stand_in_aborts_at_a_group_against_the_rules,
					 SIGABRT, 0, (int)ROWS(rules));
}
