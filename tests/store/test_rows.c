/* tests/store/test_rows.c — each kind of row comes back as it went in. */
#include "store/read.h"
#include "tests/run.h"
#include "tests/store/seen.h"
#include <math.h>

/* The queries of the tests, as functions for sw_store_read_now(). */
#define QUERY(name, call)                                                                          \
	static void name(struct sw_db *db, void *arg)                                              \
	{                                                                                          \
		struct seen *s = arg;                                                              \
		s->rc = call;                                                                      \
	}
QUERY(all_sweeps, sw_read_sweeps(db, 0, on_sweep, s, &s->err))
QUERY(sweep_2, sw_read_sweeps(db, 2, on_sweep, s, &s->err))
QUERY(trials, sw_read_trials(db, 1, NULL, 0, 100, on_trial, s, &s->err))
QUERY(trials_after_1, sw_read_trials(db, 1, NULL, 1, 1, on_trial, s, &s->err))
QUERY(trials_pruned, sw_read_trials(db, 1, "PRUNED", 0, -1, on_trial, s, &s->err))
QUERY(trial_1, sw_read_trial(db, 1, 1, on_trial, s, &s->err))
QUERY(trial_9, sw_read_trial(db, 1, 9, on_trial, s, &s->err))
QUERY(counts, sw_read_counts(db, 1, on_count, s, &s->err))
QUERY(attempts, sw_read_attempts(db, 1, 1, on_attempt, s, &s->err))
QUERY(edits, sw_read_edits(db, 1, on_event, s, &s->err))
QUERY(edits_2, sw_read_edits(db, 2, on_event, s, &s->err))

static sw_status read_use(struct sw_db *db, int64_t sweep, struct seen *s)
{
	struct sw_row_use use;
	const sw_status rc = sw_read_use(db, sweep, &use, &s->err);

	(void)saw(s, "%lld %lld %lld\n", I(use.attempts), I(use.ms), I(use.gpu_ms));
	return rc;
}
QUERY(use, read_use(db, 1, s))
QUERY(use_2, read_use(db, 2, s))
QUERY(reports, sw_read_reports(db, 1, 1, 0, 0, 100, on_report, s, &s->err))
QUERY(reports_after_1_2, sw_read_reports(db, 1, 1, 1, 2, 2, on_report, s, &s->err))
QUERY(report_1_3, sw_read_report(db, 1, 1, 1, 3, on_report, s, &s->err))
QUERY(report_9_9, sw_read_report(db, 1, 1, 9, 9, on_report, s, &s->err))
QUERY(decisions, sw_read_decisions(db, 1, 1, on_decision, s, &s->err))
QUERY(history, sw_read_history(db, 1, false, on_history, s, &s->err))
QUERY(history_metrics, sw_read_history(db, 1, true, on_history, s, &s->err))
QUERY(standing, sw_read_standing(db, 1, 1, on_report, s, &s->err))
QUERY(standing_2, sw_read_standing(db, 1, 2, on_report, s, &s->err))
QUERY(log_lines, sw_read_log(db, 1, 1, s->next, 3, &s->next, on_log, s, &s->err))
QUERY(suggestion_1, sw_read_suggestion(db, 1, 1, on_suggestion, s, &s->err))
QUERY(suggestion_2, sw_read_suggestion(db, 1, 2, on_suggestion, s, &s->err))
QUERY(suggestion_9, sw_read_suggestion(db, 1, 9, on_suggestion, s, &s->err))
QUERY(sampler, sw_read_sampler(db, 1, on_sampler, s, &s->err))
QUERY(sampler_2, sw_read_sampler(db, 2, on_sampler, s, &s->err))
QUERY(priors, sw_read_priors(db, 1, on_prior, s, &s->err))
QUERY(slots, sw_read_slots(db, on_slot, s, &s->err))
QUERY(journal, sw_read_journal(db, "a", s->next, on_entry, s, &s->err))
QUERY(no_journal, sw_read_journal(db, "c", 0, on_entry, s, &s->err))

static void fill_sweeps(struct sw_tx *tx)
{
	const struct sw_row_sweep one = {.sweep = 1,
					 .name = "digits",
					 .spec = "{\"seed\":7}",
					 .state = "RUNNING",
					 .cause = "why",
					 .metric = "val_loss",
					 .method = "random",
					 .seed = -7,
					 .maximize = true,
					 .driven = true,
					 .run_cap = 40,
					 .created_ms = 1111111111111,
					 .ended_ms = 2,
					 .uid = 1000,
					 .bytes = 4096,
					 .data_bytes = 1024,
					 .data_sum = 2048};
	const struct sw_row_sweep two = {.sweep = 2, .spec = "{}", .state = "PAUSED"};

	sw_tx_sweep_insert(tx, &one);
	sw_tx_sweep_insert(tx, &two);
	sw_tx_sweep_state(tx, 2, "COMPLETED", "run_cap", 99, 41);
}

