/* tests/cli/test_curve.c — the curve of one trial: when it is asked for, what it keeps, how it is
 * drawn. */
#include "cli/curve.h"
#include "proto/json.h"
#include "tests/cli/canvas_row.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <locale.h>

static struct sw_view view;
static struct sw_curve curve;
static char drawn[8192];

static cJSON *parse(struct sw_buf *b)
{
	cJSON *tree = NULL;

	ck_assert_int_eq(sw_json_parse(&tree, b->data, b->len, NULL), SW_OK);
	sw_buf_fini(b);
	return tree;
}

/* An update: trial 7 is in this state, of a sweep with rungs at 3 and 9. */
static void update(const char *state)
{
	struct sw_buf b;

	sw_buf_init(&b, 1 << 16);
	(void)sw_buf_addf(
		&b,
		"{\"state\":\"RUNNING\",\"name\":\"digits\",\"metric\":\"acc\",\"rungs\":["
		"{\"bracket\":0,\"step\":3},{\"bracket\":0,\"step\":9},"
		"{\"bracket\":1,\"step\":9}],\"trials\":[{\"trial\":7,\"state\":\"%s\","
		"\"step\":5,\"value\":0.5,\"cause\":\"a\\u001b[2J\",\"params\":{\"lr\":1}}]}",
		state);
	ck_assert_int_eq(sw_view_merge(&view, parse(&b), 0), SW_OK);
}

static void begin(void)
{
	sw_view_init(&view, 1);
	update("RUNNING");
	sw_curve_of(&curve, 1, 7);
}

static void end(void)
{
	sw_curve_fini(&curve);
	sw_view_fini(&view);
}

/* Reports of an attempt: numbers and steps first to last, acc = step / 10. */
static cJSON *page(int attempt, int first, int last, const char *next)
{
	struct sw_buf b;

	sw_buf_init(&b, 1 << 24);
	(void)sw_buf_adds(&b, "{\"reports\":[");
	for (int k = first; k <= last; k++)
		(void)sw_buf_addf(
			&b, "%s{\"attempt\":%d,\"seq\":%d,\"step\":%d,\"metrics\":{\"acc\":%g}}",
			k > first ? "," : "", attempt, k, k, k / 10.0);
	(void)sw_buf_addf(&b, "],\"next\":%s}", next);
	return parse(&b);
}

static sw_status take(int attempt, int first, int last, const char *next)
{
	cJSON *result = page(attempt, first, last, next);
	const sw_status rc = sw_curve_take(&curve, result, "acc");

	cJSON_Delete(result);
	return rc;
}

/* First of all, page by page, and then whenever its trial has changed. */
TEST(curve_asks_when_there_may_be_more)
{
	char params[160] = "";

	ck_assert(sw_curve_ask(&curve, &view, params));
	ck_assert_str_eq(params, "{\"sweep\":1,\"trial\":7}");
	curve.id = 5; /* it is on its way */
	update("RUNNING");
	ck_assert(!sw_curve_ask(&curve, &view, params));
	curve.id = 0;
	ck_assert_int_eq(take(1, 1, 3, "\"1.3\""), SW_OK);
	ck_assert(sw_curve_ask(&curve, &view, params));
	ck_assert_str_eq(params, "{\"sweep\":1,\"trial\":7,\"after\":\"1.3\"}");
	ck_assert_int_eq(take(1, 4, 5, "null"), SW_OK);
	ck_assert(!sw_curve_ask(&curve, &view, params));
	update("COMPLETED");
	ck_assert(sw_curve_ask(&curve, &view, params));
	ck_assert_str_eq(params, "{\"sweep\":1,\"trial\":7,\"after\":\"1.5\"}");
	ck_assert_int_eq(take(1, 1, 0, "\"1.5\""), SW_OK); /* an empty page is the last */
	ck_assert(!sw_curve_ask(&curve, &view, params));
	sw_curve_of(&curve, 1, 7);
	ck_assert_uint_eq(curve.n, 5);
	sw_curve_of(&curve, 1, 8);
	ck_assert_uint_eq(curve.n, 0);
	ck_assert(sw_curve_ask(&curve, &view, params));
}

TEST(curve_of_a_second_attempt_goes_on_from_its_checkpoint)
{
	ck_assert_int_eq(take(1, 1, 9, "null"), SW_OK);
	ck_assert_int_eq(take(2, 4, 6, "null"), SW_OK);
	ck_assert_uint_eq(curve.n, 6);
	for (size_t i = 0; i < 6; i++)
		ck_assert_double_eq(curve.points[i].step, (double)i + 1);
}

