/* tests/plot/test_svg.c — the elements of an SVG against the numbers of its model, and that text
 * from elsewhere stays text. */
#include "base/utf8.h"
#include "plot/write.h"
#include "tests/plot/built.h"

#define SVG_BYTES ((size_t)4 << 20) /* more than any plot takes */

/* --- a strict reader of the XML that we write --- */

struct element {
	char name[16];
	char attributes[1200];
	size_t depth;
};

static struct element elements[9000];
static size_t n_elements;
static char shown[1 << 20]; /* all text, entities as they are */

static size_t read_entity(const char *s)
{
	static const char *const all[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#10;"};

	for (size_t i = 0; i < ROWS(all); i++)
		if (strncmp(s, all[i], strlen(all[i])) == 0)
			return strlen(all[i]);
	ck_abort_msg("no entity: %.20s", s);
	return 0;
}

/* Bytes of one character of text or of an attribute's value. */
static size_t read_character(const char *s)
{
	const size_t n = sw_utf8_step(s, strnlen(s, 4));

	ck_assert_msg(n > 0 && ((unsigned char)*s >= 0x20 || *s == '\n'), "byte %02x at: %.40s",
		      (unsigned char)*s, s);
	ck_assert_msg(strncmp(s, "\xef\xbf\xbe", 3) != 0, "U+FFFE is no character of XML");
	ck_assert_msg(strncmp(s, "\xe2\x80\xae", 3) != 0, "turned text");
	ck_assert_int_ne(*s, '<');
	return *s == '&' ? read_entity(s) : n;
}

/* name="value" ... up to the end of the tag. */
static const char *read_attributes(const char *s, struct element *e)
{
	const char *from = s;

	while (*s == ' ') {
		const size_t name = strspn(s + 1, "abcdefghijklmnopqrstuvwxyzB0123456789:-");
		ck_assert_msg(name > 0 && strncmp(s + 1 + name, "=\"", 2) == 0, "%.40s", s);
		ck_assert_msg(strncmp(s + 1, "on", 2) != 0 && strncmp(s + 1, "href", 4) != 0,
			      "%.40s", s);
		for (s += name + 3; *s != '"';)
			s += read_character(s);
		s++;
	}
	ck_assert_uint_lt((size_t)(s - from), sizeof e->attributes);
	memcpy(e->attributes, from, (size_t)(s - from));
	e->attributes[s - from] = '\0';
	return s;
}

static void read_svg(const char *s)
{
	size_t open[16], depth = 0;

	n_elements = 0;
	shown[0] = '\0';
	char *out = shown;
	while (*s != '\0') {
		if (*s != '<') {
			const size_t n = read_character(s);
			memcpy(out, s, n);
			out += n;
			s += n;
			continue;
		}
		const bool closing = s[1] == '/';
		s += closing ? 2 : 1;
		const size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz");
		ck_assert_msg(n > 0 && n < sizeof elements[0].name, "%.40s", s);
		if (closing) {
			ck_assert_uint_gt(depth, 0);
			const char *name = elements[open[--depth]].name;
			ck_assert_msg(strncmp(name, s, n) == 0 && name[n] == '\0',
				      "%s ends as %.9s", name, s);
			s += n;
		} else {
			struct element *e = &elements[n_elements];
			ck_assert_uint_lt(n_elements, ROWS(elements));
			ck_assert_uint_lt(depth, ROWS(open));
			memcpy(e->name, s, n);
			e->name[n] = '\0';
			e->depth = depth;
			ck_assert_str_ne(e->name, "script");
			s = read_attributes(s + n, e);
			if (*s == '/')
				s++;
			else
				open[depth++] = n_elements;
			n_elements++;
		}
		ck_assert_int_eq(*s++, '>');
	}
	*out = '\0';
	ck_assert_uint_eq(depth, 0);
}

static double attribute(const struct element *e, const char *name)
{
	char key[40];

	ck_assert_ptr_nonnull(e);
	(void)snprintf(key, sizeof key, " %s=\"", name);
	const char *at = strstr(e->attributes, key);
	ck_assert_msg(at != NULL, "%s has no %s", e->name, name);
	return strtod(at + strlen(key), NULL);
}

/* The nth element of that name below a panel (a legend has samples); NULL: there are fewer. */
static const struct element *find(const char *name, size_t nth)
{
	bool inside = false;

	for (size_t i = 0; i < n_elements; i++) {
		if (strstr(elements[i].attributes, "\"panel\"") != NULL)
			inside = true;
		else if (elements[i].depth < 2)
			inside = false;
		if (inside && strcmp(elements[i].name, name) == 0 && nth-- == 0)
			return &elements[i];
	}
	return NULL;
}

static const struct element *panel_element(void)
{
	for (size_t i = 0; i < n_elements; i++)
		if (strstr(elements[i].attributes, "\"panel\"") != NULL)
			return &elements[i];
	return NULL;
}

static double width, height; /* of the first panel */

static void draw_wide(int page, bool bare)
{
	struct sw_buf b;

	ck_assert_int_eq(built.failed, SW_OK);
	sw_buf_init(&b, SVG_BYTES);
	sw_plot_svg(&built, page, bare, &b);
	ck_assert_int_eq(b.failed, SW_OK);
	read_svg(b.data);
	sw_buf_fini(&b);
	if (panel_element() == NULL)
		return;
	width = attribute(panel_element(), "width");
	height = attribute(panel_element(), "height");
}

static void draw(void)
{
	draw_wide(800, false);
}

/* A plot of one panel; max: of x, from 0, where y is from 0 to 1; 0: by its marks. */
static void begin(enum sw_plot_scale x, enum sw_plot_scale y, double max)
{
	sw_plot_fini(&built);
	sw_plot_init(&built, "test", "a title");
	sw_plot_panel(&built, "x label", x, "y label", y);
	if (max > 0) {
		sw_plot_range(&built, SW_PLOT_X, 0, max);
		sw_plot_range(&built, SW_PLOT_Y, 0, 1);
	}
}

static void add_dot(void)
{
	sw_plot_series(&built, "dots", SW_PLOT_DOTS, SW_PLOT_PLAIN);
	sw_plot_at(&built, .5, .5, NAN, 1);
	sw_plot_fit(&built);
}

/* --- marks --- */

static const struct {
	enum sw_plot_scale scale;
	double min, max;
} axes[] = {{SW_PLOT_LINEAR, -3, 7}, {SW_PLOT_LOG, 1e-4, 10}, {SW_PLOT_TIME, 1.79e12, 1.7901e12}};

static double at(int axis, double place)
{
	return axes[axis].scale == SW_PLOT_LOG
		       ? axes[axis].min * pow(axes[axis].max / axes[axis].min, place)
		       : axes[axis].min + place * (axes[axis].max - axes[axis].min);
}

/* Each dot lies where its numbers say, on axes of each kind; what lies outside is a wedge at the
 * border. */
TEST_ROWS(a_dot_is_where_its_numbers_say, axes)
{
	begin(axes[_i].scale, SW_PLOT_LINEAR, 0);
	sw_plot_range(&built, SW_PLOT_X, axes[_i].min, axes[_i].max);
	sw_plot_range(&built, SW_PLOT_Y, 0, 1);
	sw_plot_series(&built, "dots", SW_PLOT_DOTS, SW_PLOT_PLAIN);
	for (int i = 0; i < 101; i++)
		sw_plot_at(&built, at(_i, i / 100.0), i * .013, i % 2 ? i / 100.0 : NAN, i + 1);
	draw();
	size_t n = 0;
	for (int i = 0; i * .013 <= 1; i++, n++) {
		const struct element *e = find("circle", n);
		char class[20];
		ck_assert_ptr_nonnull(e);
		ck_assert_double_eq_tol(attribute(e, "cx"), width * i / 100, .06);
		ck_assert_double_eq_tol(attribute(e, "cy"), height * (1 - i * .013), .06);
		(void)snprintf(class, sizeof class, "\"v%.0f\"", floor(i * .09 + .5));
		ck_assert_msg((strstr(e->attributes, class) != NULL) == (i % 2 == 1), "%d: %s", i,
			      e->attributes);
	}
	ck_assert_ptr_null(find("circle", n));
	for (; n < 101; n++) {
		char place[40];
		(void)snprintf(place, sizeof place, "M%.1f 0.0l", width * (double)n / 100);
		const struct element *wedge = find("path", n - 77);
		ck_assert_ptr_nonnull(wedge);
		ck_assert_ptr_nonnull(strstr(wedge->attributes, place));
	}
	ck_assert_ptr_nonnull(strstr(shown, "trial 7: "));
}

TEST(a_failed_trial_is_a_cross)
{
	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 0);
	sw_plot_series(&built, "failed", SW_PLOT_DOTS, SW_PLOT_FAILED);
	sw_plot_at(&built, 1, 2, NAN, 1);
	sw_plot_fit(&built);
	draw();
	ck_assert_ptr_null(find("circle", 0));
	const struct element *cross = find("path", 0);
	ck_assert_ptr_nonnull(cross);
	ck_assert_ptr_nonnull(strstr(cross->attributes, "l6.4 6.4"));
}

