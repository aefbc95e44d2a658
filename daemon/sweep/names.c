#include "daemon/sweep/names.h"
#include <string.h>

static const char *const event_names[SW_EVENT_KIND_N] = {
	[SW_EVENT_ASK] = "ask",         [SW_EVENT_REPORT] = "report",
	[SW_EVENT_TELL] = "tell",       [SW_EVENT_LOST] = "lost",
	[SW_EVENT_RELEASE] = "release", [SW_EVENT_CANCEL_TRIAL] = "cancel_trial",
	[SW_EVENT_PAUSE] = "pause",     [SW_EVENT_RESUME] = "resume",
	[SW_EVENT_CANCEL] = "cancel",   [SW_EVENT_FAIL] = "fail",
	[SW_EVENT_EXTEND] = "extend",   [SW_EVENT_ENQUEUE] = "enqueue",
	[SW_EVENT_STOP] = "stop",       [SW_EVENT_EDIT] = "edit",
	[SW_EVENT_SETTLE] = "settle",
};

const char *sw_names_event(enum sw_event_kind kind)
{
	return event_names[kind];
}

sw_status sw_names_event_find(const char *name, enum sw_event_kind *out)
{
	for (size_t i = 0; i < SW_EVENT_KIND_N; i++)
		if (strcmp(event_names[i], name) == 0) {
			*out = (enum sw_event_kind)i;
			return SW_OK;
		}
	return SW_INVALID;
}

const char *sw_names_decision(enum sw_decision decision)
{
	static const char *const names[] = {
		[SW_DECISION_CONTINUE] = "continue",
		[SW_DECISION_STOP] = "stop",
		[SW_DECISION_PAUSE] = "pause",
	};

	return names[decision];
}

const char *sw_names_verdict(const struct sw_event *report, enum sw_decision decision)
{
	return report->result ? "result" : report->final ? "end" : sw_names_decision(decision);
}

bool sw_names_is_result(const char *verdict)
{
	return strcmp(verdict, "result") == 0;
}

bool sw_names_is_final(const char *verdict)
{
	return strcmp(verdict, "end") == 0 || sw_names_is_result(verdict);
}
