/* tests/trainer/comm/test_nccl_rules.c — the stand-in for NCCL ends a process that breaks a rule of
 * groups, of sends or of receives: so no test passes by chance. */
#include "tests/trainer/comm/fake_nccl_api.h"
#include "tests/trainer/comm/nccl_ranks.h"
#include <signal.h>

static void open_devices(void)
{
	sw_comm_groups(comm, 2);
	ck_assert_msg(sw_comm_devices(comm, &err) == SW_OK, "%s", err.msg);
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

static _Thread_local float *mine; /* of the device */
static _Thread_local struct comm *other;

static void (*broken_rule)(void);

static void rule_send_without_group(void)
{
	(void)ncclSend(mine, 1, 7, 1, other, NULL);
}

static void rule_receive_without_group(void)
{
	(void)ncclRecv(mine, 1, 7, 1, other, NULL);
}

static void rule_group_in_group(void)
{
	(void)ncclGroupStart();
	(void)ncclGroupStart();
}

static void rule_group_of_nothing(void)
{
	(void)ncclGroupStart();
	(void)ncclGroupEnd();
}

static void rule_end_without_group(void)
{
	(void)ncclGroupEnd();
}

static void rule_sum_in_group(void)
{
	(void)ncclGroupStart();
	(void)ncclAllReduce(mine, mine, 1, 7, 0, other, NULL);
}

static void rule_group_left_open(void)
{
	(void)ncclGroupStart();
	(void)ncclCommFinalize(other);
}

static void rule_question_in_group(void)
{
	int state;

	(void)ncclGroupStart();
	(void)ncclCommGetAsyncError(other, &state);
}

static void rule_another_type(void)
{
	(void)ncclGroupStart();
	(void)ncclSend(mine, 1, 8, 1, other, NULL);
}

static void rule_nothing_sent(void)
{
	(void)ncclGroupStart();
	(void)ncclSend(mine, 0, 7, 1, other, NULL);
}

static void rule_no_such_peer(void)
{
	(void)ncclGroupStart();
	(void)ncclSend(mine, 1, 7, 2, other, NULL);
}

static void rule_peer_itself(void)
{
	(void)ncclGroupStart();
	(void)ncclRecv(mine, 1, 7, 0, other, NULL);
}

static void rule_hosts_memory(void)
{
	static float live[1];
	void *stream;

	(void)o->fork(q, &stream);
	(void)ncclGroupStart();
	(void)ncclSend(live, 1, 7, 1, other, stream);
}

static void (*const rules[])(void) = {
	rule_send_without_group, rule_receive_without_group, rule_group_in_group,
	rule_group_of_nothing,   rule_end_without_group,     rule_sum_in_group,
	rule_group_left_open,    rule_question_in_group,     rule_another_type,
	rule_nothing_sent,       rule_no_such_peer,          rule_peer_itself,
	rule_hosts_memory,
};

/* Of a communicator of its own, of two ranks. */
static void break_rule(unsigned rank)
{
	const struct config config = {sizeof config, 0xcafebeef, 21400, 0};
	struct id id = {{0}};
	int state = IN_PROGRESS;

	mine = floats(0);
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
		broken_rule();
}

START_TEST(stand_in_aborts_at_a_group_against_the_rules)
{
	broken_rule = rules[_i];
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
