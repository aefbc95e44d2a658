/* tests/store/test_reads.c — who is read for next, and what a read costs. */
#include "store/internal.h"
#include "tests/run.h"
#include "tests/store/fixture.h"

#define N 40

static struct {
	pthread_mutex_t gate; /* held: hold_work() waits */
	int order[N + 1];     /* who was read for */
	int n;
} at;

struct ask {
	int who;
	unsigned *done;
};

static void hold_work(struct sw_db *db, void *arg)
{
	(void)db;
	(void)arg;
	pthread_mutex_lock(&at.gate);
	pthread_mutex_unlock(&at.gate);
}

/* Of one reader's thread alone in a test. */
static void note_work(struct sw_db *db, void *arg)
{
	(void)db;
	at.order[at.n++] = ((struct ask *)arg)->who;
}

static void note_done(void *arg)
{
	++*((struct ask *)arg)->done;
}

static void setup(void)
{
	memset(&at, 0, sizeof at);
	ck_assert_int_eq(pthread_mutex_init(&at.gate, NULL), 0);
	fixture_init();
	fixture_begin();
}

TEST(read_behind_what_another_has_queued_is_next)
{
	struct sw_store_client hog = {0}, calm = {0};
	struct ask asks[N + 1];
	unsigned done = 0, opened = 0;

	pthread_mutex_lock(&at.gate);
	ck_assert_int_eq(
		sw_store_read(f.store, SW_READ_SHORT, &hog, hold_work, count_done, &opened), SW_OK);
	for (int i = 0; i <= N; i++) {
		asks[i] = (struct ask){.who = i == N, .done = &done};
		ck_assert_int_eq(sw_store_read(f.store, SW_READ_SHORT, i == N ? &calm : &hog,
					       note_work, note_done, &asks[i]),
				 SW_OK);
	}
	pthread_mutex_unlock(&at.gate);
	fixture_wait(&done, N + 1);
	/* The reader may have had a second one of the hog's at hand. */
	ck_assert_int_eq(at.order[0] + at.order[1], 1);
}

TEST(read_that_is_short_does_not_wait_for_a_long_one)
{
	struct ask ask;
	unsigned done = 0, opened = 0;

	pthread_mutex_lock(&at.gate);
	ck_assert_int_eq(sw_store_read(f.store, SW_READ_LONG, NULL, hold_work, count_done, &opened),
			 SW_OK);
	ask = (struct ask){.done = &done};
	ck_assert_int_eq(sw_store_read(f.store, SW_READ_SHORT, NULL, note_work, note_done, &ask),
			 SW_OK);
	fixture_wait(&done, 1);
	ck_assert_uint_eq(opened, 0);
	pthread_mutex_unlock(&at.gate);
	fixture_wait(&opened, 1);
}

/* --- what the rare rows among a sweep's many events cost --- */

#define EVENTS 5000

static bool count_event(const struct sw_row_event *row, void *arg)
{
	(void)row;
	++*(int *)arg;
	return true;
}

struct rare {
	int n, edit_steps, enqueue_steps;
};

/* What the query whose text has these words has cost. */
static int steps_of(struct sw_db *db, const char *words)
{
	sqlite3_stmt *q = NULL;

	while ((q = sqlite3_next_stmt(db->conn, q)) != NULL)
		if (strstr(sqlite3_sql(q), words) != NULL)
			return sqlite3_stmt_status(q, SQLITE_STMTSTATUS_VM_STEP, 0);
	ck_abort_msg("no query has \"%s\"", words);
	return 0;
}

static void rare_work(struct sw_db *db, void *arg)
{
	struct rare *r = arg;
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_read_edits(db, 1, count_event, &r->n, &err), SW_OK);
	ck_assert_int_eq(sw_read_enqueued(db, 1, 1, count_event, &r->n, &err), SW_OK);
	r->edit_steps = steps_of(db, "event_edits");
	r->enqueue_steps = steps_of(db, "event_enqueued");
}

TEST(read_of_edits_and_enqueued_looks_at_no_other_event)
{
	struct rare r = {.n = 0};
	struct sw_tx *tx = tx_new();

	for (int i = 1; i <= EVENTS; i++) {
		const struct sw_row_event row = {
			.sweep = 1,
			.ev = i,
			.kind = i == 100 ? "edit" : (i == 200 ? "enqueue" : "ask"),
		};
		sw_tx_event(tx, &row);
	}
	commit_now(tx);
	sw_store_read_now(f.store, rare_work, &r);
	ck_assert_int_eq(r.n, 2);
	ck_assert_int_lt(r.edit_steps, EVENTS);
	ck_assert_int_lt(r.enqueue_steps, EVENTS);
}

RUN_TESTS(setup, fixture_fini)
