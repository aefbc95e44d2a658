/* cli/pass_env.h — the environment of a submission: that of this process, for its program. */
#ifndef SW_CLI_PASS_ENV_H
#define SW_CLI_PASS_ENV_H

#include "cli/cli.h"

/* Writes the member "env", all that JSON can say of it; what the program is to have of that is the
 * daemon's to say (daemon/sweep/files/passed.h). Nothing if the spec has no program, with
 * --clean-env and for another machine. A warning for each that is left out. */
void sw_pass_env_write(const struct sw_cli *c, struct sw_jw *w, const cJSON *spec);

#endif
