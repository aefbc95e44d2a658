/* cli/model_text.h — the layers that a preset stands for, as `show` and `validate` print them. */
#ifndef SW_CLI_MODEL_TEXT_H
#define SW_CLI_MODEL_TEXT_H

#include "cli/cli.h"

/* Prints the layers for a spec whose trainer's model is a preset; for another, or none (NULL), it
 * prints nothing. */
void sw_model_text(struct sw_cli *c, const cJSON *spec);

#endif
