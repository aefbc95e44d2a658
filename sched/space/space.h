/*
 * sched/space/space.h — the search space, and the way between its values and the unit cube.
 *
 * Pure     No I/O, clock, thread, global or locale. Immutable once built.
 * Units    A point is n doubles in [0, 1), one per parameter, in the order of sw_space_add(). A
 *          value is a number, or the index of a category.
 * Memory   The space copies what it is given. Values arrays are the caller's.
 * Errors   sw_space_add() refuses what has no meaning and points at the key ("/min", "/values",
 * ...) relative to the parameter; the caller prefixes where the parameter stands.
 *
 * How a unit coordinate u becomes a value (inverse transform, so that u uniform gives the named
 * distribution). Bounds are inclusive.
 *
 *   CONSTANT      the constant
 *   CATEGORICAL   the first category whose cumulated weight exceeds u (equal weights by default)
 *   INT_UNIFORM   min + floor(u * (max - min + 1))
 *   UNIFORM       min + u * (max - min)
 *   LOG_UNIFORM   exp(ln min + u * (ln max - ln min));  min > 0
 *   INV_LOG_UNIFORM  1 / LOG_UNIFORM over [1/max, 1/min]
 *   Q_UNIFORM     the multiples of q within [min, max], each as likely as the others
 *   Q_LOG_UNIFORM LOG_UNIFORM, rounded to the nearest multiple of q within [min, max]
 *   POW2          2^k, k an integer, min and max powers of two, each k as likely as the others
 *   NORMAL        mu + sigma * probit(u);          Q_NORMAL rounds it to a multiple of q
 *   LOG_NORMAL    exp(mu + sigma * probit(u));     Q_LOG_NORMAL rounds it to a multiple of q
 *   INT_LOG_UNIFORM  floor(exp(ln min + u * (ln(max + 1) - ln min))); min >= 1: an integer is as
 *                 likely as the reals from it to the next one are under LOG_UNIFORM
 *
 * Conditions and constraints are added after the parameters, then the space is sealed. A parameter
 * without conditions is always active. A point holds a value for every parameter, active or not;
 * what an inactive one holds means nothing (sw_space_canonical() makes it one fixed value). A space
 * that has neither need not be sealed.
 */
#ifndef SW_SCHED_SPACE_SPACE_H
#define SW_SCHED_SPACE_SPACE_H

#include "base/space.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_SPACE_PROBES 10000 /* points that sw_space_probe() tries */

struct sw_value {
	double number;   /* every kind but CATEGORICAL and CONSTANT; 0 for those */
	uint32_t choice; /* CATEGORICAL: index; CONSTANT and the others: 0 */
};

struct sw_space; /* opaque */

SW_NODISCARD sw_status sw_space_create(struct sw_space **out);
void sw_space_destroy(struct sw_space *s); /* NULL is allowed */

/* Checks and appends one parameter. SW_INVALID with a pointer relative to it, SW_TOO_BIG,
 * SW_NOMEM. */
SW_NODISCARD sw_status sw_space_add(struct sw_space *s, const struct sw_param *p,
				    struct sw_err *err);

size_t sw_space_size(const struct sw_space *s); /* number of parameters */
const struct sw_param *sw_space_param(const struct sw_space *s, size_t i);

/* The number of values of parameter i, or 0 when it is continuous (or too many to count exactly in
 * 2^53). UNIFORM etc. without q are continuous; the normal kinds are unbounded, so 0. Each counts,
 * however unlikely it is. */
uint64_t sw_space_levels(const struct sw_space *s, size_t i);

/* unit[n] -> values[n]. A coordinate outside [0, 1) is taken to its nearest end. O(n log
 * choices). */
void sw_space_decode(const struct sw_space *s, const double *unit, struct sw_value *values);

/* values[n] -> unit[n]: the middle of the interval that decodes to each value, so that
 * decode(encode(v)) == v exactly for integers, categories, pow2 and quantised kinds, and to within
 * rounding for the rest. Values outside the space are taken to the nearest end. */
void sw_space_encode(const struct sw_space *s, const struct sw_value *values, double *unit);

/* The k-th (from 0) of the sw_space_levels() values of a discrete parameter, in rising order (the
 * given order for categories). Asserts that the parameter is discrete and k < levels. */
struct sw_value sw_space_level(const struct sw_space *s, size_t i, uint64_t k);

/* --- conditions (sched/space/space_when.c) --- */

/* child is active only where parent is active and has one of allowed[n]. Several parents of one
 * child are all needed. SW_INVALID with a pointer relative to the child ("/when"): the parent is
 * continuous, is the child, was given before, or never has that value; n is 0. SW_NOMEM. */
SW_NODISCARD sw_status sw_space_when(struct sw_space *s, size_t child, size_t parent,
				     const struct sw_value *allowed, size_t n, struct sw_err *err);

/* Closes the space: SW_INVALID at "/<index>/when" when conditions run in a circle. May be called
 * again. Needed before the functions below where there are conditions. */
