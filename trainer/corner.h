/*
 * trainer/corner.h — points of a sweep's space that are looked at before it starts: its corners and
 * points between them.
 *
 * Each parameter has a few choices: the smallest, the largest, then values between them (of lists
 * their items). A point is a choice for each. Conditions are not looked at: each parameter is
 * there.
 *
 * Pure. Memory: the point is the caller's; its picks are freed by sw_corner_fini.
 */
#ifndef SW_TRAINER_CORNER_H
#define SW_TRAINER_CORNER_H

#include "base/status.h"
#include "spec/spec.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_CORNER_CHOICES 17 /* of a parameter, at most */

struct sw_corner {
	const struct sw_spec *spec;
	unsigned char *pick; /* [spec->n_params], below sw_corner_choices() */
};

/* The corner of all the smallest or largest values, whatever the constraints say. */
SW_NODISCARD sw_status sw_corner_init(struct sw_corner *c, const struct sw_spec *spec, bool largest,
				      struct sw_err *err);
void sw_corner_fini(struct sw_corner *c);

size_t sw_corner_choices(const struct sw_spec_param *p);
/* Does the point meet all constraints? */
bool sw_corner_holds(const struct sw_corner *c);
/* The point as an object of values by name, the caller's. */
SW_NODISCARD sw_status sw_corner_params(cJSON **out, const struct sw_corner *c, struct sw_err *err);

#endif
