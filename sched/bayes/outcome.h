/*
 * sched/bayes/outcome.h — views of the outcomes: the monotone maps under which a Gaussian process
 * sees what the trials were told, each standardised to mean 0 and population sd 1.
 *
 *   STD    y itself
 *   YJ     Yeo and Johnson's power transform, its power chosen by likelihood on a grid
 *   LOG1   ln(y - min + s), s = the least tenth's end - min: the best are spread out, all the
 * others drawn in
 *
 * Before all three, what lies far above the median is drawn in: y beyond the knee, median + s' with
 * s' = 3 (median - min), counts as knee + s' ln(1 + (y - knee) / s'). How bad a bad trial was (a
 * loss that diverged to 1e12 or to 1e3) says nothing about where the good ones are, but it would
 * take all the room that a model has for differences between those.
 *
 * Pure     libm only. All values the same: every z is 0.
 * Units    y: the metric's own, finite, of any size. z: standardised; smaller is better in both.
 * Source   Yeo and Johnson, "A new family of power transformations to improve normality or
 *          symmetry", Biometrika 87 (2000), eq. 2.1 and section 3.
 * Cost     A fit is O(n); YJ looks at no more than SW_OUTCOME_SEEN of the values for its power.
 */
#ifndef SW_SCHED_BAYES_OUTCOME_H
#define SW_SCHED_BAYES_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>

#define SW_OUTCOME_SEEN ((size_t)512)

enum sw_outcome_view { SW_OUTCOME_STD, SW_OUTCOME_YJ, SW_OUTCOME_LOG1, SW_OUTCOME_VIEW_N };

struct sw_outcome {
	enum sw_outcome_view view;
	bool flat;       /* all values the same */
	double at;       /* that value */
	double knee;     /* where the bad tail begins */
	double stretch;  /* how fast it is drawn in; 0: not at all */
	double scale;    /* y / scale cannot overflow in what follows, y being bent */
	double shift;    /* STD, YJ: mean; LOG1: min - s; of y / scale */
	double width;    /* STD, YJ: sd of y / scale */
	double power;    /* YJ */
	double mean, sd; /* of the transformed values */
};

/* sorted: double[n], rising, finite; n >= 1. */
void sw_outcome_fit(struct sw_outcome *o, enum sw_outcome_view view, const double *sorted,
		    size_t n);

/* y -> z. LOG1: a y below what the fit knew by s or more counts as the lowest that has a log. */
double sw_outcome_forward(const struct sw_outcome *o, double y);

/* z -> y, always finite: where the inverse has no end it stops at one. */
double sw_outcome_inverse(const struct sw_outcome *o, double z);

/* A deviation at z in the metric's own units, by the slope there: where an end of z +- sd lies may
 * be as good as nowhere. Of a flat view sd itself. */
double sw_outcome_deviation(const struct sw_outcome *o, double z, double sd);

/* ln of inverse(z) - inverse(z - e^ln_dz), where that difference has long cancelled to 0, too: an
 * improvement of e^ln_dz, in the metric's own units. Of a flat view ln_dz itself: its values
 * being equal, but for what dwarfs them all, there is no other unit. Six digits while e^ln_dz is at
 * most 1. */
double sw_outcome_ln_gain(const struct sw_outcome *o, double z, double ln_dz);

#endif
