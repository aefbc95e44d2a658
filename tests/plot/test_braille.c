/* tests/plot/test_braille.c — plots as text, beside tests/plot/text/; and as CSV.
 *
 * SW_PLOT_WRITE=1 in the environment writes these files anew: look at them before you commit. */
#include "base/term.h"
#include "plot/sheet.h"
#include "tests/plot/built.h"
#include <locale.h>

static uint64_t state;

/* The same numbers in [0, 1) on any machine. */
static double draw_number(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 40) / (double)(1u << 24);
}

/* --- a plot of each shape --- */

static void few_dots(struct sw_plot *p)
{
	sw_plot_panel(p, "trial", SW_PLOT_LINEAR, "val_loss", SW_PLOT_LINEAR);
	for (int role = 0; role < SW_PLOT_FIRST + 2; role++) {
		char name[20];
		(void)snprintf(name, sizeof name, "role %d", role);
		sw_plot_series(p, name, SW_PLOT_DOTS, role);
		for (int i = 0; i < 3; i++)
			sw_plot_at(p, 3 * role + i, draw_number(), NAN, i + 1);
	}
	sw_plot_fit(p);
}

static void many_dots(struct sw_plot *p)
{
	static const int roles[] = {SW_PLOT_PRUNED, SW_PLOT_PLAIN, SW_PLOT_FAILED};

	sw_plot_panel(p, "lr", SW_PLOT_LOG, "val_loss", SW_PLOT_LINEAR);
	for (size_t k = 0; k < ROWS(roles); k++) {
		sw_plot_series(p,
			       k == 0   ? "pruned"
			       : k == 1 ? "completed"
					: "failed",
			       SW_PLOT_DOTS, roles[k]);
		for (int i = 0; i < (k == 2 ? 5 : 120); i++)
			sw_plot_at(p, pow(10, -5 + 4 * draw_number()), draw_number(), NAN, i + 1);
	}
	sw_plot_fit(p);
	sw_plot_note(p, "A note which is so long that it is wrapped where a line of eighty columns "
			"ends, and where one of sixty does.");
}

static void lines(struct sw_plot *p)
{
	sw_plot_panel(p, "step", SW_PLOT_LINEAR, "val_loss", SW_PLOT_LINEAR);
	sw_plot_series(p, "rungs", SW_PLOT_RULES, SW_PLOT_REFERENCE);
	for (int rung = 1; rung < 30; rung *= 3) {
		char text[20];
		(void)snprintf(text, sizeof text, "rung %d", rung);
		sw_plot_text(p, rung, NAN, text);
	}
	for (int role = SW_PLOT_BEST; role < SW_PLOT_FIRST + 2; role += role == 2 ? 4 : 1) {
		sw_plot_series(p,
			       role == 1   ? "best"
			       : role == 2 ? "pruned"
					   : "a sweep",
			       role == 7 ? SW_PLOT_STEPS : SW_PLOT_LINE, role);
		for (int i = 1; i <= 30; i++)
			sw_plot_at(p, i, i == 20 && role != 1 ? NAN : role / 8.0 + exp(-i / 8.0),
				   NAN, 1);
	}
	sw_plot_series(p, "", SW_PLOT_TEXTS, SW_PLOT_PLAIN);
	sw_plot_text(p, 15, .9, "a text");
	sw_plot_fit(p);
}

static void bars(struct sw_plot *p)
{
	static const char *const names[] = {"completed", "best", "pruned", "failed", "running"};
	char text[20];

	sw_plot_panel(p, "time", SW_PLOT_TIME, "", SW_PLOT_CATEGORY);
	for (int slot = 0; slot < 9; slot++) {
		(void)snprintf(text, sizeof text, "gpu:%d", slot);
		sw_plot_name(p, SW_PLOT_Y, text);
	}
	for (int role = 0; role <= SW_PLOT_RUNNING; role++) {
		sw_plot_series(p, names[role], SW_PLOT_BARS, role);
		for (int slot = 0; slot < 9; slot++) {
			const double from = 1.79e12 + 4e6 * role + 1e6 * draw_number();
			(void)snprintf(text, sizeof text, "%d", 9 * role + slot);
			sw_plot_mark(p, (struct sw_plot_mark){from, slot - .4, from + 3e6,
							      slot + .4, NAN, 1, text});
		}
	}
	sw_plot_fit(p);
}