/* A NaN breaks a line, and a lone point of one is seen. */
TEST(a_line_goes_through_its_points)
{
	char path[400];

	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 10);
	for (int k = 0; k < 2; k++) {
		sw_plot_series(&built, "", k == 0 ? SW_PLOT_LINE : SW_PLOT_STEPS,
			       SW_PLOT_FIRST + k);
		sw_plot_at(&built, 0, 1, NAN, 0);
		sw_plot_at(&built, 5, 0, NAN, 0);
		sw_plot_at(&built, 6, NAN, NAN, 0);
		sw_plot_at(&built, 10, .5, NAN, 0);
	}
	draw();
	(void)snprintf(path, sizeof path, " d=\"M0.0 0.0L%.1f %.1f\"", width / 2, height);
	ck_assert_str_eq(find("path", 0)->attributes, path);
	(void)snprintf(path, sizeof path, " d=\"M%.1f %.1fh.01\"", width, height / 2);
	ck_assert_str_eq(find("path", 1)->attributes, path);
	(void)snprintf(path, sizeof path, " d=\"M0.0 0.0H%.1fL%.1f %.1f\"", width / 2, width / 2,
		       height);
	ck_assert_str_eq(find("path", 2)->attributes, path);
}

/* In time there are neighbours, on whom it would stand. */
TEST(text_of_a_short_bar_stands_beside_it)
{
	static const enum sw_plot_scale scales[] = {SW_PLOT_LINEAR, SW_PLOT_TIME};

	for (size_t i = 0; i < ROWS(scales); i++) {
		begin(scales[i], SW_PLOT_LINEAR, 1000);
		sw_plot_series(&built, "", SW_PLOT_BARS, SW_PLOT_PLAIN);
		sw_plot_mark(&built, (struct sw_plot_mark){0, 0, 900, .3, NAN, 0, "long"});
		sw_plot_mark(&built, (struct sw_plot_mark){0, .6, 2, .9, NAN, 0, "short"});
		draw();
		ck_assert_ptr_nonnull(strstr(shown, "\nlong\n"));
		ck_assert_int_eq(strstr(shown, "\nshort\n") != NULL, i == 0);
	}
}

