/* tests/store/test_store.c — the order of things: commits, callbacks, reads, bounds. */
#include "store/internal.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include "tests/walk.h"

#define N 500

static unsigned order[2 * N + 10];
static unsigned n_order;

struct tag {
	unsigned id;
	unsigned more; /* commits to make from the callback */
};

static void on_done(void *arg)
{
	struct tag *t = arg;

	order[n_order++] = t->id;
	if (t->more > 0) {
		struct sw_tx *tx = tx_new();
		t->more--;
		t->id++;
		put_report(tx, 1, 100000 + t->id, 1);
		ck_assert_int_eq(sw_store_commit(f.store, tx, on_done, t), SW_OK);
	}
}

TEST(commit_callbacks_run_in_the_order_of_the_calls)
{
	static struct tag tags[N];

	fixture_begin();
	for (unsigned i = 0; i < N; i++) {
		struct sw_tx *tx = tx_new();
		tags[i] = (struct tag){i, 0};
		for (unsigned k = 0; k <= i % 3; k++)
			put_report(tx, 1, 10 * (int64_t)i + k, i);
		ck_assert_int_eq(sw_store_commit(f.store, tx, on_done, &tags[i]), SW_OK);
	}
	fixture_wait(&n_order, N);
	for (unsigned i = 0; i < N; i++)
		ck_assert_uint_eq(order[i], i);
	ck_assert_uint_eq(sw_store_queued(f.store), 0);
}

TEST(commit_from_a_callback_is_committed_too)
{
	struct tag t = {0, 20};
	struct sw_tx *tx = tx_new();

	fixture_begin();
	ck_assert_int_eq(sw_store_commit(f.store, tx, on_done, &t), SW_OK);
	fixture_wait(&n_order, 21);
	for (unsigned i = 0; i < 21; i++)
		ck_assert_uint_eq(order[i], i);
}

struct look {
	int64_t n; /* reports seen */
	unsigned done;
	sw_status rc;
	struct sw_err err;
};

static bool on_report(const struct sw_row_report *r, void *arg)
{
	(void)r;
	(*(int64_t *)arg)++;
	return true;
}

static void look_work(struct sw_db *db, void *arg)
{
	struct look *l = arg;

	l->n = 0;
	l->rc = sw_read_reports(db, 1, 1, 0, 0, -1, on_report, &l->n, &l->err);
}

static void look_done(void *arg)
{
	((struct look *)arg)->done++;
}

TEST(read_sees_every_write_enqueued_before_it)
{
	static struct look looks[N];

	fixture_begin();
	for (unsigned i = 0; i < N; i++) {
		struct sw_tx *tx = tx_new();
		put_report(tx, 1, i + 1, i);
		ck_assert_int_eq(sw_store_commit(f.store, tx, NULL, NULL), SW_OK);
		ck_assert_int_eq(sw_store_read(f.store, SW_READ_SHORT, NULL, look_work, look_done,
					       &looks[i]),
				 SW_OK);
	}
	for (unsigned i = 0; i < N; i++) {
		fixture_wait(&looks[i].done, 1);
		ck_assert_int_eq(looks[i].rc, SW_OK);
		/* A later write may be committed by then, an earlier one must be. */
		ck_assert_int_ge(looks[i].n, i + 1);
	}
	ck_assert_int_eq(looks[N - 1].n, N);
}

TEST(read_now_waits_for_the_writer)
{
	struct look l = {.n = 0};

	fixture_begin();
	for (unsigned i = 0; i < N; i++) {
		struct sw_tx *tx = tx_new();
		put_report(tx, 1, i + 1, i);
		ck_assert_int_eq(sw_store_commit(f.store, tx, NULL, NULL), SW_OK);
		if (i % 100 == 0) {
			sw_store_read_now(f.store, look_work, &l);
			ck_assert_int_eq(l.n, i + 1);
		}
	}
}

TEST(close_commits_all_that_waits)
{
	struct look l = {.n = 0};

	fixture_begin();
	for (unsigned i = 0; i < 20000; i++) {
		struct sw_tx *tx = tx_new();
		put_report(tx, 1, i + 1, i);
		ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &l.done), SW_OK);
	}
	fixture_close();
	ck_assert_uint_eq(l.done, 0); /* and runs no further callback */
	fixture_open();
	sw_store_read_now(f.store, look_work, &l);
	ck_assert_int_eq(l.n, 20000);
}

struct gate {
	pthread_mutex_t lock;
	unsigned done;
};

static void hold_work(struct sw_db *db, void *arg)
{
	struct gate *g = arg;

	(void)db;
	pthread_mutex_lock(&g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void hold_done(void *arg)
{
	((struct gate *)arg)->done++;
}

TEST(queue_over_its_limit_has_no_room_and_still_takes_what_happened)
{
	unsigned done = 0, most = 0;

	fixture_begin();
	ck_assert(sw_store_has_room(f.store));
	bool full = false;
	for (; most < 10 && !full; most++) { /* not all of it can be gone at once */
		struct sw_tx *tx = tx_new();

		for (size_t i = 0; i < SW_STORE_MAX_QUEUED + 5; i++)
			sw_tx_slot_delete(tx, (int64_t)i);
		ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &done), SW_OK);
		full = !sw_store_has_room(f.store);
	}
	ck_assert(full);
	fixture_wait(&done, most);
	commit_now(tx_new());
	ck_assert_uint_eq(done, most);
	ck_assert(sw_store_has_room(f.store));
}

