/* tests/cli/test_live.c — the live table on a canvas, at several widths; the view that feeds it;
 * the plain block. */
#include "base/clock.h"
#include "base/term.h"
#include "cli/block.h"
#include "cli/canvas.h"
#include "cli/live.h"
#include "proto/json.h"
#include "tests/cli/canvas_row.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <locale.h>

static const char head[] =
	"\"sweep\":1,\"name\":\"digits\",\"state\":\"%s\",\"cause\":null,\"method\":\"random\","
	"\"metric\":\"val_accuracy\",\"goal\":\"maximize\",\"run_cap\":40,\"max_t\":27,"
	"\"counts\":{\"RUNNING\":%d,\"COMPLETED\":1,\"PRUNED\":%d,\"PENDING\":3},"
	"\"best\":{\"trial\":1,\"value\":0.98,\"params\":{\"lr\":0.01}},"
	"\"rungs\":[{\"bracket\":0,\"step\":1,\"n\":9,\"cutoff\":0.81},"
	"{\"bracket\":0,\"step\":3,\"n\":4,\"cutoff\":null}],"
	"\"slots\":{\"mine\":2,\"busy\":2,\"total\":2},\"seconds\":12.5,\"eta_s\":20.0,"
	"\"parameters\":[\"lr\",\"l1\"],\"trials\":[";

static struct sw_browse keys; /* none pressed */

static void add_trial(struct sw_buf *b, int trial, const char *state)
{
	(void)sw_buf_addf(b,
			  "%s{\"trial\":%d,\"attempt\":1,\"state\":\"%s\",\"cause\":null,"
			  "\"params\":{\"lr\":0.0123456789,\"l1\":\"a\\u001b[2J\"},\"step\":%d,"
			  "\"metrics\":{\"val_accuracy\":0.5,\"val_loss\":0.25,\"aux\":1},"
			  "\"value\":0.5,\"seconds\":1.25}",
			  b->data[b->len - 1] == '[' ? "" : ",", trial, state, trial % 28);
}

/* A message with trials 1..n: number k is RUNNING when k % 10 == 0, else PRUNED; 1 COMPLETED. */
static cJSON *message(const char *state, int first, int n)
{
	struct sw_buf b;
	cJSON *v = NULL;

	sw_buf_init(&b, 1 << 24);
	(void)sw_buf_adds(&b, "{");
	(void)sw_buf_addf(&b, head, state, n / 10, n - n / 10 - 1);
	for (int k = first; k < first + n; k++)
		add_trial(&b, k, k == 1 ? "COMPLETED" : k % 10 == 0 ? "RUNNING" : "PRUNED");
	(void)sw_buf_adds(&b, "]}");
	ck_assert_int_eq(b.failed, SW_OK);
	ck_assert_int_eq(sw_json_parse(&v, b.data, b.len, NULL), SW_OK);
	sw_buf_fini(&b);
	return v;
}

static struct sw_view v;
static struct sw_canvas c;
static char text[1024]; /* a row of it */

static void begin(void)
{
	sw_view_init(&v, 1);
}

static void end(void)
{
	sw_canvas_fini(&c);
	sw_view_fini(&v);
}

/* Into text. */
static void read_row(int row)
{
	struct sw_buf b;

	sw_buf_init(&b, 65536);
	canvas_row(&c, row, &b);
	(void)snprintf(text, sizeof text, "%s", b.data != NULL ? b.data : "");
	sw_buf_fini(&b);
}

static const struct {
	int width, height;
	const char *first, *columns, *last;
} screens[] = {
	{40, 10, "sweep 1 digits  RUNNING  random  elapse\u2026", "trial state", "... "},
	{80, 14, "sweep 1 digits  RUNNING  random  elapsed 12.5s  ETA 20.0s  slots 2/2",
	 "trial state   ", "... "},
	{200, 30, "sweep 1 digits  RUNNING  random  elapsed 12.5s  ETA 20.0s  slots 2/2",
	 "trial state        lr    l1 val_accuracy aux val_loss step seconds progress", "... "},
};