static void map(struct sw_plot *p)
{
	sw_plot_panel(p, "lr", SW_PLOT_LINEAR, "dropout", SW_PLOT_LINEAR);
	sw_plot_series(p, "", SW_PLOT_CELLS, SW_PLOT_PLAIN);
	for (int i = 0; i < 64; i++) {
		const double x = i % 8, y = floor(i / 8.0);
		sw_plot_mark(p, (struct sw_plot_mark){x, y, x + 1, y + 1, i / 63.0, 0, NULL});
	}
	sw_plot_series(p, "few trials", SW_PLOT_DOTS, SW_PLOT_PLAIN);
	sw_plot_at(p, 2, 2.5, NAN, 4);
	sw_plot_series(p, "best", SW_PLOT_DOTS, SW_PLOT_BEST);
	sw_plot_at(p, 4, 6.5, NAN, 3);
	sw_plot_range(p, SW_PLOT_X, 0, 8);
	sw_plot_range(p, SW_PLOT_Y, 0, 8);
}

/* Names of all kinds in all places. */
static char hostile[10241] = "x";

static void panels(struct sw_plot *p)
{
	for (int i = 0; i < 3; i++) {
		sw_plot_panel(p, hostile, i == 1 ? SW_PLOT_CATEGORY : SW_PLOT_LINEAR, hostile,
			      i == 2 ? SW_PLOT_CATEGORY : SW_PLOT_LINEAR);
		for (int k = 0; k < 7 && i > 0; k++)
			sw_plot_name(p, i == 1 ? SW_PLOT_X : SW_PLOT_Y, hostile);
		for (int shape = SW_PLOT_DOTS; shape <= SW_PLOT_TEXTS; shape += 3) {
			sw_plot_series(p, hostile, (enum sw_plot_shape)shape, shape);
			for (int k = 0; k < 7; k++) {
				sw_plot_mark(p, (struct sw_plot_mark){k, k, k + .5, k + .5, NAN, 1,
								      hostile});
			}
		}
		sw_plot_fit(p);
	}
	sw_plot_note(p, "%s", hostile);
}

/* A band, the line in it, and dots beyond each side. */
static void beyond(struct sw_plot *p)
{
	static const double places[][2] = {{5, 9}, {2, -1}, {-1, 3}, {12, 2}, {99, 99}};

	sw_plot_panel(p, "trial", SW_PLOT_LINEAR, "val_loss", SW_PLOT_LINEAR);
	sw_plot_range(p, SW_PLOT_X, 0, 10);
	sw_plot_range(p, SW_PLOT_Y, 0, 5);
	sw_plot_series(p, "", SW_PLOT_BARS, SW_PLOT_FIRST);
	for (int i = 0; i < 10; i++)
		sw_plot_mark(p, (struct sw_plot_mark){i, 1, i + 1, 4 - i * .2, NAN, 0, NULL});
	sw_plot_series(p, "a name", SW_PLOT_STEPS, SW_PLOT_FIRST);
	for (int i = 0; i <= 10; i++)
		sw_plot_at(p, i, 3 - i * .1, NAN, 0);
	sw_plot_series(p, "completed", SW_PLOT_DOTS, SW_PLOT_PLAIN);
	for (size_t i = 0; i < ROWS(places); i++)
		sw_plot_at(p, places[i][0], places[i][1], NAN, 1);
	sw_plot_fit(p);
}

static void (*const plots[])(struct sw_plot *p) = {few_dots, many_dots, lines, bars,
						   map,      panels,    beyond};

static void begin(const char *title)
{
	sw_plot_fini(&built);
	sw_plot_init(&built, "test", title);
}

static void build_shape(void (*plot)(struct sw_plot *p), const char *title)
{
	state = 5;
	begin(title);
	plot(&built);
	ck_assert_int_eq(built.failed, SW_OK);
}

static char *text_of(int columns, bool color, bool utf8)
{
	struct sw_buf b;

	sw_buf_init(&b, 1 << 20);
	sw_plot_braille(&built, columns, 0, color, utf8, &b);
	ck_assert_int_eq(b.failed, SW_OK);
	return sw_buf_take(&b, NULL);
}