TEST(bars_cells_and_rules_have_their_places)
{
	begin(SW_PLOT_LINEAR, SW_PLOT_CATEGORY, 0);
	sw_plot_name(&built, SW_PLOT_Y, "gpu:0");
	sw_plot_name(&built, SW_PLOT_Y, "gpu:1");
	sw_plot_range(&built, SW_PLOT_X, 0, 100);
	sw_plot_series(&built, "bars", SW_PLOT_BARS, SW_PLOT_PLAIN);
	sw_plot_mark(&built, (struct sw_plot_mark){10, -.4, 30, .4, NAN, 5, "12"});
	sw_plot_mark(&built, (struct sw_plot_mark){90, .6, 400, 1.4, NAN, 6, NULL}); /* is cut */
	sw_plot_mark(&built, (struct sw_plot_mark){200, .6, 400, 1.4, NAN, 7, NULL});
	sw_plot_series(&built, "", SW_PLOT_CELLS, SW_PLOT_PLAIN);
	sw_plot_mark(&built, (struct sw_plot_mark){50, -.5, 60, .5, 1, 0, NULL});
	sw_plot_series(&built, "rungs", SW_PLOT_RULES, SW_PLOT_REFERENCE);
	sw_plot_text(&built, 25, NAN, "rung 25");
	sw_plot_fit(&built);
	draw();
	const double want[][4] = {{.1, .55, .2, .4}, {.9, .05, .1, .4}, {.5, .5, .1, .5}};
	for (size_t i = 0; i < ROWS(want); i++) {
		const struct element *e = find("rect", i);
		ck_assert_double_eq_tol(attribute(e, "x"), want[i][0] * width, .06);
		ck_assert_double_eq_tol(attribute(e, "y"), want[i][1] * height, .06);
		ck_assert_double_eq_tol(attribute(e, "width"), want[i][2] * width, .06);
		ck_assert_double_eq_tol(attribute(e, "height"), want[i][3] * height, .06);
	}
	ck_assert_ptr_null(find("rect", ROWS(want)));
	ck_assert_ptr_nonnull(strstr(find("rect", 2)->attributes, "\"v9\""));
	char path[60];
	(void)snprintf(path, sizeof path, " d=\"M%.1f 0V%.1f\"", width / 4, height);
	ck_assert_str_eq(find("path", 0)->attributes, path);
	ck_assert_ptr_nonnull(strstr(shown, "trial 5: 10, gpu:0; 12"));
	ck_assert_ptr_nonnull(strstr(shown, "trial 6: 90, gpu:1"));
	ck_assert_ptr_null(strstr(shown, "nan"));
	ck_assert_ptr_nonnull(strstr(shown, "gpu:1\n"));
	ck_assert_ptr_nonnull(strstr(shown, "rung 25\n"));
}

