/* tests/sched/num/test_ostree.c — the order-statistic tree against a sorted array, with ids, marks
 * and removals too. */
#include "sched/num/ostree.h"
#include "tests/sched/suite.h"
#include "tests/walk.h"

struct entry {
	double value;
	uint32_t id;
	bool marked;
};

static bool entry_before(const struct entry *a, double value, uint32_t id)
{
	return a->value < value || (a->value == value && a->id < id);
}

static int entry_rank(const struct entry *v, int n, double value, uint32_t id)
{
	int rank = 0;

	while (rank < n && entry_before(&v[rank], value, id))
		rank++;
	return rank;
}

static void compare(const struct sw_ostree *t, const struct entry *v, int n, uint64_t *rng)
{
	uint32_t marked = 0;
	const double at = (double)below(rng, 60) / 2.0;
	const uint32_t at_id = (uint32_t)below(rng, 4000);

	sw_ostree_invariant(t);
	ck_assert_uint_eq(t->n, (unsigned)n);
	ck_assert_uint_eq(sw_ostree_rank(t, at, at_id), (unsigned)entry_rank(v, n, at, at_id));
	ck_assert_uint_eq(sw_ostree_less(t, at), (unsigned)entry_rank(v, n, at, 0));
	for (int k = 0; k <= n; k++) {
		uint32_t id;

		ck_assert_uint_eq(sw_ostree_marked_among(t, (uint64_t)k), marked);
		if (k == n)
			break;
		ck_assert_double_eq(sw_ostree_kth(t, (uint64_t)k, &id), v[k].value);
		ck_assert_uint_eq(id, v[k].id);
		ck_assert_uint_eq(sw_ostree_rank(t, v[k].value, id), (unsigned)k);
		ck_assert_uint_eq(sw_ostree_marked_rank(t, v[k].value, id), marked);
		if (!v[k].marked)
			continue;
		ck_assert_double_eq(sw_ostree_marked_kth(t, marked, &id), v[k].value);
		ck_assert_uint_eq(id, v[k].id);
		marked++;
	}
	ck_assert_uint_eq(t->marked, marked);
}

/* Rises to `most` entries and falls to none again, three times, with marks changed on the way. */
TEST_LOOP(ostree_with_ids_and_marks_agrees_with_a_sorted_array, 0, 6)
{
	static const struct {
		int most;
		uint64_t values;
	} runs[] = {{6, 3}, {90, 10}, {90, 1}, {700, 50}, {3000, 60}, {6000, 1000000}};
	enum { MOST = 6000 };
	static struct entry v[MOST + 1];
	struct sw_ostree t;
	uint64_t rng = 7 + (uint64_t)_i;
	int n = 0;
	uint32_t made = 0;

	sw_ostree_init(&t);
	for (int round = 0; round < 3; round++) {
		for (int e = 0, rising = 1; rising || n > 0; e++) {
			rising = rising && n < runs[_i].most;
			const uint64_t what = below(&rng, 10);

			if (n > 0 && what < 2) {
				struct entry *x = &v[below(&rng, (uint64_t)n)];

				x->marked = !x->marked;
				sw_ostree_mark(&t, x->value, x->id, x->marked);
			} else if (n > 0 && (what == 2 || !rising)) {
				const int k = (int)below(&rng, (uint64_t)n);

				sw_ostree_remove(&t, v[k].value, v[k].id);
				memmove(v + k, v + k + 1, (size_t)(--n - k) * sizeof v[0]);
			} else {
				const struct entry x = {(double)below(&rng, runs[_i].values) / 2.0,
							++made, below(&rng, 2) == 0};
				const int k = entry_rank(v, n, x.value, x.id);

				ck_assert_int_eq(sw_ostree_reserve(&t), SW_OK);
				const uint64_t less = sw_ostree_insert(&t, x.value, x.id, x.marked);

				if (less != (unsigned)entry_rank(v, n, x.value, 0))
					ck_abort_msg("%d entries", n);
				memmove(v + k + 1, v + k, (size_t)(n++ - k) * sizeof v[0]);
				v[k] = x;
			}
			if (n > 0) { /* it moves slowly, and jumps now and then */
				const int near = what == 9 ? (int)below(&rng, (uint64_t)n) : n / 3;

				if (sw_ostree_kth_near(&t, (uint64_t)near) != v[near].value)
					ck_abort_msg("the %d-th of %d", near, n);
			}
			if (e % (1 + runs[_i].most / 10) == 0)
				compare(&t, v, n, &rng);
		}
		compare(&t, v, n, &rng);
	}
	/* What is held for none is one leaf and the spares. */
	ck_assert_uint_lt(t.bytes, 20000);
	sw_ostree_fini(&t);
}

TEST_LOOP(ostree_bytes_a_value_stay_few, 0, 3)
{
	/* Row: rising, falling, in random order. */
	static const double most[] = {13.5, 13.5, 19};
	enum { MANY = 100000 };
	struct sw_ostree t;
	uint64_t rng = 3;

	sw_ostree_init(&t);
	for (int i = 0; i < MANY; i++) {
		const double x = _i == 0 ? i : _i == 1 ? -i : unit(&rng);

		ck_assert_int_eq(sw_ostree_reserve(&t), SW_OK);
		sw_ostree_insert(&t, x, (uint32_t)i, false);
	}
	sw_ostree_invariant(&t);
	ck_assert_double_lt((double)t.bytes / MANY, most[_i]);
	sw_ostree_fini(&t);
}

TEST(ostree_without_memory_keeps_what_it_had)
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_ostree t;
		uint32_t held = 0;

		sw_ostree_init(&t);
		walk_arm();
		for (int i = 0; i < 5000; i++) {
			if (sw_ostree_reserve(&t) != SW_OK) {
				ck_assert_uint_eq(t.n, held);
				continue;
			}
			sw_ostree_insert(&t, i % 13, 0, false);
			held++;
		}
		const unsigned fired = walk_disarm();
		ck_assert_uint_eq(held, 5000 - fired);
		sw_ostree_invariant(&t);
		sw_ostree_fini(&t);
	}
}

RUN_TESTS(NULL, NULL)
