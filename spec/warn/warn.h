/* spec/warn/warn.h — what a spec may say, and yet is likely a mistake. It is accepted with a line
 * about it, in spec.warnings. Internal to spec/. */
#ifndef SW_SPEC_WARN_WARN_H
#define SW_SPEC_WARN_WARN_H

#include "spec/query.h"

/* Every warning but those of the parameters' readers. The spec has been read. */
void sw_spec_warn_all(struct sw_spec *s);
/* Of metrics that a missing "goal" turns round (spec/warn/goal.c). */
void sw_spec_warn_goal(struct sw_spec *s);
/* Of pruners and budgets (spec/warn/pruner.c). */
void sw_spec_warn_pruner(struct sw_spec *s);

#endif
