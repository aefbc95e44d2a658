/* cli/progress.h — how far a long command is: a line on stderr where that is a terminal, drawn anew
 * at most five times a second. */
#ifndef SW_CLI_PROGRESS_H
#define SW_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sw_progress {
	bool on; /* false: nothing is drawn */
	uint64_t trials, reports;
	uint64_t total; /* trials to come to */
	int64_t drawn_us;
};

void sw_progress_draw(struct sw_progress *p);
/* Takes the line away. */
void sw_progress_clear(struct sw_progress *p);

#endif
