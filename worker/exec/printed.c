#include "worker/exec/printed.h"
#include "base/text.h"
#include "proto/nearest.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

void sw_printed_name(struct sw_printed *p, const char *name, size_t len)
{
	if (len >= sizeof p->names[0] || p->n == sizeof p->names / sizeof *p->names)
		return;
	char *to = p->names[p->n];
	memcpy(to, name, len);
	to[len] = '\0';
	sw_text_plain(to);
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->names[i], to) == 0)
			return;
	p->n += strcasecmp(to, "step") != 0 && strcasecmp(to, "epoch") != 0;
}

void sw_printed_text(struct sw_printed *p, const char *line)
{
	static const char of_name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_./-";

	while (*line != '\0') {
		const size_t len = strspn(line, of_name);
		const char *at = line + len;

		at += *at == '"' || *at == '\'';
		const size_t blanks = strspn(at, " ");
		at += blanks;
		const bool sign = *at == ':' || *at == '=';
		at += sign ? 1 + strspn(at + 1, " ") : 0;
		if (isalpha((unsigned char)*line) && (sign || blanks > 0) && is_number(at, !sign))
			sw_printed_name(p, line, len);
		line += len > 0 ? len : blanks > 0 ? blanks : 1;
	}
}

/* The printed name that the metric may stand for: near to it, a part of it, or the only one. */
static const char *meant(const struct sw_printed *p, const char *metric)
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

void sw_printed_odd(struct sw_printed *p, uint64_t line, const char *why, bool sure)
{
	if (*p->odd != '\0' && (p->sure || !sure))
		return;
	(void)snprintf(p->odd, sizeof p->odd, "line %" PRIu64 ": %s", line, why);
	sw_text_plain(p->odd);
	p->sure = sure;
}

static const char *say_names(const struct sw_printed *p, const char *metric, char out[SW_WORDS_MAX])
{
	const char *near = meant(p, metric);
	char list[64] = "";
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (n + strlen(p->names[i]) + 5 < sizeof list)
			n += (size_t)snprintf(list + n, sizeof list - n, "%s\"%s\"",
					      n > 0 ? ", " : "", p->names[i]);
	if (near != NULL && strlen(near) < 32)
		(void)snprintf(out, SW_WORDS_MAX,
			       "printed %s, no \"%.32s\"; did you mean \"%.31s\"?", list, metric,
			       near);
	else
		(void)snprintf(out, SW_WORDS_MAX, "printed %s, no \"%.32s\"", list, metric);
	return out;
}

const char *sw_printed_say(const struct sw_printed *p, const char *metric, char out[SW_WORDS_MAX])
{
	bool same = false;

	for (size_t i = 0; i < p->n; i++)
		same = same || strcmp(p->names[i], metric) == 0;
	if (p->sure || (*p->odd != '\0' && (same || p->n == 0)))
		return p->odd;
	if (p->n > 0 && !same)
		return say_names(p, metric, out);
	(void)snprintf(
		out, SW_WORDS_MAX, "%s: print {\"%.32s\": 0.1} as a line, or call sweepd.report",
		same ? "printed it in a text, which is no report" : "printed no number", metric);
	return out;
}
