/* tests/cli/test_browse.c — the keys of a watcher: what they choose, and what the table then shows.
 */
#include "cli/browse.h"
#include "cli/live.h"
#include "proto/json.h"
#include "tests/cli/canvas_row.h"
#include "tests/run.h"
#include <locale.h>

static struct {
	struct sw_view v[2];
	struct sw_browse b;
	char text[4096]; /* the canvas as last drawn */
	int marked;
} f;

/* Trial k of six: 6 and 5 run, 4 was pruned, 3 failed, 2 and 1 completed. Its value is 1 / k, but 3
 * has none; "lr" is k, "kind" a word, and "step" a
 * parameter, too. */
static void add_trial(struct sw_buf *b, int k)
{
	static const char *const states[] = {"",       "COMPLETED", "COMPLETED", "FAILED",
					     "PRUNED", "RUNNING",   "RUNNING"};
	static const char *const kinds[] = {"", "b", "c", "a", "B", "d", "b"};
	char value[32];

	(void)snprintf(value, sizeof value, "%.4f", 1.0 / k);
	(void)sw_buf_addf(
		b,
		"%s{\"trial\":%d,\"state\":\"%s\",\"cause\":null,\"params\":{\"lr\":%d,"
		"\"kind\":\"%s\",\"l\\u001br\":%d,\"step\":%d},\"step\":%d,\"metrics\":{},"
		"\"value\":%s,\"seconds\":1}",
		k > 1 ? "," : "", k, states[k], k, kinds[k], 10 - k, 9 - k, k,
		k == 3 ? "null" : value);
}

static void fill(struct sw_view *v, uint64_t sweep, const char *goal)
{
	struct sw_buf b;
	cJSON *m = NULL;

	sw_view_init(v, sweep);
	sw_buf_init(&b, 1 << 16);
	(void)sw_buf_addf(
		&b,
		"{\"state\":\"RUNNING\",\"metric\":\"acc\",\"goal\":\"%s\",\"max_t\":9,"
		"\"counts\":{\"RUNNING\":2,\"COMPLETED\":9,\"PRUNED\":1,\"FAILED\":1},\"trials\":[",
		goal);
	for (int k = 1; k <= 6; k++)
		add_trial(&b, k);
	(void)sw_buf_adds(&b, "]}");
	ck_assert_int_eq(sw_json_parse(&m, b.data, b.len, NULL), SW_OK);
	ck_assert_int_eq(sw_view_merge(v, m, 0), SW_OK);
	sw_buf_fini(&b);
}

static void begin(const char *goal)
{
	memset(&f, 0, sizeof f);
	fill(&f.v[0], 1, goal);
	fill(&f.v[1], 2, goal);
}

static void end(void)
{
	sw_view_fini(&f.v[0]);
	sw_view_fini(&f.v[1]);
}

static void draw(size_t n, int height)
{
	struct sw_canvas c;
	struct sw_buf b;

	sw_buf_init(&b, 1 << 16);
	ck_assert_int_eq(sw_canvas_init(&c, 80, height), SW_OK);
	ck_assert_int_eq(sw_live_draw(&c, f.v, n, &f.b, true, 0), SW_OK);
	if (f.b.help)
		sw_browse_help(&c);
	for (int y = 0; y < height; y++) {
		canvas_row(&c, y, &b);
		(void)sw_buf_adds(&b, "\n");
	}
	(void)snprintf(f.text, sizeof f.text, "%s", b.data);
	f.marked = c.marked;
	sw_buf_fini(&b);
	sw_canvas_fini(&c);
}

/* Presses each key of the text: d down, u up, n and p pages, < and > ends, the others by name. */
static void press(const char *keys)
{
	static const struct {
		char letter;
		enum sw_key key;
	} map[] = {{'d', SW_KEY_DOWN},    {'u', SW_KEY_UP},      {'n', SW_KEY_PAGE_DOWN},
		   {'p', SW_KEY_PAGE_UP}, {'<', SW_KEY_HOME},    {'>', SW_KEY_END},
		   {'s', SW_KEY_SORT},    {'S', SW_KEY_REVERSE}, {'f', SW_KEY_FILTER},
		   {'e', SW_KEY_ENTER},   {'x', SW_KEY_ESC},     {'l', SW_KEY_LEFT},
		   {'t', SW_KEY_TAB},     {'?', SW_KEY_HELP},    {'r', SW_KEY_RESIZE}};

	for (; *keys != '\0'; keys++)
		for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
			if (map[i].letter == *keys)
				ck_assert(sw_browse_key(&f.b, map[i].key, f.v, 2));
}

