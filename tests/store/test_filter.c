/* tests/store/test_filter.c — which trials a filter takes, their order, and what is no filter. */
#include "store/filter.h"
#include "store/read.h"
#include "tests/run.h"
#include "tests/store/fixture.h"

static const struct sw_filter_param params[] = {{"lr", "$.\"lr\""},
						{"opt.wd", "$.\"opt\".\"wd\""},
						{"a b", "$.\"a b\""},
						{"step", "$.\"step\""},
						{"net", "$.\"net\""}};
static const struct sw_filter_names names = {.metric = "loss", .params = params, .n_params = 5};

/* Six trials: number, state, params, best value (0: none). */
static const struct {
	const char *state, *cause, *params;
	double best;
} trials[] = {
	{"COMPLETED", NULL, "{\"lr\":0.1,\"opt\":{\"wd\":0},\"a b\":true,\"net\":\"big\"}", .5},
	{"PRUNED", "rung 1: rank 3 of 4", "{\"lr\":0.01,\"opt\":{\"wd\":1},\"net\":\"small\"}", .9},
	{"FAILED", "oom", "{\"lr\":0.001,\"opt\":{},\"a b\":false,\"net\":\"BIG\"}", 0},
	{"RUNNING", NULL, "{\"lr\":1.0,\"net\":\"x' OR 1=1 --\"}", .2},
	{"COMPLETED", NULL, "{\"lr\":0.5,\"step\":9,\"opt\":{\"wd\":2},\"net\":\"10\"}", .5},
	{"PENDING", NULL, "{\"lr\":2}", 0},
};
#define N_TRIALS (sizeof trials / sizeof *trials)

static void setup(void)
{
	struct sw_tx *tx;

	fixture_init();
	fixture_open();
	tx = tx_new();
	put_sweep(tx, 1);
	put_sweep(tx, 2);
	for (size_t i = 0; i < N_TRIALS; i++) {
		struct sw_row_trial row = {.trial = (int64_t)i + 1,
					   .sweep = 1,
					   .state = trials[i].state,
					   .cause = trials[i].cause,
					   .params = trials[i].params,
					   .attempt = 1};
		sw_tx_trial_insert(tx, &row);
		row.sweep = 2; /* another one's trials are in no answer */
		sw_tx_trial_insert(tx, &row);
		/* The last report is worse than the best. */
		for (int64_t seq = 1; trials[i].best != 0 && seq <= 2; seq++)
			sw_tx_report(tx, &(struct sw_row_report){.sweep = 1,
								 .trial = (int64_t)i + 1,
								 .attempt = 1,
								 .seq = seq,
								 .ev = 2 * (int64_t)i + seq,
								 .step = seq,
								 .verdict = "continue",
								 .metrics = "{}",
								 .has_value = true,
								 .value = trials[i].best +
									  (double)(seq - 1)});
	}
	commit_now(tx);
}

struct asked {
	const char *text, *sort;
	int64_t skip, limit;
	char found[64], matching[64], unknown[128];
	int64_t total;
	sw_status rc;
	struct sw_err err;
};

static bool note(const struct sw_row_trial *row, void *arg)
{
	struct asked *a = arg;
	const size_t n = strlen(a->found);

	(void)snprintf(a->found + n, sizeof a->found - n, "%s%lld", n > 0 ? " " : "",
		       (long long)row->trial);
	return true;
}

static bool note_matching(int64_t trial, void *arg)
{
	struct asked *a = arg;
	const size_t n = strlen(a->matching);

	(void)snprintf(a->matching + n, sizeof a->matching - n, "%s%lld", n > 0 ? " " : "",
		       (long long)trial);
	return true;
}