static void fill_trials(struct sw_tx *tx)
{
	const struct sw_row_trial row[] = {
		{.sweep = 1,
		 .trial = 1,
		 .state = "PENDING",
		 .params = "{\"lr\":0.1}",
		 .created_ms = 5},
		{.sweep = 1,
		 .trial = 2,
		 .state = "PRUNED",
		 .params = "{}",
		 .has_value = true,
		 .value = 0.1,
		 .seconds = 2.5,
		 .started_ms = 6,
		 .ended_ms = 7,
		 .attempt = 3,
		 .parent = 1,
		 .resume_step = 4},
		{.sweep = 1, .trial = 3, .state = "PRUNED", .params = "{}"},
	};
	const struct sw_row_trial running = {
		.sweep = 1, .trial = 1, .state = "RUNNING", .attempt = 1, .started_ms = 50};
	const struct sw_row_trial again = {.sweep = 1,
					   .trial = 1,
					   .state = "RUNNING",
					   .attempt = 2,
					   .seconds = 1.5,
					   .cause = "lost"};
	const struct sw_row_attempt a[] = {
		{1, 1, 1, 3, 0, 50, 0, "RUNNING", NULL, 0, true, 0.4, false, 0, false, 0, false, 0},
		{1, 1, 2, 9, -1, 60, 0, "RUNNING", NULL, 3, false, 1, false, 0, false, 0, false, 0},
	};
	const struct sw_row_attempt end = {.sweep = 1,
					   .trial = 1,
					   .attempt = 1,
					   .ended_ms = 55,
					   .state = "LOST",
					   .cause = "signal:9",
					   .has_gpu_bytes = true,
					   .has_gpu_util = true,
					   .has_joules = true,
					   .gpu_bytes = 1e9,
					   .gpu_util = 12.5,
					   .joules = 3.25};

	for (size_t i = 0; i < 3; i++)
		sw_tx_trial_insert(tx, &row[i]);
	sw_tx_trial_state(tx, &running);
	sw_tx_attempt_start(tx, &a[0]);
	sw_tx_attempt_end(tx, &end);
	sw_tx_trial_state(tx, &again);
	sw_tx_attempt_start(tx, &a[1]);
}

static void fill_reports(struct sw_tx *tx)
{
	const struct sw_row_report r[] = {
		{1, 1, 1, 1, 4, 1, 51, true, 0.1, false, "continue", 0, "{\"a\":1}", false},
		{1, 1, 1, 2, 5, 2, 52, false, 0, false, "continue", 1, NULL, false},
		{1, 1, 1, 3, 7, 4, 53, false, 0, true, "stop", 0, "{\"a\":3}", false},
		{1, 1, 2, 1, 10, 1, 61, true, 0.3, false, "pause", 0, "{\"a\":4}", false},
		{1, 3, 1, 1, 11, 5, 70, false, 0, false, "continue", 1, NULL, false},
	};
	const struct sw_row_decision d[] = {
		{1, 1, 1, 3, 4, "stop", 0, 22, 9, 7, true, 0.5, 0.25},
		{1, 1, 2, 1, 1, "continue", 1, 1, 0, 1, false, 0, 0.3},
	};
	const struct sw_row_event e[] = {
		{1, 3, "ask", 1, 1, NULL, NULL, 0, 50, -1},
		{1, 6, "extend", 0, 0, NULL, NULL, 60, 54, 1000},
		{1, 8, "tell", 1, 1, "FAILED", "oom", 0, 55, 0},
		{2, 1, "pause", 0, 0, NULL, NULL, 0, 1, 0},
		{1, 12, "edit", 0, 0, NULL, "{\"run_cap\":9}", 0, 71, 1000},
		{1, 13, "stop", 0, 0, NULL, "time_budget_s", 0, 72, -1},
	};

	for (size_t i = 0; i < 5; i++)
		sw_tx_report(tx, &r[i]);
	for (size_t i = 0; i < 2; i++)
		sw_tx_decision(tx, &d[i]);
	for (size_t i = 0; i < 6; i++)
		sw_tx_event(tx, &e[i]);
}