/* The numbers of the trials that are shown, in their order: "65432". */
static void shown(char out[16])
{
	size_t n = 0;

	for (const char *at = f.text; (at = strstr(at, "\n1/")) != NULL && n < 15; at += 3)
		out[n++] = at[3];
	out[n] = '\0';
}

/* The columns are trial state lr kind l?r step acc step seconds progress. */
static const struct {
	const char *keys, *goal, *rows, *last;
} orders[] = {
	{"", "maximize", "564321", "... 7 more trials not shown (7 COMPLETED)"},
	{"s", "maximize", "124563", "by acc, falling  ... 7 more"},
	{"sS", "maximize", "654213", "by acc, rising  ... 7 more"},
	{"s", "minimize", "654213", "by acc, rising  ... 7 more"},
	{"sS", "minimize", "124563", "by acc, falling  ... 7 more"},
	{"ss", "maximize", "564321", "by seconds, rising  ... 7 more"},
	{"sss", "maximize", "123456", "by trial, rising  ... 7 more"},
	{"sssS", "maximize", "654321", "by trial, falling  ... 7 more"},
	{"sssSs", "maximize", "562143", "by state, rising  ... 7 more"},
	{"sssss", "maximize", "123456", "by lr, rising  ... 7 more"},
	{"ssssss", "maximize", "436125", "by kind, rising  ... 7 more"},
	{"sssssss", "maximize", "654321", "by l?r, rising  ... 7 more"},
	{"ssssssss", "maximize", "654321", "by step, rising  ... 7 more"},
	{"sssssssss", "maximize", "564321", "... 7 more trials"},
	{"f", "maximize", "56",
	 "only RUNNING  ... 11 more trials not shown (9 COMPLETED, 1 PRUNED,"},
	{"ff", "maximize", "21", "only COMPLETED  ... 11 more"},
	{"ffs", "maximize", "12", "by acc, falling  only COMPLETED  ... 11 more"},
	{"fffff", "maximize", "564321", "... 7 more trials"},
	{"ffsx", "maximize", "564321", "... 7 more trials"},
};

TEST_LOOP(browse_keys_choose_rows_and_their_order, 0, (int)(sizeof orders / sizeof orders[0]))
{
	char rows[16];

	begin(orders[_i].goal);
	draw(1, 24);
	press(orders[_i].keys);
	draw(1, 24);
	shown(rows);
	ck_assert_msg(strcmp(rows, orders[_i].rows) == 0, "%s: rows %s, expected %s\n%s",
		      orders[_i].keys, rows, orders[_i].rows, f.text);
	ck_assert_msg(strstr(f.text, orders[_i].last) != NULL, "%s: no \"%s\" in\n%s",
		      orders[_i].keys, orders[_i].last, f.text);
}

/* In 9 lines there is room for four of six trials. A key a frame. */
static const struct {
	const char *keys, *rows;
	uint64_t trial; /* under the cursor */
} moves[] = {
	{"", "5643", 0},      {"d", "5643", 5},     {"dd", "5643", 6},    {"u", "5643", 5},
	{"dddd", "5643", 3},  {"ddddd", "6432", 2}, {">", "4321", 1},     {">uuu", "4321", 4},
	{">uuuu", "6432", 6}, {"><", "5643", 5},    {"dn", "5643", 3},    {"dnn", "4321", 1},
	{">p", "4321", 4},    {"dr", "5643", 5},    {"dddS", "5643", 4},  {"ddds", "1245", 4},
	{"dx", "5643", 0},    {"dt", "5643", 0},    {">f", "56", 6},      {"?d", "5643", 0},
	{"df", "56", 5},      {"dff", "21", 2},     {"e", "5643", 5},     {"ed", "5643", 6},
	{"edff", "5643", 6},  {"edldd", "5643", 3}, {"edxdd", "5643", 3},
};

TEST_LOOP(browse_cursor_moves_and_stays_in_sight, 0, (int)(sizeof moves / sizeof moves[0]))
{
	char rows[16];

	begin("maximize");
	draw(1, 9);
	for (const char *k = moves[_i].keys; *k != '\0'; k++) {
		press((const char[]){*k, '\0'});
		draw(1, 9);
	}
	shown(rows);
	ck_assert_msg(strcmp(rows, moves[_i].rows) == 0, "%s: rows %s, expected %s\n%s",
		      moves[_i].keys, rows, moves[_i].rows, f.text);
	ck_assert_msg(f.b.trial == moves[_i].trial, "%s: on trial %d, expected %d\n%s",
		      moves[_i].keys, (int)f.b.trial, (int)moves[_i].trial, f.text);
}

