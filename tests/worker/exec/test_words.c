/* tests/worker/exec/test_words.c — of what a program printed, what says why it failed. */
#include "tests/run.h"
#include "worker/exec/words.h"
#include <string.h>

#define TRACE "Traceback (most recent call last):", "  File \"t.py\", line 1, in <module>"
#define NO_X  "ModuleNotFoundError: No module named 'x'"
#define TEN   "0123456789"
#define LONG  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *lines[8], *says;
} ends[] = {
	{{NULL}, ""},
	{{"one", "  two  ", "", " \t"}, "two  "},
	{{TRACE, "    import x", NO_X}, NO_X},
	{{TRACE, "    import x", NO_X, "", "  0%|     | 0/10 [00:00<?, ?it/s]", "wandb: bye"},
	 NO_X},
	{{TRACE, "ValueError: a", "During handling", TRACE, "KeyError: 'b'"}, "KeyError: 'b'"},
	{{"  + Exception Group Traceback (most recent call last):", "  | ExceptionGroup: two"},
	 "| ExceptionGroup: two"},
	{{"\033[1;31mError:\033[0m no \033[Kroom\033["}, "Error: no room"},
	{{"bell\a tab\t \xff\xc3\xa9 \xe2\x80\xae"}, "bell? tab? ?\xc3\xa9 ?"},
	{{LONG TEN "more"}, LONG TEN},
	{{LONG "012345678\xc3\xa9"}, LONG "012345678"},
};

TEST_ROWS(words_are_the_last_line_or_the_exception, ends)
{
	struct sw_words w = {.after = 0};

	for (size_t i = 0; i < 8 && ends[_i].lines[i]; i++)
		sw_words_take(&w, ends[_i].lines[i]);
	ck_assert_str_eq(sw_words_say(&w), ends[_i].says);
}

TEST(words_of_an_exception_long_ago_are_forgotten)
{
	static const char *const lines[] = {TRACE, "KeyError: 'caught'"};
	struct sw_words w = {.after = 0};

	for (size_t i = 0; i < 3; i++)
		sw_words_take(&w, lines[i]);
	for (int i = 0; i < 50; i++)
		sw_words_take(&w, "epoch done");
	ck_assert_str_eq(sw_words_say(&w), lines[2]);
	sw_words_take(&w, "no data");
	ck_assert_str_eq(sw_words_say(&w), "no data");
}

RUN_TESTS(NULL, NULL)
