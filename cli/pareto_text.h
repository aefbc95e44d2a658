/* cli/pareto_text.h — a sweep with several metrics in words. */
#ifndef SW_CLI_PARETO_TEXT_H
#define SW_CLI_PARETO_TEXT_H

#include "cli/cli.h"
#include <cjson/cJSON.h>

/* Appends "hypervolume 0.71 from val_loss 0.9, acc 0" and a newline to c->out; pareto: the object
 * of that name in sweep.get and sweep.best. */
void sw_pareto_text(struct sw_cli *c, const cJSON *pareto);

#endif
