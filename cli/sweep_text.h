/* cli/sweep_text.h — parts of a sweep in words: what two verbs print alike. */
#ifndef SW_CLI_SWEEP_TEXT_H
#define SW_CLI_SWEEP_TEXT_H

#include "cli/cli.h"

/* Appends "hypervolume 0.71 from val_loss 0.9, acc 0" and a newline to c->out; pareto: the object
 * of that name in sweep.get and sweep.best. */
void sw_sweep_text_pareto(struct sw_cli *c, const cJSON *pareto);

/* Appends the layers for a spec whose trainer's model is a preset; for another, or none (NULL),
 * nothing. */
void sw_sweep_text_model(struct sw_cli *c, const cJSON *spec);

#endif
