#include "worker/exec/printed.h"
#include "base/text.h"
#include "proto/nearest.h"
#include "worker/exec/pairs.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

void sw_printed_text(struct sw_printed *p, const char *line, const char *metric)
{
	struct sw_pair pair;

	while (sw_pair_next(&line, metric, &pair))
		if (!pair.count)
			sw_printed_name(p, pair.name, pair.len);
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
	if (p->text)
		(void)snprintf(out, SW_WORDS_MAX, "printed no line with \"%.32s: 0.1\"%s", metric,
			       same ? ", only without its \":\"" : "");
	else if (same)
		(void)snprintf(out, SW_WORDS_MAX,
			       "printed it as text: \"run\": {\"metrics\": \"text\"} in the spec "
			       "reads that, or print {\"%.32s\": 0.1}",
			       metric);
	else
		(void)snprintf(out, SW_WORDS_MAX,
			       "printed no number: print {\"%.32s\": 0.1} as a line of stdout, "
			       "or call sweepd.report",
			       metric);
	return out;
}