TEST(curve_of_many_reports_keeps_a_spread)
{
	for (int k = 0; k < 10; k++)
		ck_assert_int_eq(take(1, 1000 * k + 1, 1000 * (k + 1), "null"), SW_OK);
	ck_assert_uint_le(curve.n, SW_CURVE_MAX);
	ck_assert_uint_ge(curve.n, SW_CURVE_MAX / 2);
	ck_assert_double_eq(curve.points[0].step, 1);
	for (size_t i = 1; i < curve.n; i++)
		ck_assert_double_eq(curve.points[i].step - curve.points[i - 1].step, 8);
	ck_assert_double_ge(curve.points[curve.n - 1].step, 9993);
}

TEST_LOOP(curve_takes_anything, 0, 6)
{
	static const char *const texts[] = {
		"null",
		"[]",
		"{\"reports\":7,\"next\":\"1.1\"}",
		"{\"reports\":[7,null,{}]}",
		"{\"reports\":[{\"attempt\":1,\"seq\":-1,\"step\":1,\"metrics\":{\"acc\":1}}]}",
		"{\"reports\":[{\"attempt\":1,\"seq\":1,\"step\":\"x\",\"metrics\":{\"acc\":1}},"
		"{\"attempt\":1,\"seq\":2,\"step\":2,\"metrics\":null}]}"};
	cJSON *result = NULL;

	ck_assert_int_eq(sw_json_parse(&result, texts[_i], strlen(texts[_i]), NULL), SW_OK);
	ck_assert_int_eq(sw_curve_take(&curve, result, "acc"), SW_OK);
	ck_assert_uint_eq(curve.n, 0);
	cJSON_Delete(result);
}

static sw_status draw(int width, int height)
{
	const struct sw_look look = {.utf8 = true, .color = true};
	struct sw_canvas c;
	struct sw_buf b;
	sw_status rc = sw_canvas_init(&c, width, height);

	sw_buf_init(&b, 1 << 20);
	if (rc == SW_OK)
		rc = sw_curve_draw(&c, &curve, &view, &look, 0, true);
	for (int y = 0; rc == SW_OK && y < height; y++) {
		canvas_row(&c, y, &b);
		rc = sw_buf_adds(&b, "\n");
	}
	(void)snprintf(drawn, sizeof drawn, "%s", b.data != NULL ? b.data : "");
	sw_buf_fini(&b);
	sw_canvas_fini(&c);
	return rc;
}

static const struct {
	const char *state;
	int last; /* reports */
	const char *text;
} pages[] = {
	{"RUNNING", 5, "\ntrial 1/7  RUNNING  step 5  acc 0.5  a?[2J\nlr=1\n"},
	{"RUNNING", 0, "\nit has not reported a value yet\n"},
	{"PRUNED", 5, " PRUNED\nacc\n"},
	{"FAILED", 5, " FAILED\nacc\n"},
	{"COMPLETED", 5, " COMPLETED\nacc\n"},
};

TEST_LOOP(curve_is_drawn_with_its_trial, 0, (int)(sizeof pages / sizeof pages[0]))
{
	update(pages[_i].state);
	ck_assert_int_eq(draw(80, 24), SW_OK);
	ck_assert_ptr_nonnull(strstr(drawn, "\nreading its reports\n"));
	ck_assert_int_eq(take(1, 1, pages[_i].last, "null"), SW_OK);
	ck_assert_int_eq(draw(80, 24), SW_OK);
	ck_assert_msg(strstr(drawn, pages[_i].text) != NULL, "no \"%s\" in\n%s", pages[_i].text,
		      drawn);
	ck_assert_ptr_nonnull(strstr(drawn, "\nUp, Down: another trial  q: back "));
	ck_assert_ptr_null(strchr(drawn, '\033'));
}

TEST(curve_draws_at_any_size)
{
	ck_assert_int_eq(take(1, 1, 50, "null"), SW_OK);
	for (int w = 1; w < 200; w += 7)
		for (int h = 1; h < 40; h += 3)
			ck_assert_int_eq(draw(w, h), SW_OK);
}

TEST(curve_without_memory_fails_cleanly_at_each_call)
{
	WALK (SW_FAULT_MALLOC, 1) {
		cJSON *result = page(1, 1, 9, "null");

		end();
		begin();
		walk_arm();
		sw_status rc = sw_curve_take(&curve, result, "acc");
		if (rc == SW_OK)
			rc = draw(80, 24);
		const unsigned fired = walk_disarm();
		ck_assert_msg(rc == (fired ? SW_NOMEM : SW_OK), "call %u: %s", walk.nth,
			      sw_status_str(rc));
		cJSON_Delete(result);
	}
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, begin, end);
	(void)setlocale(LC_CTYPE, "C.UTF-8");
}