TEST_LOOP(live_table_fits_its_screen, 0, 3)
{
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 60), 1000), SW_OK);
	ck_assert_int_eq(sw_canvas_init(&c, screens[_i].width, screens[_i].height), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &keys, true, 1000), SW_OK);
	read_row(0);
	ck_assert_str_eq(text, screens[_i].first);
	read_row(2);
	ck_assert_str_eq(text, "rungs   3: - (4)  1: 0.81 (9)");
	read_row(4);
	ck_assert_msg(strncmp(text, screens[_i].columns, strlen(screens[_i].columns)) == 0,
		      "columns: %s", text);
	ck_assert_ptr_nonnull(strstr(text, "val_accuracy"));
	read_row(5);
	ck_assert_msg(strncmp(text, "1/10  RUNNING", 13) == 0, "first trial: %s", text);
	ck_assert_ptr_null(strchr(text, '\033'));
	read_row(screens[_i].height - 1);
	ck_assert_msg(strncmp(text, screens[_i].last, 4) == 0, "last row: %s", text);
}

TEST(view_message_with_reset_forgets_the_rest)
{
	cJSON *reset = message("RUNNING", 31, 5);

	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 30), 0), SW_OK);
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 2, 1), 0), SW_OK);
	ck_assert_uint_eq(v.n, 30);
	(void)cJSON_AddBoolToObject(reset, "reset", 1);
	ck_assert_int_eq(sw_view_merge(&v, reset, 0), SW_OK);
	ck_assert_uint_eq(v.n, 5);
	for (size_t i = 0; i < v.n; i++)
		ck_assert_uint_ge(v.rows[i].trial, 31);
}

TEST(live_table_has_no_more_line_when_all_fit)
{
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 2), 0), SW_OK);
	cJSON_ReplaceItemInObject(v.head, "counts", cJSON_Parse("{\"COMPLETED\":1,\"PRUNED\":1}"));
	ck_assert_int_eq(sw_canvas_init(&c, 80, 20), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &keys, false, 0), SW_OK);
	read_row(7);
	ck_assert_str_eq(text, "");
	read_row(1);
	ck_assert_str_eq(text, "trials  2/40 #...................  1 COMPLETED  1 PRUNED (50%)");
	/* a population, whose states are too many for the percentage */
	cJSON_ReplaceItemInObject(
		v.head, "counts",
		cJSON_Parse("{\"RUNNING\":2,\"PAUSED\":4,\"PENDING\":13,\"PRUNED\":20}"));
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &keys, false, 0), SW_OK);
	read_row(1);
	ck_assert_str_eq(text,
			 "trials  20/40 ##########..........  2 RUNNING  4 PAUSED  13 PENDING  "
			 "20 PRUNED");
}

/* A failure and a silent trial have their cause in 80 columns, and the sweep's its own line. */
TEST(live_table_says_what_is_wrong)
{
	const char *why = "exit:1: ModuleNotFoundError: No module named 'x' (5 trials FAILED)";
	cJSON *m = message("RUNNING", 1, 3), *trials = cJSON_GetObjectItem(m, "trials");

	cJSON_ReplaceItemInObject(m, "cause", cJSON_CreateString(why));
	cJSON_ReplaceItemInObject(cJSON_GetArrayItem(trials, 1), "state",
				  cJSON_CreateString("FAILED"));
	cJSON_ReplaceItemInObject(cJSON_GetArrayItem(trials, 1), "cause",
				  cJSON_CreateString("exit:1: ModuleNotFoundError: No module"));
	cJSON_ReplaceItemInObject(cJSON_GetArrayItem(trials, 2), "state",
				  cJSON_CreateString("RUNNING"));
	cJSON_AddNumberToObject(cJSON_GetArrayItem(trials, 2), "heard_ms",
				(double)sw_clock_wall_ms() - 200000.0);
	ck_assert_int_eq(sw_view_merge(&v, m, 0), SW_OK);
	ck_assert_int_eq(sw_canvas_init(&c, 80, 20), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &keys, true, 0), SW_OK);
	read_row(1);
	ck_assert_msg(strncmp(text, "cause   ", 8) == 0 && strcmp(text + 8, why) == 0, "%s", text);
	read_row(5);
	ck_assert_msg(strstr(text, "lr") && strstr(text, "cause"), "columns: %s", text);
	read_row(6);
	ck_assert_msg(strstr(text, "last report 3m2") != NULL, "a silent trial: %s", text);
	read_row(7);
	ck_assert_msg(strstr(text, "exit:1: ModuleNotFou") != NULL, "a failed one: %s", text);
}

