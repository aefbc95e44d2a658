/* tests/daemon/sweep/files/test_files_read.c — what rows in a store say of the files of trials. */
#include "daemon/sweep/files/files_read.h"
#include "tests/run.h"
#include "tests/store/fixture.h"

#define METRIC "{\"metric\":{\"name\":\"loss\"},\"method\":\"random\",\"run_cap\":9,"
#define SPACE  "\"parameters\":{\"lr\":{\"min\":0.25,\"max\":0.5}}}"
#define PROGRAM                                                                                    \
	METRIC "\"checkpoint\":{\"keep\":\"all\",\"max_mb\":7},\"command\":[\"/bin/true\"],"       \
	       "\"run\":{\"cwd\":\"/\"}," SPACE
#define CHILDREN                                                                                   \
	METRIC "\"early_terminate\":{\"type\":\"pbt\",\"perturbation_interval\":4},"               \
	       "\"command\":[\"/bin/true\"],\"run\":{\"cwd\":\"/\"}," SPACE

static void begin(const char *spec)
{
	const struct sw_row_sweep row = {.sweep = 1,
					 .name = "s",
					 .spec = spec,
					 .state = "RUNNING",
					 .method = "random",
					 .metric = "loss"};
	struct sw_tx *tx = tx_new();

	fixture_open();
	sw_tx_sweep_insert(tx, &row);
	commit_now(tx);
}

static void trial(struct sw_tx *tx, int64_t number, int64_t parent, int64_t resume)
{
	const struct sw_row_trial row = {.sweep = 1,
					 .trial = number,
					 .state = "RUNNING",
					 .params = "{}",
					 .attempt = 1,
					 .parent = parent,
					 .resume_step = resume};

	sw_tx_trial_insert(tx, &row);
}

static void says(struct sw_tx *tx, int64_t number, int64_t step, double value, bool believed,
		 bool kept)
{
	const struct sw_row_report row = {.sweep = 1,
					  .trial = number,
					  .attempt = 1,
					  .seq = step,
					  .ev = 100 * number + step,
					  .step = step,
					  .has_value = true,
					  .value = value,
					  .diverged = !believed,
					  .metrics = "{}",
					  .verdict = "continue",
					  .checkpoint = kept ? 1 : -1};

	sw_tx_report(tx, &row);
}

static void ends(struct sw_tx *tx, int64_t number, const char *state)
{
	const struct sw_row_trial row = {
		.sweep = 1, .trial = number, .state = state, .attempt = 1, .ended_ms = 50 + number};

	sw_tx_trial_state(tx, &row);
}

/* {trial, step}, ... of the files that are there. */
static struct sw_files_read found(const uint64_t (*files)[2], size_t n)
{
	struct sw_files_read r = {.sweep = 1,
				  .files = {.v = calloc(n, sizeof *r.files.v), .n = n, .cap = n},
				  .err = SW_ERR_INIT};

	ck_assert_ptr_nonnull(r.files.v);
	for (size_t i = 0; i < n; i++)
		r.files.v[i] =
			(struct sw_file){.trial = files[i][0], .step = files[i][1], .whole = true};
	ck_assert(sw_files_group(&r.files));
	do
		sw_store_read_now(f.store, sw_files_read_rows, &r);
	while (sw_files_read_more(&r));
	return r;
}

TEST(files_read_best_of_a_program_is_the_best_that_is_there)
{
	static const uint64_t files[][2] = {{2, 0}, {1, 1}, {1, 3}, {1, 4}, {2, 1}, {5, 1}};

	begin(PROGRAM);
	struct sw_tx *tx = tx_new();
	trial(tx, 1, 0, 0);
	trial(tx, 2, 0, 0);
	says(tx, 1, 1, 3, true, true);
	says(tx, 1, 2, 0.5, true, false);
	says(tx, 1, 3, 2, true, true);
	says(tx, 1, 4, 2, true, true);
	says(tx, 2, 1, 0.25, true, true);
	ends(tx, 2, "FAILED");
	commit_now(tx);
	struct sw_files_read r = found(files, sizeof files / sizeof files[0]);
	ck_assert_msg(r.rc == SW_OK, "%s", r.err.msg);
	ck_assert(r.known && r.files.program && r.files.spec.keep == SW_SPEC_KEEP_ALL);
	ck_assert_uint_eq(r.files.spec.max_mb, 7);
	ck_assert_uint_eq(r.files.trial_n, 3);
	const struct sw_files_trial *t = r.files.trials;
	ck_assert(t[0].known && t[0].state == SW_TRIAL_RUNNING && t[0].has_value);
	ck_assert_double_eq(t[0].value, 0.5);
	ck_assert_uint_eq(t[0].last, 4);
	ck_assert_uint_eq(t[0].best, 3);
	ck_assert(t[1].known && t[1].state == SW_TRIAL_FAILED && t[1].ended_ms == 52);
	ck_assert(!t[2].known);
	/* One that failed is nobody's best. */
	ck_assert_uint_eq(r.record_trial, 1);
	ck_assert_double_eq(r.record, 0.5);
	sw_files_fini(&r.files);
}

/* Its last value is below a threshold: it is not the best, whatever it reported before. */
TEST(files_read_value_that_is_not_believed_is_none)
{
	static const uint64_t files[][2] = {{1, 2}, {2, 1}};

	begin(PROGRAM);
	struct sw_tx *tx = tx_new();
	trial(tx, 1, 0, 0);
	trial(tx, 2, 0, 0);
	says(tx, 1, 1, 0.3, true, true);
	says(tx, 1, 2, 0.1, false, true);
	ends(tx, 1, "COMPLETED");
	says(tx, 2, 1, 0.5, true, true);
	ends(tx, 2, "COMPLETED");
	commit_now(tx);
	struct sw_files_read r = found(files, sizeof files / sizeof files[0]);
	ck_assert(r.rc == SW_OK && !r.files.trials[0].has_value && r.files.trials[1].has_value);
	ck_assert_uint_eq(r.record_trial, 2);
	sw_files_fini(&r.files);
}

TEST(files_read_child_needs_its_donor_s_until_it_has_its_own)
{
	static const uint64_t files[][2] = {{1, 4}, {1, 8}, {2, 4}, {2, 8}, {4, 8}};

	begin(CHILDREN);
	struct sw_tx *tx = tx_new();
	trial(tx, 1, 0, 8);
	trial(tx, 2, 0, 8);
	trial(tx, 3, 1, 4);
	trial(tx, 4, 2, 8); /* it has its own, of the same step */
	trial(tx, 5, 2, 4);
	ends(tx, 5, "CANCELLED");
	commit_now(tx);
	struct sw_files_read r = found(files, sizeof files / sizeof files[0]);
	ck_assert_msg(r.rc == SW_OK, "%s", r.err.msg);
	for (size_t i = 0; i < r.files.n; i++)
		ck_assert_int_eq(r.files.v[i].heir, i == 0);
	sw_files_fini(&r.files);
}

/* Nothing may go by rows that say nothing. */
TEST(files_read_spec_that_cannot_be_read_is_an_error)
{
	static const uint64_t files[][2] = {{1, 4}};

	begin("{\"metric\":7}");
	struct sw_files_read r = found(files, 1);
	ck_assert_int_ne(r.rc, SW_OK);
	ck_assert_str_ne(r.err.msg, "");
	sw_files_fini(&r.files);
}

RUN_TESTS(fixture_init, fixture_fini)
