/*
 * worker/corner.h — points of a sweep's space that are looked at before it starts: its corners and
 * what lies between them, where the constraints hold.
 *
 * Each parameter has a few choices: the smallest, the largest, then values between them (of lists
 * their items). A point is a choice for each. Conditions are not looked at: each parameter is
 * there.
 *
 * Pure. Memory: the point is the caller's; its picks are freed by sw_corner_fini.
 */
#ifndef SW_WORKER_CORNER_H
#define SW_WORKER_CORNER_H

#include "base/status.h"
#include "spec/spec.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_CORNER_CHOICES 17 /* of a parameter, at most */

struct sw_corner {
	const struct sw_spec *spec;
	unsigned char *pick; /* [spec->n_params], below sw_corner_choices() */
};

/* The corner of all the smallest or largest values; where it breaks a constraint a point near it
 * that does not. SW_NOT_FOUND: none of those tried meets them. Cost: up to 20,000 looks at the
 * constraints. */
SW_NODISCARD sw_status sw_corner_init(struct sw_corner *c, const struct sw_spec *spec, bool largest,
				      struct sw_err *err);
/* The corner of the smallest values, whatever the constraints say. */
SW_NODISCARD sw_status sw_corner_any(struct sw_corner *c, const struct sw_spec *spec,
				     struct sw_err *err);
void sw_corner_fini(struct sw_corner *c);

size_t sw_corner_choices(const struct sw_spec_param *p);
/* How many constraints the point breaks. */
size_t sw_corner_broken(const struct sw_corner *c);
/* Does one constraint name both parameters? */
bool sw_corner_bound(const struct sw_spec *spec, size_t a, size_t b);
/* The point as an object of values by name, the caller's. */
SW_NODISCARD sw_status sw_corner_params(cJSON **out, const struct sw_corner *c, struct sw_err *err);

#endif
