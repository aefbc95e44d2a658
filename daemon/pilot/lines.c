#include "daemon/pilot/lines.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *word;
} states[] = {
	[SW_PILOT_UNKNOWN] = {"unknown", "unknown"},
	[SW_PILOT_PENDING] = {"pending", "pending"},
	[SW_PILOT_RUNNING] = {"running", "running"},
	[SW_PILOT_DONE] = {"done", "ended"},
	[SW_PILOT_FAILED] = {"failed", "FAILED"},
	[SW_PILOT_TIMEOUT] = {"timeout", "TIMEOUT"},
	[SW_PILOT_OOM] = {"oom", "OUT_OF_MEMORY"},
	[SW_PILOT_PREEMPTED] = {"preempted", "PREEMPTED"},
	[SW_PILOT_NODE_FAIL] = {"node_fail", "NODE_FAIL"},
	[SW_PILOT_CANCELLED] = {"cancelled", "CANCELLED"},
};

const char *sw_pilot_state_word(enum sw_pilot_state state)
{
	return states[state].word;
}

static bool find_state(const char *name, enum sw_pilot_state *out)
{
	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (strcmp(states[i].name, name) == 0) {
			*out = (enum sw_pilot_state)i;
			return true;
		}
	return false;
}

/* The word at *at, which moves behind it. A word that is cut is not ours: false. */
static bool take_word(const char **at, const char *end, char *out, size_t cap)
{
	const char *from = *at;

	while (from < end && (*from == ' ' || *from == '\t'))
		from++;
	const char *to = from;
	while (to < end && *to != ' ' && *to != '\t')
		to++;
	*at = to;
	if (to == from || (size_t)(to - from) >= cap)
		return false;
	(void)snprintf(out, cap, "%.*s", (int)(to - from), from);
	sw_text_plain(out);
	return true;
}

static const char *end_of_line(const char *text)
{
	return text + strcspn(text, "\r\n");
}

bool sw_pilot_line_next(const char **text, struct sw_pilot_line *out)
{
	while (**text != '\0') {
		const char *at = *text, *end = end_of_line(at);
		char state[16];

		*text = end + (*end != '\0');
		if (!take_word(&at, end, out->id, sizeof out->id) ||
		    !take_word(&at, end, out->name, sizeof out->name) ||
		    !take_word(&at, end, state, sizeof state) || !find_state(state, &out->state) ||
		    !take_word(&at, end, out->node, sizeof out->node))
			/* A line that is not of this form is skipped: schedulers print headings and
			 * warnings among them. */
			continue;
		if (strcmp(out->node, "-") == 0)
			out->node[0] = '\0';
		while (at < end && *at == ' ')
			at++;
		(void)snprintf(out->reason, sizeof out->reason, "%.*s", (int)(end - at), at);
		sw_text_plain(out->reason);
		return true;
	}
	return false;
}

bool sw_pilot_id_next(const char **text, char id[SW_PILOT_ID])
{
	while (**text != '\0') {
		const char *at = *text, *end = end_of_line(at);

		*text = end + (*end != '\0');
		if (take_word(&at, end, id, SW_PILOT_ID))
			return true;
	}
	return false;
}
