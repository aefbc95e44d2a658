/* tests/sched/space/check.h — whether values are a point of the space. */
#ifndef SW_TESTS_SCHED_SPACE_CHECK_H
#define SW_TESTS_SCHED_SPACE_CHECK_H

#include "sched/space/space.h"
#include <stdio.h>

/* SW_INVALID at "/<index>" for the first active parameter whose value is outside its bounds or
 * beside its grid, and without a pointer for a broken constraint. */
static inline sw_status space_check(const struct sw_space *s, const struct sw_value *values,
				    struct sw_err *err)
{
	bool active[SW_SPACE_MAX_PARAMS];
	char ptr[32];

	sw_space_active(s, values, active);
	for (size_t i = 0; i < sw_space_size(s); i++) {
		if (!active[i] || sw_space_check_value(s, i, values[i], err) == SW_OK)
			continue;
		(void)snprintf(ptr, sizeof ptr, "/%zu", i);
		sw_err_prefix(err, ptr);
		return SW_INVALID;
	}
	if (!sw_space_feasible(s, values))
		return sw_err_set(err, SW_INVALID, "constraint %zu does not hold",
				  sw_space_constraint_find(s, values) + 1);
	return SW_OK;
}

#endif
