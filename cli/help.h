/* cli/help.h — `sweep help`: made from the verbs' rows and the options' rows. Pure. */
#ifndef SW_CLI_HELP_H
#define SW_CLI_HELP_H

#include "base/buf.h"
#include "cli/verb.h"

/* On one verb, or on all (NULL). */
void sw_help_print(struct sw_buf *b, const struct sw_verb *v);

#endif