/* Several keys between two frames show what they would show one by one. */
static const struct {
	const char *keys;
	uint64_t trial;
} bursts[] = {{"dddu", 6}, {">u", 2}, {">uu", 3}, {"dd<d", 6}, {"uuud", 6}, {"nnn>uuuuuuuuu", 5}};

TEST_LOOP(browse_keys_of_one_frame_add_up, 0, (int)(sizeof bursts / sizeof bursts[0]))
{
	char text[sizeof f.text];

	begin("maximize");
	draw(1, 9);
	press(bursts[_i].keys);
	draw(1, 9);
	ck_assert_uint_eq(f.b.trial, bursts[_i].trial);
	const int marked = f.marked;
	memcpy(text, f.text, sizeof text);
	end();
	begin("maximize");
	draw(1, 9);
	for (const char *k = bursts[_i].keys; *k != '\0'; k++) {
		press((const char[]){*k, '\0'});
		draw(1, 9);
	}
	ck_assert_int_eq(f.marked, marked);
	ck_assert_str_eq(f.text, text);
}

TEST(browse_keys_before_tab_move_nothing_in_the_next_table)
{
	begin("maximize");
	draw(2, 24);
	press("ddt");
	draw(2, 24);
	ck_assert_uint_eq(f.b.trial, 0);
}

/* An update: trial k is in this state now, of all trials or of those that there were. */
static void update(int k, const char *state, bool reset)
{
	char text[256];
	cJSON *m = NULL;

	(void)snprintf(
		text, sizeof text,
		"{\"state\":\"RUNNING\",\"metric\":\"acc\",\"goal\":\"maximize\",\"reset\":%s,"
		"\"counts\":{\"RUNNING\":1},\"trials\":[{\"trial\":%d,\"state\":\"%s\"}]}",
		reset ? "true" : "false", k, state);
	ck_assert_int_eq(sw_json_parse(&m, text, strlen(text), NULL), SW_OK);
	ck_assert_int_eq(sw_view_merge(&f.v[0], m, 1), SW_OK);
}

/* The row under the cursor goes down as others change; a trial that leaves the filter leaves it to
 * the one in its place, but as a curve it stays. */
TEST_LOOP(browse_cursor_follows_its_trial, 0, 2)
{
	begin("maximize");
	draw(1, 24);
	press("dddd");
	draw(1, 24);
	ck_assert_uint_eq(f.b.trial, 3);
	update(1, "PRUNED", false);
	draw(1, 24);
	ck_assert_uint_eq(f.b.trial, 3);
	ck_assert_int_eq(f.marked, 8);
	press("<f");
	draw(1, 24);
	press(_i == 1 ? "e" : "");
	draw(1, 24);
	ck_assert_uint_eq(f.b.trial, 5);
	update(5, "COMPLETED", false);
	draw(1, 24);
	ck_assert_uint_eq(f.b.trial, _i == 1 ? 5 : 6);
}

/* A snapshot may have fewer trials than were scrolled past. */
TEST(browse_curve_outlives_the_rows_of_its_table)
{
	begin("maximize");
	draw(1, 9);
	press(">e");
	draw(1, 9);
	update(6, "PRUNED", true);
	draw(1, 9);
	ck_assert_uint_eq(f.b.trial, 1);
	press("l");
	draw(1, 9);
	ck_assert_uint_eq(f.b.trial, 6);
}

TEST(browse_help_says_each_key_and_any_key_closes_it)
{
	begin("maximize");
	draw(1, 24);
	ck_assert_ptr_nonnull(strstr(f.text, "? keys\n"));
	press("?");
	draw(1, 24);
	ck_assert_ptr_nonnull(strstr(f.text, "\n Tab "));
	ck_assert(sw_browse_key(&f.b, SW_KEY_QUIT, f.v, 2));
	draw(1, 24);
	ck_assert_ptr_null(strstr(f.text, "\n Tab "));
	ck_assert(!sw_browse_key(&f.b, SW_KEY_QUIT, f.v, 2));
}

TEST(browse_tab_goes_to_the_next_table)
{
	begin("maximize");
	draw(2, 24);
	press("td");
	draw(2, 24);
	ck_assert_int_eq(f.marked, 12 + 4);
	press("td");
	draw(2, 24);
	ck_assert_int_eq(f.marked, 4);
}

/* Any size draws, wherever the cursor is (a sanitizer sees that nothing is written outside). */
TEST(browse_draws_at_any_size)
{
	begin("maximize");
	for (int height = 1; height < 20; height++) {
		press(height % 2 ? "?>" : "s<n");
		draw(1, height);
		draw(2, 20 - height);
	}
}

SUITE(tcase)
{
	tcase_add_checked_fixture(tcase, NULL, end);
	(void)setlocale(LC_CTYPE, "C.UTF-8");
}