#define LONG_CAUSE                                                                                 \
	"exit:1: ModuleNotFoundError: No module named 'one_with_a_name_that_needs_a_second_line'"

static const struct {
	int width, height;
} sizes[] = {{40, 15}, {80, 24}, {100, 30}, {160, 50}};

static void ck_assert_shown(const char *says, bool is)
{
	struct sw_buf b;

	sw_buf_init(&b, 65536);
	for (int i = 0; i < c.width * c.height; i++)
		sw_term_add_rune(&b, c.cells[i].rune);
	ck_assert_msg((strstr(b.data, says) != NULL) == is, "%d columns: %s", c.width, says);
	sw_buf_fini(&b);
}

/* Whatever has no room: of the sweep, of the latest failed trial, or of that under the cursor. */
TEST_ROWS(live_table_shows_a_whole_cause, sizes)
{
	cJSON *m = message("RUNNING", 1, 30), *trials = cJSON_GetObjectItem(m, "trials");
	struct sw_browse b = {.trial = 0};

	cJSON_ReplaceItemInObject(m, "cause", cJSON_CreateString(LONG_CAUSE " (5 alike)"));
	for (int i = 4; i < 6; i++) {
		cJSON_ReplaceItemInObject(
			cJSON_GetArrayItem(trials, i), "cause",
			cJSON_CreateString(i == 4 ? LONG_CAUSE : "rung 3: 5 of 9 behind 0.97"));
		cJSON_ReplaceItemInObject(cJSON_GetArrayItem(trials, i), "state",
					  cJSON_CreateString(i == 4 ? "FAILED" : "PRUNED"));
	}
	ck_assert_int_eq(sw_view_merge(&v, m, 0), SW_OK);
	ck_assert_int_eq(sw_canvas_init(&c, sizes[_i].width, sizes[_i].height), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &b, true, 0), SW_OK);
	ck_assert_shown(LONG_CAUSE " (5 alike)", true);
	ck_assert_shown("1/5 FAILED: " LONG_CAUSE, true);
	sw_canvas_fini(&c);
	b.trial = 6;
	ck_assert_int_eq(sw_canvas_init(&c, sizes[_i].width, sizes[_i].height), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &b, true, 0), SW_OK);
	ck_assert_shown("rung 3: 5 of 9 behind 0.97", true);
	ck_assert_shown("1/5 FAILED: ", false);
}

TEST(live_tables_of_two_sweeps_share_the_height)
{
	struct sw_view two[2];

	for (size_t i = 0; i < 2; i++) {
		sw_view_init(&two[i], i + 1);
		ck_assert_int_eq(sw_view_merge(&two[i], message("RUNNING", 1, 60), 0), SW_OK);
	}
	ck_assert_int_eq(sw_canvas_init(&c, 100, 21), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, two, 2, &keys, true, 0), SW_OK);
	read_row(9);
	ck_assert_int_eq(strncmp(text, "... ", 4), 0);
	read_row(10);
	ck_assert_str_eq(text, "");
	read_row(11);
	ck_assert_int_eq(strncmp(text, "sweep 2 digits", 14), 0);
	for (size_t i = 0; i < 2; i++)
		sw_view_fini(&two[i]);
}

/* Any size draws: nothing is written outside the cells (a sanitizer sees that it is not). */
TEST(live_table_draws_at_any_size)
{
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 30), 0), SW_OK);
	cJSON_ReplaceItemInObject(v.head, "cause", cJSON_CreateString(LONG_CAUSE));
	cJSON_ReplaceItemInObject(v.rows[0].json, "cause", cJSON_CreateString(LONG_CAUSE));
	cJSON_ReplaceItemInObject(v.rows[0].json, "state", cJSON_CreateString("FAILED"));
	for (int w = 1; w < 130; w += 3)
		for (int h = 1; h < 20; h += 2) {
			ck_assert_int_eq(sw_canvas_init(&c, w, h), SW_OK);
			ck_assert_int_eq(sw_live_draw(&c, &v, 1, &keys, true, 0), SW_OK);
			ck_assert_uint_eq(c.cells[0].rune, w == 1 ? 0x2026 : 's');
			sw_canvas_fini(&c);
		}
}

