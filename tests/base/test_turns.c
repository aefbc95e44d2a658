/* Whose turn it is: what base/turns.h promises, without a clock. */
#include "base/turns.h"
#include "tests/run.h"

#define HOGS 120

struct work {
	struct sw_turn turn; /* first: a turn is its work */
	int number;
	bool held;
};

static struct work works[HOGS * 4 + 200];
static size_t works_n;

static void setup(void)
{
	works_n = 0;
}

static struct work *add(struct sw_turns *t, struct sw_turns_client *c, int number)
{
	struct work *w = &works[works_n++];

	*w = (struct work){.number = number};
	sw_turns_add(t, c, &w->turn);
	return w;
}

static struct work *take(struct sw_turns *t)
{
	return (struct work *)sw_turns_take(t, NULL, NULL);
}

static bool is_free(const struct sw_turn *turn, void *arg)
{
	(void)arg;
	return !((const struct work *)turn)->held;
}

TEST(turns_of_one_client_keep_their_order)
{
	struct sw_turns t = {.n = 0};
	struct sw_turns_client c = {.used_us = 0};

	for (int i = 0; i < 5; i++)
		(void)add(&t, &c, i);
	for (int i = 0; i < 5; i++) {
		const struct work *w = take(&t);

		ck_assert_int_eq(w->number, i);
		sw_turns_charge(&t, &c, 10);
	}
	ck_assert_ptr_null(take(&t));
	ck_assert_uint_eq(t.n, 0);
}

TEST(turns_of_two_that_cost_unlike_share_the_time)
{
	struct sw_turns t = {.n = 0};
	struct sw_turns_client slow = {.used_us = 0}, quick = {.used_us = 0};
	int64_t had[2] = {0, 0};

	for (int i = 0; i < 100; i++) {
		(void)add(&t, &slow, 0);
		(void)add(&t, &quick, 1);
	}
	for (int i = 0; i < 55; i++) {
		const struct work *w = take(&t);
		const int64_t took = w->number == 0 ? 100 : 10;

		had[w->number] += took;
		sw_turns_charge(&t, w->turn.client, took);
	}
	ck_assert_int_le(llabs(had[0] - had[1]), 100);
}

static void add_hogs(struct sw_turns *t, struct sw_turns_client *hogs, int each)
{
	for (int i = 0; i < HOGS; i++) {
		hogs[i] = (struct sw_turns_client){.used_us = 0};
		for (int k = 0; k < each; k++)
			(void)add(t, &hogs[i], 0);
	}
}

TEST(turns_newcomer_among_equals_is_next)
{
	static struct sw_turns_client hogs[HOGS];
	struct sw_turns t = {.n = 0};
	struct sw_turns_client calm = {.used_us = 0};

	add_hogs(&t, hogs, 1);
	(void)add(&t, &calm, 1);
	const struct work *w = take(&t);
	ck_assert_int_eq(w->number, 1);
}

/* Each newcomer asks for one thing, and another comes in its place. */
TEST(turns_newcomers_without_end_hold_up_nobody_for_ever)
{
	static struct sw_turns_client newcomers[3000];
	static struct work theirs[3000];
	struct sw_turns t = {.n = 0};
	struct sw_turns_client old = {.used_us = 0};
	size_t come = 0, served = 0;

	(void)add(&t, &old, 1);
	sw_turns_charge(&t, take(&t)->turn.client, 8000);
	(void)add(&t, &old, 1);
	for (; come < 60; come++)
		sw_turns_add(&t, &newcomers[come], &theirs[come].turn);
	for (;; served++, come++) {
		ck_assert_uint_lt(come, 3000);
		const struct work *w = take(&t);

		if (w->number == 1)
			break;
		sw_turns_charge(&t, w->turn.client, 8000);
		sw_turns_add(&t, &newcomers[come], &theirs[come].turn);
	}
	ck_assert_uint_le(served, 130); /* about two rounds of all that wait */
}

/* One that comes back as soon as it was answered, and whose work takes little. */
TEST(turns_small_work_among_many_hogs_waits_for_one_at_most)
{
	static struct sw_turns_client hogs[HOGS];
	struct sw_turns t = {.n = 0};
	struct sw_turns_client calm = {.used_us = 0};
	int since = 0;

	add_hogs(&t, hogs, 3);
	for (int i = 0; i < HOGS; i++)
		sw_turns_charge(&t, take(&t)->turn.client, 8000);
	(void)add(&t, &calm, 1);
	for (int i = 0; i < 150; i++) {
		const struct work *w = take(&t);

		since = w->number == 1 ? 0 : since + 1;
		ck_assert_int_le(since, 1);
		sw_turns_charge(&t, w->turn.client, w->number == 1 ? 50 : 8000);
		if (w->number == 1)
			(void)add(&t, &calm, 1);
	}
}

TEST(turns_one_that_was_away_has_no_claim)
{
	struct sw_turns t = {.n = 0};
	struct sw_turns_client busy = {.used_us = 0}, away = {.used_us = 0};

	for (int i = 0; i < 50; i++) {
		(void)add(&t, &busy, 0);
		sw_turns_charge(&t, take(&t)->turn.client, 1000);
	}
	for (int i = 0; i < 20; i++) {
		(void)add(&t, &busy, 0);
		(void)add(&t, &away, 1);
	}
	int first = 0;
	for (int i = 0; i < 20; i++) {
		const struct work *w = take(&t);

		first += w->number;
		sw_turns_charge(&t, w->turn.client, 1000);
	}
	ck_assert_int_ge(first, 9);
	ck_assert_int_le(first, 11);
}

TEST(turns_work_that_may_not_run_is_passed_over)
{
	struct sw_turns t = {.n = 0};
	struct sw_turns_client a = {.used_us = 0}, b = {.used_us = 5};
	struct work *held = add(&t, &a, 1);

	held->held = true;
	(void)add(&t, &a, 2);
	ck_assert_ptr_null(sw_turns_take(&t, is_free, NULL)); /* not out of its own order either */
	(void)add(&t, &b, 3);
	const struct work *w = (struct work *)sw_turns_take(&t, is_free, NULL);
	ck_assert_int_eq(w->number, 3);
	held->held = false;
	w = (struct work *)sw_turns_take(&t, is_free, NULL);
	ck_assert_int_eq(w->number, 1);
}

RUN_TESTS(setup, NULL)
