#include "worker/exec/words.h"
#include "base/text.h"
#include "base/utf8.h"
#include "proto/nearest.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRACEBACK "Traceback (most recent call last):"
#define AFTER_MAX 50 /* what was raised longer ago was caught */

/* --- stderr --- */

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

/* --- stdout --- */

static bool is_number(const char *s, bool plain)
{
	char *end;

	if (!isdigit((unsigned char)s[*s == '-' || *s == '+']))
		return false;
	(void)strtod(s, &end);
	/* behind a blank alone "3" is a count more often than a metric */
	return !isalpha((unsigned char)*end) && *end != ':' &&
	       (!plain || memchr(s, '.', (size_t)(end - s)) != NULL);
}

static void note_name(struct sw_numbers *p, const char *name, size_t len)
{
	char *to = p->names[p->n];

	if (len >= sizeof p->names[0])
		return;
	memcpy(to, name, len);
	to[len] = '\0';
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->names[i], to) == 0)
			return;
	p->n += strcasecmp(to, "step") != 0 && strcasecmp(to, "epoch") != 0;
}

void sw_numbers_take(struct sw_numbers *p, const char *line)
{
	static const char of_name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_./-";

	while (*line != '\0' && p->n < sizeof p->names / sizeof *p->names) {
		const size_t len = strspn(line, of_name);
		const char *at = line + len;

		at += *at == '"' || *at == '\'';
		const size_t blanks = strspn(at, " ");
		at += blanks;
		const bool sign = *at == ':' || *at == '=';
		at += sign ? 1 + strspn(at + 1, " ") : 0;
		if (isalpha((unsigned char)*line) && (sign || blanks > 0) && is_number(at, !sign))
			note_name(p, line, len);
		line += len > 0 ? len : blanks > 0 ? blanks : 1;
	}
}

/* The printed name that the metric may stand for: near to it, a part of it, or the only one. */
static const char *meant(const struct sw_numbers *p, const char *metric)
{
	const char *names[sizeof p->names / sizeof *p->names];

	for (size_t i = 0; i < p->n; i++) {
		names[i] = p->names[i];
		if (strlen(names[i]) > 2 &&
		    (strstr(metric, names[i]) != NULL || strstr(names[i], metric) != NULL))
			return names[i];
	}
	const char *near = sw_nearest(metric, names, p->n);
	return near == NULL && p->n == 1 ? names[0] : near;
}

const char *sw_numbers_say(const struct sw_numbers *p, const char *metric, char out[SW_WORDS_MAX])
{
	char list[64] = "";
	size_t n = 0;
	bool same = false;

	for (size_t i = 0; i < p->n; i++) {
		same = same || strcmp(p->names[i], metric) == 0;
		if (n + strlen(p->names[i]) + 3 < sizeof list)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i > 0 ? ", " : "",
					      p->names[i]);
	}
	if (p->n > 0 && !same) {
		const char *near = meant(p, metric);

		(void)snprintf(out, SW_WORDS_MAX, "printed %s, no %.32s%s%s%s", list, metric,
			       near != NULL ? "; did you mean " : "", near != NULL ? near : "",
			       near != NULL ? "?" : "");
		return out;
	}
	(void)snprintf(out, SW_WORDS_MAX,
		       "%s: print {\"%.32s\": 0.1} as a line, or call sweepd.report",
		       same ? "printed it, but not as a report" : "printed no number", metric);
	return out;
}