/* Rungs that lie side by side: no label hides another. */
TEST(labels_do_not_overlap)
{
	double x[50], y[50];
	size_t n = 0;

	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 1000);
	sw_plot_series(&built, "", SW_PLOT_RULES, SW_PLOT_REFERENCE);
	for (int i = 0; i < 50; i++)
		sw_plot_text(&built, i * i / 2.5, NAN, "rung 100");
	draw();
	for (size_t i = 0; i < n_elements; i++) {
		if (strstr(elements[i].attributes, "class=\"o\"") == NULL)
			continue;
		x[n] = attribute(&elements[i], "x");
		y[n] = attribute(&elements[i], "y");
		for (size_t k = 0; k < n; k++)
			ck_assert_msg(fabs(x[n] - x[k]) >= 40 || fabs(y[n] - y[k]) >= 12,
				      "%g %g on %g %g", x[n], y[n], x[k], y[k]);
		n++;
	}
	ck_assert_uint_gt(n, 10);
}

TEST(label_of_what_lies_outside_the_scale_stands_at_its_border)
{
	size_t n = 0;

	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 3);
	sw_plot_series(&built, "", SW_PLOT_TEXTS, SW_PLOT_PLAIN);
	sw_plot_text(&built, 1, 1e300, "above");
	sw_plot_text(&built, 1, -1e9, "below");
	sw_plot_text(&built, 2, NAN, "nowhere");
	draw();
	const double top = attribute(panel_element(), "y");
	for (size_t i = 0; i < n_elements; i++)
		if (strstr(elements[i].attributes, "class=\"o\"") != NULL)
			ck_assert_double_eq_tol(attribute(&elements[i], "y"),
						n++ == 0 ? top : top + height, 8);
	ck_assert_uint_eq(n, 2);
}