/* The last of a row of times may lie at the very end. */
TEST(ticks_do_not_run_into_each_other)
{
	for (int columns = 40; columns < 140; columns++) {
		begin("");
		sw_plot_panel(&built, "", SW_PLOT_TIME, "slot", SW_PLOT_LINEAR);
		sw_plot_range(&built, SW_PLOT_X, 1790000000e3 + .5e3,
			      1790000000e3 + 7.99e3 + columns);
		sw_plot_range(&built, SW_PLOT_Y, 0, 1);
		char *text = text_of(columns, 0, true), *s = strstr(text, "14:13:2");
		ck_assert_ptr_nonnull(s);
		for (; *s != '\n'; s += strspn(s, " ")) {
			ck_assert_msg(strcspn(s, " \n") == 8, "%d: %s", columns, text);
			s += 8;
		}
		free(text);
	}
}

/* It is as high as there is room for, where there is enough for its axes and its notes. */
TEST(braille_fills_the_lines_that_it_may_have)
{
	for (size_t i = 0; i < ROWS(plots); i++)
		for (int most = 40; most < 100; most += 7) {
			struct sw_buf b;
			int n = 0;

			sw_buf_init(&b, 1 << 20);
			build_shape(plots[i], "what it is");
			sw_plot_braille(&built, 80, most, false, true, &b);
			for (size_t k = 0; k < b.len; k++)
				n += b.data[k] == '\n';
			/* two rows of panels may leave one line between them */
			ck_assert_msg(n == most || (built.n_panels > 2 && n == most - 1),
				      "plot %zu: %d of %d lines\n%s", i, n, most, b.data);
			sw_buf_fini(&b);
		}
}

/* --- as it was looked at --- */

static const struct {
	int columns;
	bool utf8;
} sheets[] = {{60, true}, {80, false}};

