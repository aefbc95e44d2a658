/* spec/warn/warn.h — likely mistakes of a spec that is accepted all the same: each puts a line into
 * its warnings. Internal to spec/. */
#ifndef SW_SPEC_WARN_WARN_H
#define SW_SPEC_WARN_WARN_H

#include "spec/query.h"

/* Every warning but those of the parameters' readers. The spec has been read. */
void sw_spec_warn_all(struct sw_spec *s);
/* Metrics whose "goal" was likely forgotten (spec/warn/goal.c). */
void sw_spec_warn_goal(struct sw_spec *s);
/* Pruners and budgets (spec/warn/pruner.c). */
void sw_spec_warn_pruner(struct sw_spec *s);

#endif
