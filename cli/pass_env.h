/* cli/pass_env.h — the variables of this environment that a submission passes to its program. */
#ifndef SW_CLI_PASS_ENV_H
#define SW_CLI_PASS_ENV_H

#include "proto/json.h"

/* Writes the member "env": WANDB_*, HF_*, AWS_* and what run.env_pass names; nothing if the spec
 * has no program. */
void sw_pass_env_write(struct sw_jw *w, const cJSON *spec);

#endif