/* --- the whole of it --- */

TEST(many_panels_lie_beside_and_below_one_another)
{
	sw_plot_fini(&built);
	sw_plot_init(&built, "test", "");
	for (int i = 0; i < 64; i++) {
		sw_plot_panel(&built, "x", SW_PLOT_LINEAR, "y", SW_PLOT_LINEAR);
		sw_plot_series(&built, "same", SW_PLOT_DOTS, SW_PLOT_PLAIN);
		sw_plot_at(&built, 1, 1, NAN, 0);
		sw_plot_fit(&built);
	}
	sw_plot_note(&built, "A long note. %0350d and its end.", 7);
	draw();
	const double all = attribute(&elements[0], "height");
	double x = -1, y = -1;
	size_t n = 0, legend = 0;
	for (size_t i = 0; i < n_elements; i++) {
		const struct element *e = &elements[i];
		legend += strstr(e->attributes, "\"k\"") != NULL;
		if (strstr(e->attributes, "\"panel\"") == NULL)
			continue;
		if (n++ % 3 == 0)
			x = -1;
		else
			ck_assert_double_eq(y, attribute(e, "y"));
		ck_assert_double_gt(attribute(e, "x"), x);
		x = attribute(e, "x") + attribute(e, "width");
		y = attribute(e, "y");
		ck_assert_double_le(x, 800);
		ck_assert_double_lt(y + attribute(e, "height"), all);
	}
	ck_assert_uint_eq(n, 64);
	ck_assert_uint_eq(legend, 1);
	ck_assert_ptr_nonnull(strstr(shown, " and its end."));
}

/* --- text from elsewhere --- */