static void fill_rest(struct sw_tx *tx)
{
	const struct sw_row_slot s[] = {
		{0, "cpu:0", "w1", "pid:7"}, {1, NULL, NULL, NULL}, {0, "gpu:0", "w2", NULL}};
	struct sw_row_log l = {.sweep = 1, .trial = 1, .attempt = 2, .line = "caf\xc3\xa9"};

	const struct sw_row_suggestion suggestion = {
		.sweep = 1, .trial = 1, .known = 4, .why = "{\"source\":\"gp\"}"};
	const struct sw_row_sampler state[] = {{1, 1, "00ff"}, {1, 2, "a5"}};
	const struct sw_row_prior prior[] = {{1, 2, "{}", "[2]", 0, 0},
					     {1, 1, "{\"lr\":1}", "[0.5]", 7, 31}};

	sw_tx_suggestion(tx, &suggestion);
	for (size_t i = 0; i < 2; i++) {
		sw_tx_sampler(tx, &state[i]);
		sw_tx_prior(tx, &prior[i]);
	}
	for (size_t i = 0; i < 3; i++)
		sw_tx_slot_put(tx, &s[i]);
	sw_tx_slot_delete(tx, 1);
	sw_tx_slot_delete(tx, 77);
	sw_tx_journal(tx, "a", "one");
	sw_tx_journal(tx, "b", "other");
	sw_tx_journal(tx, "a", "{\"caf\xc3\xa9\": NaN}");
	sw_tx_journal(tx, "a", "");
	sw_tx_journal(tx, "c", "deleted");
	sw_tx_journal_delete(tx, "c");
	sw_tx_journal_delete(tx, "never made");
	for (l.time_ms = 1; l.time_ms <= 5; l.time_ms++)
		sw_tx_log(tx, &l);
}