TEST(live_table_says_that_the_daemon_is_away)
{
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 3), 0), SW_OK);
	v.lost_at_us = 1;
	ck_assert_int_eq(sw_canvas_init(&c, 80, 20), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, &v, 1, &keys, true, 5000001), SW_OK);
	read_row(0);
	ck_assert_str_eq(text, "sweep 1 digits  the daemon is away for 5.0s; trying again");
}

TEST(view_keeps_running_trials_and_the_latest)
{
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 900), 0), SW_OK);
	ck_assert_uint_eq(v.n, SW_VIEW_MAX);
	ck_assert_uint_eq(v.rows[0].trial, 10);
	ck_assert_uint_eq(v.rows[89].trial, 900);
	ck_assert_uint_eq(v.rows[90].trial, 899); /* the latest that has ended */
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 5, 1), 0), SW_OK);
	ck_assert_uint_eq(v.n, SW_VIEW_MAX);
	ck_assert_uint_eq(v.rows[90].trial, 5); /* changed last */
	ck_assert(!sw_view_ended(&v));
	ck_assert_int_eq(sw_view_merge(&v, message("COMPLETED", 6, 1), 0), SW_OK);
	ck_assert(sw_view_ended(&v));
}

TEST_LOOP(view_refuses_what_is_no_update, 0, 5)
{
	static const char *const texts[] = {"{}", "[]", "{\"state\":\"RUNNING\"}",
					    "{\"trials\":[]}", "{\"state\":1,\"trials\":[]}"};
	cJSON *m = NULL;

	ck_assert_int_eq(sw_json_parse(&m, texts[_i], strlen(texts[_i]), NULL), SW_OK);
	ck_assert_int_eq(sw_view_merge(&v, m, 0), SW_PARSE);
	ck_assert_ptr_null(v.head);
}

/* No line of a block is wider than the look allows; with no limit nothing is cut. */
TEST_LOOP(block_lines_keep_to_the_width, 0, 4)
{
	static const int widths[] = {40, 80, 200, 0};
	const struct sw_look look = {.utf8 = true, .width = widths[_i]};
	struct sw_buf b;

	sw_buf_init(&b, 1 << 20);
	ck_assert_int_eq(sw_view_merge(&v, message("RUNNING", 1, 60), 0), SW_OK);
	ck_assert_int_eq(sw_block_print(&b, &v, &look, 0), SW_OK);
	for (char *line = strtok(b.data, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (look.width > 0 && strncmp(line, "...", 3) != 0)
			ck_assert_msg(sw_term_width(line, true) <= look.width, "%d: %s", look.width,
				      line);
	sw_buf_fini(&b);
}

TEST(live_table_without_memory_fails_cleanly_at_each_call)
{
	WALK (SW_FAULT_MALLOC, 1) {
		const struct sw_look look = {.utf8 = true, .color = true, .width = 80};
		cJSON *m = message("RUNNING", 1, 5);
		struct sw_buf b;

		sw_view_init(&v, 1);
		sw_buf_init(&b, 1 << 20);
		walk_arm();
		sw_status rc = sw_view_merge(&v, m, 0);
		const sw_status made = sw_canvas_init(&c, 80, 12);
		if (rc == SW_OK)
			rc = made;
		if (rc == SW_OK)
			rc = sw_live_draw(&c, &v, 1, &keys, true, 0);
		if (rc == SW_OK)
			rc = sw_block_print(&b, &v, &look, 0);
		const unsigned fired = walk_disarm();
		ck_assert_msg(rc == (fired ? SW_NOMEM : SW_OK), "call %u: %s", walk.nth,
			      sw_status_str(rc));
		sw_canvas_fini(&c);
		sw_view_fini(&v);
		sw_buf_fini(&b);
	}
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, begin, end);
	(void)setlocale(LC_CTYPE, "C.UTF-8");
}
