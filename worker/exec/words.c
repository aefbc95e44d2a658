#include "worker/exec/words.h"
#include "base/text.h"
#include "base/utf8.h"
#include "worker/exec/oom.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define TRACEBACK "Traceback (most recent call last):"
#define TERMINATE "terminate called after throwing" /* C++; what() says more */
#define AFTER_MAX 50                                /* an exception of longer ago was caught */

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

/* As Python, PyTorch and the C library say it. */
static bool is_in_use(const char *line)
{
	return strcasestr(line, "address already in use") || strstr(line, "EADDRINUSE");
}

/* Does it say only that another process failed, which has said why (torchrun, accelerate)? */
static bool is_of_child(const struct sw_words *w, const char *line)
{
	return *w->raised != '\0' &&
	       (strstr(line, "ChildFailedError") || strstr(line, "CalledProcessError"));
}

/* Names sweepd's own module beside a package that is not installed, if there is one. */
static void add_stand_in(char said[SW_WORDS_MAX])
{
	static const char *const stand_ins[] = {"wandb", "ray", "hyperopt"};
	char all[SW_WORDS_MAX];

	for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
		const char *m = stand_ins[i];
		const int n =
			snprintf(all, sizeof all, "ModuleNotFoundError: No module named '%s'", m);

		if (strcmp(said, all) == 0)
			(void)snprintf(said + n, SW_WORDS_MAX - (size_t)n,
				       " (or write: import sweepd.%s as %s)", m, m);
	}
}

static void take_raised(struct sw_words *w, const char *line)
{
	w->traced = false;
	w->after = 0;
	if (is_of_child(w, line))
		return;
	/* An exception raised "from" one of memory is one of memory, whatever it says itself. */
	w->oom = sw_oom_said(line) || (w->caused && w->oom);
	w->taken = is_in_use(line) || (w->caused && w->taken);
	w->caused = false;
	memcpy(w->raised, w->last, sizeof w->raised);
	add_stand_in(w->raised);
}

void sw_words_take(struct sw_words *w, const char *line)
{
	const char *rank = *line == '[' ? strstr(line, "]: ")
					: NULL; /* "[rank0]: ", as torch has it */
	const char *text;

	line = rank ? rank + 3 : line;
	text = line + strspn(line, " \t");
	if (*text == '\0')
		return;
	copy_plain(w->last, text);
	w->last_oom = sw_oom_ends(w->last);
	w->last_taken = is_in_use(line);
	w->after++;
	if (strstr(line, TRACEBACK) != NULL)
		w->traced = true;
	else if (strstr(line, "direct cause of the following exception") != NULL)
		w->caused = true;
	else if ((w->traced && text == line) || strncmp(line, TERMINATE, strlen(TERMINATE)) == 0 ||
		 (w->after == 1 && strncmp(text, "what():", 7) == 0))
		take_raised(w, line); /* the frames before it are indented */
}

static bool has_raised(const struct sw_words *w)
{
	return *w->raised != '\0' && w->after <= AFTER_MAX;
}

bool sw_words_oom(const struct sw_words *w)
{
	return has_raised(w) ? w->oom : w->last_oom;
}

bool sw_words_taken(const struct sw_words *w)
{
	return has_raised(w) ? w->taken : w->last_taken;
}

const char *sw_words_say(const struct sw_words *w)
{
	return has_raised(w) ? w->raised : w->last;
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