static const struct {
	const char *name;
	void (*query)(struct sw_db *db, void *arg);
	unsigned limit;
	int64_t next;
	sw_status rc;
	const char *want;
} rows[] = {
	{"journal", journal, 0, 0, SW_OK, "1 one\n2 {\"caf\xc3\xa9\": NaN}\n3 \n"},
	{"journal after 1", journal, 1, 1, SW_OK, "2 {\"caf\xc3\xa9\": NaN}\n"},
	{"no journal", no_journal, 0, 0, SW_OK, ""},
	{"all sweeps", all_sweeps, 0, 0, SW_OK,
	 "1 digits {\"seed\":7} RUNNING why val_loss random -7 1 1 40 1111111111111 2 1000 "
	 "b4096 d1024 s2048\n"
	 "2 NULL {} COMPLETED run_cap NULL NULL 0 0 0 41 0 99 0 b0 d0 s0\n"},
	{"all sweeps, ended by the callback", all_sweeps, 1, 0, SW_OK,
	 "1 digits {\"seed\":7} RUNNING why val_loss random -7 1 1 40 1111111111111 2 1000 "
	 "b4096 d1024 s2048\n"},
	{"one sweep", sweep_2, 0, 0, SW_OK,
	 "2 NULL {} COMPLETED run_cap NULL NULL 0 0 0 41 0 99 0 b0 d0 s0\n"},
	{"trials", trials, 0, 0, SW_OK,
	 "1/1 RUNNING lost {\"lr\":0.1} a2 s1 1 0.29999999999999999 {\"a\":4} 5 50 0 1.5 p0 r1\n"
	 "1/2 PRUNED NULL {} a3 s0 1 0.10000000000000001 NULL 0 6 7 2.5 p1 r4\n"
	 "1/3 PRUNED NULL {} a0 s5 0 0 NULL 0 0 0 0 p0 r5\n"},
	{"trials after 1, at most one", trials_after_1, 0, 0, SW_OK,
	 "1/2 PRUNED NULL {} a3 s0 1 0.10000000000000001 NULL 0 6 7 2.5 p1 r4\n"},
	{"trials by state", trials_pruned, 0, 0, SW_OK,
	 "1/2 PRUNED NULL {} a3 s0 1 0.10000000000000001 NULL 0 6 7 2.5 p1 r4\n"
	 "1/3 PRUNED NULL {} a0 s5 0 0 NULL 0 0 0 0 p0 r5\n"},
	{"one trial", trial_1, 0, 0, SW_OK,
	 "1/1 RUNNING lost {\"lr\":0.1} a2 s1 1 0.29999999999999999 {\"a\":4} 5 50 0 1.5 p0 r1\n"},
	{"no such trial", trial_9, 0, 0, SW_NOT_FOUND, ""},
	{"counts", counts, 0, 0, SW_OK, "PRUNED 2\nRUNNING 1\n"},
	{"attempts", attempts, 0, 0, SW_OK,
	 "1/1 a1 ev3 slot0 50 55 LOST signal:9 r0 gpu 0.4 1 1e+09 12.5 3.25\n1/1 a2 ev9 slot-1 60 "
	 "0 RUNNING NULL r3 1 0 0 0 0\n"},
	{"edits alone", edits, 0, 0, SW_OK, "1 ev12 edit 0 a0 NULL {\"run_cap\":9} 0 71 1000\n"},
	{"no edits", edits_2, 0, 0, SW_OK, ""},
	{"use of ended attempts on slots", use, 0, 0, SW_OK, "1 5 2\n"},
	{"use of a sweep without attempts", use_2, 0, 0, SW_OK, "0 0 0\n"},
	{"reports", reports, 0, 0, SW_OK,
	 "1/1 a1 q1 ev4 s1 t51 1 0.10000000000000001 0 continue {\"a\":1}\n"
	 "1/1 a1 q2 ev5 s2 t52 0 0 0 continue NULL ckpt\n"
	 "1/1 a1 q3 ev7 s4 t53 0 0 1 stop {\"a\":3}\n"
	 "1/1 a2 q1 ev10 s1 t61 1 0.29999999999999999 0 pause {\"a\":4}\n"},
	{"reports after attempt 1, seq 2", reports_after_1_2, 0, 0, SW_OK,
	 "1/1 a1 q3 ev7 s4 t53 0 0 1 stop {\"a\":3}\n"
	 "1/1 a2 q1 ev10 s1 t61 1 0.29999999999999999 0 pause {\"a\":4}\n"},
	{"one report", report_1_3, 0, 0, SW_OK, "1/1 a1 q3 ev7 s4 t53 0 0 1 stop {\"a\":3}\n"},
	{"no such report", report_9_9, 0, 0, SW_NOT_FOUND, ""},
	{"decisions", decisions, 0, 0, SW_OK,
	 "1/1 a1 q3 stop b0 r4 22 9 7 1 0.5 0.25\n1/1 a2 q1 continue b1 r1 1 0 1 0 0 0.3\n"},
	{"history, merged by ev, without metrics", history, 0, 0, SW_OK,
	 "1 ev3 ask 1 a1 NULL NULL 0 50 -1\n"
	 "1/1 a1 q1 ev4 s1 t51 1 0.10000000000000001 0 continue NULL\n"
	 "1/1 a1 q2 ev5 s2 t52 0 0 0 continue NULL ckpt\n"
	 "1 ev6 extend 0 a0 NULL NULL 60 54 1000\n"
	 "1/1 a1 q3 ev7 s4 t53 0 0 1 stop NULL\n"
	 "1 ev8 tell 1 a1 FAILED oom 0 55 0\n"
	 "1/1 a2 q1 ev10 s1 t61 1 0.29999999999999999 0 pause NULL\n"
	 "1/3 a1 q1 ev11 s5 t70 0 0 0 continue NULL ckpt\n"
	 "1 ev12 edit 0 a0 NULL {\"run_cap\":9} 0 71 1000\n"
	 "1 ev13 stop 0 a0 NULL time_budget_s 0 72 -1\n"},
	{"history with metrics", history_metrics, 0, 0, SW_OK,
	 "1 ev3 ask 1 a1 NULL NULL 0 50 -1\n"
	 "1/1 a1 q1 ev4 s1 t51 1 0.10000000000000001 0 continue {\"a\":1}\n"
	 "1/1 a1 q2 ev5 s2 t52 0 0 0 continue NULL ckpt\n"
	 "1 ev6 extend 0 a0 NULL NULL 60 54 1000\n"
	 "1/1 a1 q3 ev7 s4 t53 0 0 1 stop {\"a\":3}\n"
	 "1 ev8 tell 1 a1 FAILED oom 0 55 0\n"
	 "1/1 a2 q1 ev10 s1 t61 1 0.29999999999999999 0 pause {\"a\":4}\n"
	 "1/3 a1 q1 ev11 s5 t70 0 0 0 continue NULL ckpt\n"
	 "1 ev12 edit 0 a0 NULL {\"run_cap\":9} 0 71 1000\n"
	 "1 ev13 stop 0 a0 NULL time_budget_s 0 72 -1\n"},
	{"where trials stand, by the last of their curves", standing, 0, 0, SW_OK,
	 "1/1 a2 q1 ev10 s1 t61 1 0.29999999999999999 0 pause {\"a\":4}\n"},
	{"where a trial without reports stands", standing_2, 0, 0, SW_OK, ""},
	{"history, ended by the callback", history, 1, 0, SW_OK,
	 "1 ev3 ask 1 a1 NULL NULL 0 50 -1\n"},
	{"log lines", log_lines, 0, 0, SW_OK,
	 "1/1 a2 1 caf\xc3\xa9\n1/1 a2 2 caf\xc3\xa9\n1/1 a2 3 caf\xc3\xa9\n"},
	{"log lines, from there on", log_lines, 0, 3, SW_OK,
	 "1/1 a2 4 caf\xc3\xa9\n1/1 a2 5 caf\xc3\xa9\n"},
	{"suggestion", suggestion_1, 0, 0, SW_OK, "1/1 k4 {\"lr\":0.1} {\"source\":\"gp\"}\n"},
	{"trial without a suggestion", suggestion_2, 0, 0, SW_OK, "1/2 k-1 {} NULL\n"},
	{"suggestion of no trial", suggestion_9, 0, 0, SW_NOT_FOUND, ""},
	{"sampler, the last state", sampler, 0, 0, SW_OK, "1/2 a5\n"},
	{"sampler without a state", sampler_2, 0, 0, SW_OK, ""},
	{"priors, in order", priors, 0, 0, SW_OK, "1 1 {\"lr\":1} [0.5] 7/31\n1 2 {} [2] 0/0\n"},
	{"slots", slots, 0, 0, SW_OK, "0 gpu:0 w2 NULL\n"},
};

