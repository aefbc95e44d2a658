/* cli/model_text.h — the layers that a preset stands for, as `show` and `validate` print them. */
#ifndef SW_CLI_MODEL_TEXT_H
#define SW_CLI_MODEL_TEXT_H

#include "cli/cli.h"

/* Of a spec whose trainer's model is a preset; of another, or of none (NULL), nothing. */
void sw_model_text(struct sw_cli *c, const cJSON *spec);

#endif