TEST(close_with_a_read_at_work_runs_no_callback)
{
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, 0};

	fixture_begin();
	pthread_mutex_lock(&g.lock);
	ck_assert_int_eq(sw_store_read(f.store, SW_READ_SHORT, NULL, hold_work, hold_done, &g),
			 SW_OK);
	ck_assert_int_eq(sw_store_read(f.store, SW_READ_SHORT, NULL, hold_work, hold_done, &g),
			 SW_OK);
	ck_assert_uint_eq(sw_store_queued(f.store), 2);
	pthread_mutex_unlock(&g.lock);
	fixture_close();
	ck_assert_uint_eq(g.done, 0);
}

static bool ask_again(const struct sw_row_sweep *r, void *arg)
{
	struct sw_db *db = *(struct sw_db **)arg;
	struct sw_err err = SW_ERR_INIT;
	struct look l = {.n = 0};

	(void)r;
	ck_assert_int_eq(sw_read_sweeps(db, 0, ask_again, arg, &err), SW_BUSY);
	look_work(db, &l); /* another question is fine */
	ck_assert_int_eq(l.rc, SW_OK);
	return true;
}

static void nested_work(struct sw_db *db, void *arg)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_read_sweeps(db, 0, ask_again, &db, &err), SW_OK);
	*(unsigned *)arg = 1;
}

TEST(query_inside_itself_is_refused)
{
	unsigned ran = 0;

	fixture_begin();
	sw_store_read_now(f.store, nested_work, &ran);
	ck_assert_uint_eq(ran, 1);
}

TEST(operation_on_a_row_that_is_not_there_ends_the_store)
{
	struct look l = {.n = 0};
	struct sw_tx *tx = tx_new();

	fixture_begin();
	put_report(tx, 1, 1, 1);
	put_report(tx, 7, 2, 1); /* there is no trial 7 */
	ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &l.done), SW_OK);
	fixture_wait_fatal();
	ck_assert_ptr_nonnull(strstr(f.fatal.msg, "insert report 1 7 1 2"));
	ck_assert_int_eq(sw_store_commit(f.store, tx_new(), NULL, NULL), SW_IO);
	sw_store_read_now(f.store, look_work, &l); /* does not hang, and does not lie */
	ck_assert_int_eq(l.rc, f.fatal.code);
	fixture_close();
	fixture_open();
	l.err = (struct sw_err)SW_ERR_INIT;
	sw_store_read_now(f.store, look_work, &l);
	ck_assert_int_eq(l.n, 0); /* the whole transaction is absent */
	ck_assert_uint_eq(l.done, 0);
}

TEST(same_key_twice_ends_the_store_with_its_name)
{
	struct sw_tx *tx = tx_new();

	fixture_begin();
	put_trial(tx, 1, 1);
	ck_assert_int_eq(sw_store_commit(f.store, tx, NULL, NULL), SW_OK);
	fixture_wait_fatal();
	ck_assert_int_eq(f.fatal.code, SW_INTERNAL);
	ck_assert_ptr_nonnull(strstr(f.fatal.msg, "insert trial 1 1: UNIQUE"));
}

#ifdef SW_FAULTS
TEST(store_without_memory_fails_cleanly_at_each_call)
{
	unsigned done = 0, good = 0;

	fixture_begin();
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_tx *tx = NULL;
		struct look l = {.n = 0};

		walk_arm();
		sw_status rc = sw_tx_create(&tx);
		if (rc == SW_OK) {
			for (int i = 0; i < 50; i++)
				put_report(tx, 1, 100 * walk.nth + (unsigned)i, 1);
			rc = sw_store_commit(f.store, tx, count_done, &done);
		}
		const sw_status read =
			sw_store_read(f.store, SW_READ_SHORT, NULL, look_work, look_done, &l);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc == SW_NOMEM || read == SW_NOMEM, fired != 0);
		if (rc == SW_OK)
			fixture_wait(&done, ++good);
		if (read == SW_OK) {
			fixture_wait(&l.done, 1);
			ck_assert_int_eq(l.n, 50 * good); /* all of a transaction or nothing */
		}
	}
	ck_assert_uint_gt(good, 0);
}

TEST(open_without_memory_fails_cleanly_at_each_call)
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;

		walk_arm();
		const sw_status rc = fixture_try_open(&err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(f.store == NULL, rc != SW_OK);
		if (rc != SW_OK)
			fixture_open(); /* nothing half-made is in the way */
		fixture_renew();
	}
}
#endif

RUN_TESTS(fixture_init, fixture_fini)