static void ask(struct sw_db *db, void *arg)
{
	struct asked *a = arg;
	struct sw_filter filter;

	a->rc = sw_filter_parse(&filter, a->text, a->sort, &names, a->unknown, &a->err);
	if (a->rc == SW_OK)
		a->rc = sw_read_filtered(db, 1, &filter, a->skip, a->limit, note, a, &a->total,
					 &a->err);
	if (a->rc == SW_OK)
		a->rc = sw_read_matching(db, 1, &filter, note_matching, a, &a->err);
	sw_filter_fini(&filter);
}

static struct asked answer(const char *text, const char *sort, int64_t skip, int64_t limit)
{
	struct asked a = {.text = text, .sort = sort, .skip = skip, .limit = limit};

	sw_store_read_now(f.store, ask, &a);
	return a;
}

static const struct {
	const char *text, *found;
} taken[] = {
	{"", "1 2 3 4 5 6"},
	{"lr < 0.1", "2 3"},
	{"lr <= 1e-1 and lr > .001", "1 2"},
	{"lr >= 1", "4 6"},
	{"opt.wd != 0", "2 5"},
	{"opt.wd = null", "3 4 6"},
	{"opt.wd != null", "1 2 5"},
	{"\"a b\" = true", "1"},
	{"\"a b\" == FALSE", "3"},
	{"net = big", "1 3"},
	{"net in (small, 'BIG')", "1 2 3"},
	{"not net in (big)", "2 4 5"},
	{"not state in (failed, RUNNING)", "1 2 5 6"},
	{"lr in (0.5, 2) and not trial in (6)", "5"},
	{"net in (\"10\")", "5"},
	{"net = 'x\\' OR 1=1 --'", "4"},
	{"net ~ I", "1 3"},
	{"\"step\" = 9 and step < 9", "5"},
	{"net ~ 'b_g' or net ~ '%' or cause ~ 'rank%3'", ""},
	{"state = completed", "1 5"},
	{"state in (COMPLETED, PRUNED) and loss > .5", "2"},
	{"cause ~ 'rank 3'", "2"},
	{"value = .5 or trial = 6", "1 5 6"},
	{"trial in (1, 6, 9)", "1 6"},
	{"not state = COMPLETED and not (lr < .1 or lr > 1)", "4"},
	{"lr = .1 or lr = .5 and state = RUNNING", "1"},
	{"(lr = .1 or lr = .5) and state = COMPLETED", "1 5"},
	{"NOT net = big", "2 4 5"},
	{"lr < abc or net > 1 or lr >= ''", ""},
	{"not net > 1 or not lr < abc or not net > 1", ""},
	{"not net < c and not cause < m", "2"},
	{"\"a b\" > 0", "1"},
};

TEST_ROWS(filter_takes_those_it_says, taken)
{
	const struct asked a = answer(taken[_i].text, NULL, 0, 100);

	ck_assert_msg(a.rc == SW_OK, "%s: %s", taken[_i].text, a.err.msg);
	ck_assert_str_eq(a.found, taken[_i].found);
	ck_assert_str_eq(a.matching, taken[_i].found);
}

static const struct {
	const char *sort;
	int64_t skip, limit;
	const char *found;
} sorted[] = {
	{"lr", 0, 100, "3 2 1 5 4 6"},
	{"-lr", 0, 2, "6 4"},
	{"-lr", 2, 2, "5 1"},
	{"loss", 0, 9, "4 1 5 2 3 6"},
	{"-value", 0, 9, "2 1 5 4 3 6"},
	{"-trial", 4, 9, "2 1"},
	{"opt.wd", 0, 9, "1 2 5 3 4 6"},
	{"trial", 9, 9, ""},
	{"step", 0, 9, "3 6 1 2 4 5"},
	{"-step", 0, 9, "1 2 4 5 3 6"},
	{"\"step\"", 0, 9, "5 1 2 3 4 6"}, /* the parameter */
	{"-'a b'", 0, 9, "1 3 2 4 5 6"},
	{"a b", 0, 9, "3 1 2 4 5 6"},
};

