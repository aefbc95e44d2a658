/*
 * worker/exec/words.h — finds why a program failed in what it said: the last line of its stderr.
 *
 * Of a Python traceback the line that names the exception counts, though a few come after it:
 * progress bars and loggers write their last lines when the interpreter ends.
 *
 * Memory   The structs are the caller's, zeroed at first; nothing is allocated.
 */
#ifndef SW_WORKER_EXEC_WORDS_H
#define SW_WORKER_EXEC_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#define SW_WORDS_MAX ((size_t)161) /* bytes, the NUL included */

struct sw_words {
	char last[SW_WORDS_MAX], raised[SW_WORDS_MAX]; /* UTF-8 that a line shows as it is */
	bool traced;   /* a traceback began, and its exception is not named yet */
	bool caused;   /* it is raised "from" the one before */
	bool oom;      /* the last exception speaks of memory that ran out, or its cause does */
	bool last_oom; /* the last line ends so */
	bool taken, last_taken; /* the same of an address that is in use */
	unsigned after;         /* lines since that was named */
};

/* Takes a line of stderr. */
void sw_words_take(struct sw_words *w, const char *line);
/* Did memory that ran out end it? The line that sw_words_say() has decides. */
bool sw_words_oom(const struct sw_words *w);
/* Did an address that another process listens on? The same line decides. */
bool sw_words_taken(const struct sw_words *w);
/* The line that says most; "" where nothing came. It lives as long as w. */
const char *sw_words_say(const struct sw_words *w);

/* Reads the percentage of a progress bar as tqdm draws it ("42%|####"), the last one in n bytes of
 * text; -1: there is no bar. */
int sw_words_percent(const char *text, size_t n);

#endif
