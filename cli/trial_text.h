/* cli/trial_text.h — one trial in words, for `best` and `show`. */
#ifndef SW_CLI_TRIAL_TEXT_H
#define SW_CLI_TRIAL_TEXT_H

#include "cli/cli.h"
#include <cjson/cJSON.h>

/* State, step, seconds, then parameters (in the order of the spec, which may be NULL) and metrics,
 * one a line, aligned; numbers in full. Appends to c->out. */
void sw_trial_text(struct sw_cli *c, const cJSON *trial, const cJSON *spec);

/* A table of n trials; sweep: what sweep.get said of theirs. whole: with causes and progress. */
void sw_trial_text_table(struct sw_cli *c, const cJSON *sweep, const cJSON *const *trials, size_t n,
			 bool whole);

#endif