SW_NODISCARD sw_status sw_space_seal(struct sw_space *s, struct sw_err *err);

bool sw_space_conditional(const struct sw_space *s); /* has conditions? */

/* active[n]: which parameters mean something at this point. O(n + conditions). */
void sw_space_active(const struct sw_space *s, const struct sw_value *values, bool *active);

/* Gives each inactive parameter its value at u = 0.5, so that equal configurations have equal bits.
 * Which ones are active does not change. */
void sw_space_canonical(const struct sw_space *s, struct sw_value *values);

/* The same configuration: the same active parameters, with the same values. */
bool sw_space_equal(const struct sw_space *s, const struct sw_value *a, const struct sw_value *b);

/* --- constraints (sched/space/space_constraint.c, space_probe.c) --- */

/* Adds a constraint; it is copied. It applies where each parameter that it names is active. Sums of
 * decimals are compared to within rounding (0.1 + 0.2 <= 0.3 holds); integers, and two values
 * compared as they are, exactly. SW_INVALID: a parameter is not a number, a coefficient is not
 * finite, there is no parameter in it, or it is an equality of real numbers, which neither draws
 * nor walks ever meet; SW_TOO_BIG, SW_NOMEM. No pointer is set. */
SW_NODISCARD sw_status sw_space_constrain(struct sw_space *s, const struct sw_constraint *c,
					  struct sw_err *err);

bool sw_space_constrained(const struct sw_space *s); /* has constraints? */
size_t sw_space_constraints(const struct sw_space *s);

/* Does every constraint that applies hold? O(n + conditions + terms). */
bool sw_space_feasible(const struct sw_space *s, const struct sw_value *values);
/* The first that is broken, in the order of their adding; sw_space_constraints() when none is. */
size_t sw_space_constraint_find(const struct sw_space *s, const struct sw_value *values);

/* Moves a point, a parameter at a time, until it breaks no constraint (sched/space/space_repair.c);
 * fixed[n] (NULL: none) stay as they are. A pure function of its arguments. False: it did not get
 * there, which is no proof that nothing does. Cost: some microseconds where little is broken,
 * some milliseconds at most. */
bool sw_space_repair(const struct sw_space *s, uint64_t seed, uint64_t number, const bool *fixed,
		     struct sw_value *values);

/* A point that keeps the constraints, and how it was come by. */
struct sw_probe {
	bool is_rare; /* no draw was one */
	struct sw_value values[SW_SPACE_MAX_PARAMS];
};

/* Is there a point to try at all? Looks at every point of a space of up to SW_SPACE_PROBES, else at
 * that many draws by the seed, and goes for a walk from the last. SW_INVALID at
 * "/constraints/<index>" of the one broken most often when all break some; the message says whether
 * there is no point, or only none was found. SW_OK at once without constraints: *found is not set.
 * found: may be NULL. Cost: milliseconds; in a space with next to no points some tens of them. */
SW_NODISCARD sw_status sw_space_probe(const struct sw_space *s, uint64_t seed,
				      struct sw_probe *found, struct sw_err *err);

/* The product of the levels, whatever rules say; 0: there is no end, or over SW_SPACE_PROBES. */
uint64_t sw_space_points(const struct sw_space *s);
/* Of levels alone: point number `number`, from 0, the last parameter fastest; and its number. */
void sw_space_point(const struct sw_space *s, uint64_t number, struct sw_value *values);
uint64_t sw_space_number(const struct sw_space *s, const struct sw_value *values);

/* --- other ranges (sched/space/space_edit.c) --- */

/* Has parameter i a min and a max? */
bool sw_space_bounded(const struct sw_space *s, size_t i);

/* A copy of the space in which every bounded parameter i goes from min[i] to max[i]; the others
 * stay. Sealed if s is. SW_INVALID at "/<index>/min" etc. where a range has no meaning for its
 * parameter, SW_NOMEM. Conditions stay as they are: a value that a parent no longer has never
 * comes. */
SW_NODISCARD sw_status sw_space_ranged(struct sw_space **out, const struct sw_space *s,
				       const double *min, const double *max, struct sw_err *err);

/* Is every active value one that its parameter can have? Constraints are not looked at. O(n). */
bool sw_space_holds(const struct sw_space *s, const struct sw_value *values);

/* --- points from outside (sched/space/space_check.c) --- */

/* Is this a value that parameter i can have, active or not? SW_INVALID, without a pointer, if it is
 * outside the bounds or beside the grid by more than sw_space_slack(): sw_space_nearest() is the
 * value then. */
SW_NODISCARD sw_status sw_space_check_value(const struct sw_space *s, size_t i,
					    struct sw_value value, struct sw_err *err);

/* The value of parameter i nearest to v: bounds for the continuous kinds, the nearest of its values
 * for the discrete ones. A value of the space comes back as it is. NaN becomes the lowest. */
struct sw_value sw_space_nearest(const struct sw_space *s, size_t i, struct sw_value v);

#endif