TEST_ROWS(plots_are_drawn_as_they_were, sheets)
{
	char path[300];
	struct sw_buf now, then;
	char bytes[4096];
	size_t n;

	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	sw_buf_init(&now, 1 << 20);
	sw_buf_init(&then, 1 << 20);
	for (size_t i = 0; i < ROWS(plots); i++) {
		build_shape(plots[i], "what it is");
		sw_plot_braille(&built, sheets[_i].columns, 0, false, sheets[_i].utf8, &now);
	}
	(void)snprintf(path, sizeof path, "%s/%s-%d.txt", SW_PLOT_TEXTS_AT,
		       sheets[_i].utf8 ? "braille" : "ascii", sheets[_i].columns);
	const bool write = getenv("SW_PLOT_WRITE") != NULL;
	FILE *f = fopen(path, write ? "w" : "r");
	ck_assert_msg(f != NULL, "%s cannot be opened", path);
	if (write)
		(void)fwrite(now.data, 1, now.len, f);
	while (!write && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
		(void)sw_buf_add(&then, bytes, n);
	(void)fclose(f);
	if (!write)
		ck_assert_msg(strcmp(now.data, then.data) == 0, "not as in %s:\n%s", path,
			      now.data);
	sw_buf_fini(&now);
	sw_buf_fini(&then);
}

/* --- for any plot, at any width --- */

static void check_lines(const char *text, int columns, bool utf8)
{
	while (*text != '\0') {
		const char *end = strchr(text, '\n');
		char line[4000];
		ck_assert_ptr_nonnull(end);
		ck_assert_uint_lt((size_t)(end - text), sizeof line);
		(void)snprintf(line, sizeof line, "%.*s", (int)(end - text), text);
		ck_assert_msg(sw_term_width(line, utf8) <= columns, "%d: %s", columns, line);
		for (const char *s = line; *s != '\0';) {
			const char *at = s;
			int w;
			const uint32_t r = sw_term_next(&s, utf8, &w);
			/* Nothing harmful, nothing that stacks up. */
			ck_assert_msg((r != '?' || *at == '?') && w > 0, "%s", line);
		}
		text = end + 1;
	}
}

static const char *const names[] = {
	"",
	"\x1b]0;title\a\x1b[2J",
	"a\nb\tc\r",
	"\xe2\x80\xaeturned\xe2\x81\xa6",
	"\xff\xfe\xc3",
	"\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad",
	"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
	"%s%n%d",
};

static void check_named(const char *name)
{
	(void)snprintf(hostile, sizeof hostile, "%s", name);
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	build_shape(panels, name);
	for (int columns = 40; columns < 200; columns += 13)
		for (int utf8 = 0; utf8 < 2; utf8++) {
			char *text = text_of(columns, false, utf8);
			check_lines(text, columns, utf8);
			free(text);
		}
}

TEST_ROWS(hostile_text_moves_nothing, names)
{
	check_named(names[_i]);
}

/* What stands over a wide character's half takes the other half away. */
TEST(half_a_wide_character_does_not_stay)
{
	struct sw_sheet s = {.width = 7, .utf8 = true};
	struct sw_buf b;

	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	sw_buf_init(&b, 100);
	sw_sheet_text(&s, 0, 0, 6, SW_LOOK_NONE, "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad");
	sw_sheet_put(&s, 0, 1, 'x', SW_LOOK_NONE);
	sw_sheet_put(&s, 0, 4, 'y', SW_LOOK_NONE);
	sw_sheet_put(&s, 0, 6, 'z', SW_LOOK_NONE);
	sw_sheet_write(&s, &b);
	ck_assert_str_eq(b.data, " x\xe4\xb8\xady z\n");
	sw_buf_fini(&b);
	free(s.glyphs);
}

TEST(a_name_of_ten_kilobytes_is_cut)
{
	static char name[10241];

	memset(name, 'm', sizeof name - 1);
	check_named(name);
}

/* Colour adds SGR sequences, and takes nothing away; a map has colours for its shades. */
TEST_LOOP(colour_changes_no_character, 0, 4)
{
	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	build_shape(plots[_i], "a title");
	char *plain = text_of(80, false, true), *color = text_of(80, true, true), *to = color;
	bool any = false;
	for (const char *s = color; *s != '\0';) {
		if (*s != '\x1b') {
			*to++ = *s++;
			continue;
		}
		any = true;
		ck_assert_int_eq(s[1], '[');
		s += 2 + strspn(s + 2, "0123456789;");
		ck_assert_int_eq(*s++, 'm');
	}
	*to = '\0';
	ck_assert(any);
	ck_assert_str_eq(plain, color);
	free(plain);
	free(color);
}

#ifdef SW_FAULTS
static void write_braille(const struct sw_plot *p, struct sw_buf *out)
{
	sw_plot_braille(p, 80, 0, true, true, out);
}

TEST(no_memory_is_said)
{
	build_shape(panels, "a title");
	ck_assert_says_no_memory(write_braille);
}
#endif

/* --- CSV --- */

TEST(a_mark_is_a_line_of_csv)
{
	struct sw_buf b;

	begin("");
	sw_plot_panel(&built, "optimizer", SW_PLOT_CATEGORY, "loss", SW_PLOT_LINEAR);
	sw_plot_name(&built, SW_PLOT_X, "adam");
	sw_plot_name(&built, SW_PLOT_X, "sgd, \"nesterov\"");
	sw_plot_series(&built, "completed", SW_PLOT_DOTS, SW_PLOT_PLAIN);
	sw_plot_at(&built, 1, .1, NAN, 7);
	sw_plot_at(&built, .6, 1e-9, 1, 0);
	sw_plot_panel(&built, "time", SW_PLOT_TIME, "", SW_PLOT_CATEGORY);
	sw_plot_name(&built, SW_PLOT_Y, "gpu:0");
	sw_plot_series(&built, "", SW_PLOT_BARS, SW_PLOT_FAILED);
	sw_plot_mark(&built,
		     (struct sw_plot_mark){1790000000123, -.4, 1790000000124, .4, NAN, 12, "a\nb"});
	sw_buf_init(&b, 1 << 20);
	sw_plot_csv(&built, &b);
	ck_assert_str_eq(b.data, "panel,series,x,y,x2,y2,v,trial,text\n"
				 "optimizer,completed,\"sgd, \"\"nesterov\"\"\",0.1,,,,7,\n"
				 "optimizer,completed,\"sgd, \"\"nesterov\"\"\",1e-9,,,1,,\n"
				 "time,,1790000000123,gpu:0,1790000000124,gpu:0,,12,\"a\nb\"\n");
	sw_buf_fini(&b);
}

RUN_TESTS(NULL, NULL)
