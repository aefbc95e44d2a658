/*
 * sched/sampler/scalarise.h — several metrics as one number, a different one for every suggestion:
 * so a sampler that minimises one number is led along the whole front.
 *
 *   value(y) = max over k of w[k] z[k]  +  0.05 sum over k of w[k] z[k],
 *   z[k] = (y[k] - ideal[k]) / range[k]
 *
 * The maximum reaches every point of a front, also where it bends inwards; the sum keeps away from
 * points that are merely not dominated. z is 0 at the lowest value known of a metric and 1 at the
 * worst of the front, so that units do not weigh; where one point of the front lies far beyond what
 * trials usually have, it does not set the scale.
 *
 * Pure     libm only.
 * Units    y: double[m], oriented (smaller is better), finite. A value has no unit; it is >= 0
 *          while no y is below the ideal.
 * Source   Knowles, "ParEGO: a hybrid algorithm with on-line landscape approximation for expensive
 *          multiobjective optimization problems", IEEE TEVC 10 (2006), section III-B. Departures:
 *          weights from the whole simplex, not from a grid on it; the scale is that of the front,
 *          where the paper takes limits that are known in advance.
 */
#ifndef SW_SCHED_SAMPLER_SCALARISE_H
#define SW_SCHED_SAMPLER_SCALARISE_H

#include "base/status.h"
#include "sched/space/history.h"
#include <stddef.h>

struct sw_scalar {
	size_t m; /* metrics, 2..SW_METRICS_MAX */
	double weight[SW_METRICS_MAX];
	double ideal[SW_METRICS_MAX], range[SW_METRICS_MAX];
};

/* Uniform on the simplex, from m numbers in (0, 1). */
void sw_scalar_weights(struct sw_scalar *s, const double *unit);

/* The scale, from what is known: y: double[n][m], n >= 1. s->m is set. SW_NOMEM. Cost: that of
 * sw_pareto_front(), and a sort for each metric. */
SW_NODISCARD sw_status sw_scalar_fit(struct sw_scalar *s, const double *y, size_t n);

/* Always finite. O(m). */
double sw_scalar_value(const struct sw_scalar *s, const double *y);

#endif