TEST_ROWS(page_is_in_the_order_that_was_asked_for, sorted)
{
	const struct asked a = answer("", sorted[_i].sort, sorted[_i].skip, sorted[_i].limit);

	ck_assert_msg(a.rc == SW_OK, "%s", a.err.msg);
	ck_assert_str_eq(a.found, sorted[_i].found);
	ck_assert_int_eq(a.total, N_TRIALS);
}

static const struct {
	const char *text, *line;
} refused[] = {
	{"lrr < 1", "filter: the sweep has no \"lrr\""},
	{"lr <",
	 "filter, at character 5: here a value belongs: a number, a word, or a text in quotes"},
	{"lr 1", "filter, at character 4: here =, !=, <, <=, >, >=, ~ or in belongs"},
	{"lr < 1 lr", "filter, at character 8: here \"and\" or \"or\" belongs"},
	{"lr < 1 and",
	 "filter, at character 11: here a name belongs: a parameter, state, step, value, ..."},
	{"(lr < 1", "filter, at character 8: ) is missing"},
	{"net = 'big", "filter, at character 7: this quote has no end"},
	{"net in big", "filter, at character 8: behind \"in\" a list belongs: (a, b)"},
	{"loss < x", "filter, at character 8: here a number belongs"},
	{"trial = 74/3", "filter, at character 9: here a number belongs"},
	{"step in (1, \"2\")", "filter, at character 13: here a number belongs"},
	{"net in (big, null)",
	 "filter, at character 14: null stands in no list: write NAME = null"},
	{"net in (big", "filter, at character 12: the list does not end: ) is missing"},
	{"lr < 1; DROP TABLE trial", "filter, at character 7: here \"and\" or \"or\" belongs"},
	{"net = \"größe \U0001f600\" lr",
	 "filter, at character 17: here \"and\" or \"or\" belongs"},
};

TEST_ROWS(what_is_no_filter_is_refused_at_its_place, refused)
{
	const struct asked a = answer(refused[_i].text, NULL, 0, 100);

	ck_assert_int_eq(a.rc, SW_INVALID);
	ck_assert_str_eq(a.err.ptr, "/filter");
	ck_assert_str_eq(a.err.msg, refused[_i].line);
	ck_assert_str_eq(a.unknown, _i == 0 ? "lrr" : "");
}

TEST(sort_by_what_is_no_name_is_not_said_of_the_filter)
{
	struct asked a = answer("lr < 1", "-lrr", 0, 100);

	ck_assert_int_eq(a.rc, SW_INVALID);
	ck_assert_str_eq(a.err.ptr, "/sort");
	ck_assert_str_eq(a.err.msg, "sort: the sweep has no \"lrr\"");
	a = answer("lr < 1", "'lr", 0, 100);
	ck_assert_str_eq(a.err.ptr, "/sort");
	ck_assert_str_eq(a.err.msg, "sort, at character 1: this quote has no end");
}

TEST(filter_is_bounded)
{
	char deep[SW_FILTER_MAX + 2];

	memset(deep, '(', sizeof deep);
	deep[SW_FILTER_DEPTH + 1] = '\0';
	ck_assert_str_eq(answer(deep, NULL, 0, 9).err.msg,
			 "filter, at character 33: it is nested too deeply");
	memset(deep, 'a', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	ck_assert_str_eq(answer(deep, NULL, 0, 9).err.msg, "a filter has at most 2000 bytes");
	(void)snprintf(deep, sizeof deep, "lr in (1");
	for (int i = 0; i < SW_FILTER_VALUES; i++)
		strcat(deep, ",1");
	strcat(deep, ")");
	ck_assert_int_eq(answer(deep, NULL, 0, 9).rc, SW_INVALID);
	/* Side by side is not deep. */
	(void)snprintf(deep, sizeof deep, "trial = 2");
	for (int i = 0; i < SW_FILTER_DEPTH; i++)
		strcat(deep, " and lr < 1");
	ck_assert_str_eq(answer(deep, NULL, 0, 9).found, "2");
}

RUN_TESTS(setup, fixture_fini)
