#include "worker/exec/words.h"
#include "base/text.h"
#include "base/utf8.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TRACEBACK "Traceback (most recent call last):"
#define AFTER_MAX 50 /* what was raised longer ago was caught */

/* Copies a line, cut before a character that does not fit, without what colours it. */
static void copy_plain(char to[SW_WORDS_MAX], const char *line)
{
	size_t n = 0, left = strlen(line), step;

	for (; left > 0; line += step, left -= step) {
		if (strncmp(line, "\033[", 2) == 0) {
			step = 2 + strspn(line + 2, "0123456789;:?");
			step += line[step] != '\0';
			continue;
		}
		step = sw_utf8_step(line, left);
		step += step == 0;
		if (n + step >= SW_WORDS_MAX)
			break;
		memcpy(to + n, line, step);
		n += step;
	}
	to[n] = '\0';
	sw_text_plain(to);
}

void sw_words_take(struct sw_words *w, const char *line)
{
	const char *text = line + strspn(line, " \t");

	if (*text == '\0')
		return;
	copy_plain(w->last, text);
	w->after++;
	if (strstr(line, TRACEBACK) != NULL) {
		w->traced = true;
	} else if (w->traced && text == line) { /* the frames before it are indented */
		memcpy(w->raised, w->last, sizeof w->raised);
		w->traced = false;
		w->after = 0;
	}
}

const char *sw_words_say(const struct sw_words *w)
{
	return *w->raised != '\0' && w->after <= AFTER_MAX ? w->raised : w->last;
}

int sw_words_percent(const char *text, size_t n)
{
	const char *bar = NULL, *at = text;
	int percent = 0, unit = 1;

	while ((at = memmem(at, n - (size_t)(at - text), "%|", 2)) != NULL)
		bar = at++;
	for (at = bar; bar && at > text && isdigit((unsigned char)at[-1]) && unit <= 100;
	     unit *= 10)
		percent += (*--at - '0') * unit;
	return unit == 1 || percent > 100 ? -1 : percent;
}