TEST_ROWS(rows_written_come_back_the_same, rows)
{
	struct seen s = {.limit = rows[_i].limit, .next = rows[_i].next};
	struct sw_tx *tx = tx_new();

	fixture_open();
	fill_sweeps(tx);
	fill_trials(tx);
	fill_reports(tx);
	fill_rest(tx);
	commit_now(tx);
	for (int turn = 0; turn < 2; turn++) { /* the second after a reopen */
		s.len = s.n = 0;
		s.text[0] = '\0';
		s.next = rows[_i].next;
		sw_store_read_now(f.store, rows[_i].query, &s);
		ck_assert_msg(s.rc == rows[_i].rc, "%s: %d: %s", rows[_i].name, s.rc, s.err.msg);
		ck_assert_msg(strcmp(s.text, rows[_i].want) == 0, "%s:\n%s---\n%s", rows[_i].name,
			      s.text, rows[_i].want);
		if (rows[_i].query == log_lines)
			ck_assert_int_eq(s.next, rows[_i].next == 0 ? 3 : 5);
		fixture_close();
		fixture_open();
	}
}

TEST(log_keeps_the_last_thousand_lines)
{
	struct seen s = {.limit = 0};
	struct sw_row_log l = {.sweep = 1, .attempt = 1, .line = "x"};
	struct sw_tx *tx = tx_new();

	fixture_begin();
	for (int i = 1; i <= SW_LOG_MAX_LINES + 7; i++) {
		l.time_ms = i;
		l.trial = 1;
		sw_tx_log(tx, &l);
		l.trial = 2;
		if (i <= 3)
			sw_tx_log(tx, &l);
	}
	commit_now(tx);
	sw_store_read_now(f.store, log_lines, &s);
	ck_assert_str_eq(s.text, "1/1 a1 8 x\n1/1 a1 9 x\n1/1 a1 10 x\n");
	s.next = SW_LOG_MAX_LINES + 5;
	s.len = 0;
	sw_store_read_now(f.store, log_lines, &s);
	ck_assert_str_eq(s.text, "1/1 a1 1006 x\n1/1 a1 1007 x\n");
}

TEST(row_that_must_not_be_stored_is_refused_whole)
{
	const struct sw_row_trial no_params = {.sweep = 1, .trial = 2, .state = "PENDING"};
	const double bad[] = {NAN, INFINITY, -INFINITY};
	unsigned done = 0;

	fixture_begin();
	for (size_t i = 0; i < 3; i++) {
		struct sw_tx *tx = tx_new();
		put_report(tx, 1, 1, bad[i]);
		ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &done), SW_INVALID);
	}
	struct sw_tx *tx = tx_new();
	sw_tx_trial_insert(tx, &no_params);
	ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &done), SW_INVALID);
	ck_assert_int_eq(sw_store_commit(f.store, NULL, count_done, &done), SW_INVALID);
	commit_now(tx_new()); /* the store goes on, and an empty transaction is one */
	ck_assert_uint_eq(done, 0);
}

RUN_TESTS(fixture_init, fixture_fini)
