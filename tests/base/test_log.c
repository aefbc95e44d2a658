/* tests/base/test_log.c — a line of the log says what its format says, whatever the values hold;
 * what base/text.h takes out of a line. */
#include "base/log.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tests/run.h"
#include <stdbool.h>

#define LEFT    "\xe2\x80\xae" /* U+202E, right-to-left override */
#define CSI     "\xc2\x9b"     /* U+009B, what ESC [ says in one character */
#define E_ACUTE "\xc3\xa9"     /* a letter */

static const struct {
	const char *value, *logged;
} values[] = {
	{"digits", "digits"},
	{"a b", "a b"},
	{"a\" uid=0 state=COMPLETED x=\"", "a\\\" uid=0 state=COMPLETED x=\\\""},
	{"\\\"", "\\\\\\\""},
	{"\\", "\\\\"},
	{"a\nb\x1b[2J\x01\x02\x7f", "a?b?[2J???"},
	{CSI "2J" LEFT "x" E_ACUTE, "?2J?x" E_ACUTE},
	{"\xff\x9b" E_ACUTE, "??" E_ACUTE},
	{"%s%n%%", "%s%n%%"},
	{"", ""},
};

/* The last line of the log. */
static void read_last(FILE *file, char line[2048])
{
	char next[2048];

	*line = '\0';
	while (fgets(next, sizeof next, file) != NULL)
		memcpy(line, next, strlen(next) + 1);
}

static FILE *open_log(void)
{
	static char path[] = "/tmp/sw-log-XXXXXX";
	struct sw_err err = SW_ERR_INIT;
	const int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(sw_log_open(path, SW_LOG_INFO, &err), SW_OK);
	FILE *file = fdopen(fd, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(remove(path), 0);
	return file;
}

TEST_ROWS(log_value_cannot_end_its_quotes, values)
{
	char line[2048], want[256];
	FILE *file = open_log();

	sw_log(SW_LOG_INFO, "sweep.submit", "sweep=%d name=\"%s\" uid=%d", 7, values[_i].value, 3);
	read_last(file, line);
	(void)snprintf(want, sizeof want, " info sweep.submit sweep=7 name=\"%s\" uid=3\n",
		       values[_i].logged);
	ck_assert_ptr_nonnull(strchr(line, 'Z'));
	ck_assert_str_eq(strchr(line, 'Z') + 1, want);
	(void)fclose(file);
}

TEST(log_long_line_is_cut_and_ended)
{
	char line[2048], value[3000];
	FILE *file = open_log();

	memset(value, '"', sizeof value - 1);
	value[sizeof value - 1] = '\0';
	sw_log(SW_LOG_INFO, "e", "a=\"%s\" b=%d", value, 1);
	read_last(file, line);
	ck_assert_uint_le(strlen(line), 1024);
	ck_assert_uint_ge(strlen(line), 1000);
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	(void)fclose(file);
}

TEST(error_holds_nothing_that_a_line_does_not_show)
{
	struct sw_err err = SW_ERR_INIT;

	(void)sw_err_at(&err, SW_INVALID, "/a" CSI, "no \"%s\"", "x" LEFT "\n" CSI E_ACUTE);
	ck_assert_str_eq(err.msg, "no \"x???" E_ACUTE "\"");
	ck_assert_str_eq(err.ptr, "/a?");
}

/* Every code point is either left as it is or one '?'. */
TEST(plain_line_keeps_what_is_shown)
{
	static const struct {
		unsigned from, to;
	} harm[] = {{0x1, 0x1f},      {0x7f, 0x9f},     {0x61c, 0x61c},
		    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

	for (unsigned c = 1; c < 0x11000; c++) {
		char text[8] = "", was[8];
		bool harmful = false;

		if (c >= 0xd800 && c < 0xe000)
			continue;
		text[sw_utf8_put(c, text)] = 'z';
		memcpy(was, text, sizeof was);
		sw_text_plain(text);
		for (size_t i = 0; i < ROWS(harm); i++)
			harmful = harmful || (c >= harm[i].from && c <= harm[i].to);
		ck_assert_msg(strcmp(text, harmful ? "?z" : was) == 0, "U+%04X: %s", c, text);
	}
}

static const struct {
	const char *text, *shown;
} shown[] = {
	{"Größe", "Größe"},
	{"a\tb\xff", "a?b?"},
	{"0123456789012345678901234567890123456789", "0123456789012345678901234567890123456789"},
	{"012345678901234567890123456789012345678ß", "012345678901234567890123456789012345678..."},
};

TEST_ROWS(short_form_keeps_whole_characters, shown)
{
	char out[44];

	ck_assert_str_eq(sw_text_show(shown[_i].text, out), shown[_i].shown);
}

RUN_TESTS(NULL, NULL)