static const struct {
	const char *text, *shown;
} hostile[] = {
	{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
	{"</text></svg><b onload=\"x\">",
	 "&lt;/text&gt;&lt;/svg&gt;&lt;b onload=&quot;x&quot;&gt;"},
	{"]]><![CDATA[ <!-- &amp; &#x41; -->",
	 "]]&gt;&lt;![CDATA[ &lt;!-- &amp;amp; &amp;#x41; --&gt;"},
	{"a\x01\x1b[31m\x7f\nb", "a??[31m??b"},
	{"\xff\xc3(\xed\xa0\x80", "??"
				  "(???"},
	{"left\xe2\x80\xaethgir", "left?thgir"},
	{"\xd8\x9c\xe2\x81\xa6\xef\xbb\xbf", "???"},
	{"\xef\xbf\xbe\xef\xbf\xbf", "??"},
	{"\xf0\x9f\x8e\xaf \xd7\xa9\xd7\x9c \xe4\xb8\xad",
	 "\xf0\x9f\x8e\xaf \xd7\xa9\xd7\x9c \xe4\xb8\xad"},
	{"javascript:%s%n", "javascript:%s%n"},
};

static void draw_named(const char *name)
{
	static char text[10241]; /* is copied */

	(void)snprintf(text, sizeof text, "%s", name);
	sw_plot_fini(&built);
	sw_plot_init(&built, name, name);
	for (int i = 0; i < 2; i++) {
		sw_plot_panel(&built, name, i == 0 ? SW_PLOT_CATEGORY : SW_PLOT_TIME, name,
			      i == 1 ? SW_PLOT_CATEGORY : SW_PLOT_LINEAR);
		for (int k = 0; k < 9; k++)
			sw_plot_name(&built, i == 0 ? SW_PLOT_X : SW_PLOT_Y, name);
		for (int shape = SW_PLOT_DOTS; shape <= SW_PLOT_TEXTS; shape++) {
			sw_plot_series(&built, name, (enum sw_plot_shape)shape, shape);
			sw_plot_mark(&built, (struct sw_plot_mark){1, 2, 3, 4, NAN, 1, text});
		}
		sw_plot_fit(&built);
	}
	sw_plot_note(&built, "%s", name);
	draw();
}

TEST_ROWS(hostile_text_stays_text, hostile)
{
	draw_named(hostile[_i].text);
	ck_assert_msg(strstr(shown, hostile[_i].shown) != NULL, "%s is not in: %s",
		      hostile[_i].shown, shown);
}

TEST(a_name_of_ten_kilobytes_is_cut)
{
	static char name[10241];

	memset(name, 'm', sizeof name - 1);
	draw_named(name);
	ck_assert_ptr_null(
		strstr(shown, "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
			      "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"));
	ck_assert_ptr_nonnull(strstr(shown, "mm\xe2\x80\xa6\n"));
}

/* Whatever bytes a name has. */
TEST_LOOP(names_of_any_bytes_are_drawn, 0, 300)
{
	uint64_t state = (uint64_t)_i * 0x9e3779b97f4a7c15u + 1;
	char name[200];
	const size_t n = (size_t)_i * 7 % sizeof name;

	for (size_t i = 0; i < n; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		name[i] = (char)(1 + (state >> 40) % 255);
	}
	name[n] = '\0';
	draw_named(name);
}

/* --- the page --- */

TEST(a_narrow_drawing_has_its_panels_below_each_other)
{
	static const int pages[] = {280, 376, 800, 4000};

	for (size_t i = 0; i < ROWS(pages); i++) {
		size_t n = 0;
		const struct element *panels[2];

		begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 1);
		add_dot();
		sw_plot_panel(&built, "other x", SW_PLOT_LINEAR, "other y", SW_PLOT_LINEAR);
		add_dot();
		draw_wide(pages[i], i % 2 == 1);
		ck_assert_double_eq(attribute(&elements[0], "width"), pages[i]);
		for (size_t k = 0; k < n_elements; k++)
			if (strstr(elements[k].attributes, "\"panel\"") != NULL)
				panels[n++] = &elements[k];
		ck_assert_uint_eq(n, 2);
		ck_assert_int_eq(attribute(panels[0], "y") < attribute(panels[1], "y"),
				 pages[i] < 500);
		ck_assert_double_le(attribute(panels[1], "x") + attribute(panels[1], "width"),
				    pages[i]);
		ck_assert_int_eq(strcmp(elements[1].name, "title") == 0, i % 2 == 0);
		ck_assert_int_eq(strstr(shown, "font-size") != NULL, i % 2 == 0);
	}
}

/* Axes of nothing would have numbers that nobody measured. */
TEST(a_plot_without_a_mark_says_why_and_has_no_axes)
{
	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 1);
	sw_plot_series(&built, "rungs", SW_PLOT_RULES, SW_PLOT_PRUNED);
	sw_plot_at(&built, .3, NAN, NAN, 0);
	sw_plot_note(&built, "No trial has a value yet.");
	draw();
	ck_assert_ptr_null(panel_element());
	ck_assert_ptr_null(strstr(shown, "x label"));
	ck_assert_ptr_nonnull(strstr(shown, "No trial has a value yet."));
}

TEST(a_plot_that_failed_is_not_drawn)
{
	struct sw_buf b;

	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 1);
	built.failed = SW_TOO_BIG;
	sw_buf_init(&b, SVG_BYTES);
	sw_plot_svg(&built, 800, false, &b);
	ck_assert_int_eq(b.failed, SW_TOO_BIG);
	ck_assert_uint_eq(b.len, 0);
	built.failed = SW_OK;
	sw_buf_init(&b, 800);
	sw_plot_svg(&built, 800, false, &b);
	ck_assert_int_eq(b.failed, SW_TOO_BIG);
	sw_buf_fini(&b);
}

#ifdef SW_FAULTS
static void write_whole(const struct sw_plot *p, struct sw_buf *out)
{
	sw_plot_svg(p, 800, false, out);
}

TEST(no_memory_is_said)
{
	begin(SW_PLOT_LINEAR, SW_PLOT_LINEAR, 1);
	ck_assert_says_no_memory(write_whole);
}
#endif

RUN_TESTS(NULL, NULL)
