/*
 * daemon/pilot/lines.h — what an executor prints: a line for each job. Pure.
 *
 * Untrusted text: what is no such line is left out.
 */
#ifndef SW_DAEMON_PILOT_LINES_H
#define SW_DAEMON_PILOT_LINES_H

#include <stdbool.h>

enum sw_pilot_state {
	SW_PILOT_UNKNOWN,
	SW_PILOT_PENDING,
	SW_PILOT_RUNNING,
	/* From here on it is over. */
	SW_PILOT_DONE,
	SW_PILOT_FAILED,
	SW_PILOT_TIMEOUT,
	SW_PILOT_OOM,
	SW_PILOT_PREEMPTED,
	SW_PILOT_NODE_FAIL,
	SW_PILOT_CANCELLED
};

#define SW_PILOT_ID     128 /* bytes, as the two below */
#define SW_PILOT_NODE   64
#define SW_PILOT_REASON 120

struct sw_pilot_line {
	char id[SW_PILOT_ID], name[64], node[SW_PILOT_NODE], reason[SW_PILOT_REASON];
	enum sw_pilot_state state;
};

/* As people know them from Slurm: "PREEMPTED". */
const char *sw_pilot_state_word(enum sw_pilot_state state);
/* The next line of `list` that is one: ID NAME STATE NODE REASON... A node "-" is "". *text moves
 * behind it. False: no further line. */
bool sw_pilot_line_next(const char **text, struct sw_pilot_line *out);
/* The next line of `submit`: an id alone. */
bool sw_pilot_id_next(const char **text, char id[SW_PILOT_ID]);

#endif
