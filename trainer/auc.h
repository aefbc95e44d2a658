/*
 * trainer/auc.h — the area under the ROC curve: the chance that a row of the one class has a higher
 * score than a row of the other, equal scores counted half.
 *
 * Pure    Cost O(n log n).
 * Source  Mann and Whitney, "On a test of whether one of two random variables is stochastically
 *         larger than the other", 1947: U over all pairs.
 */
#ifndef SW_TRAINER_AUC_H
#define SW_TRAINER_AUC_H

#include <stdbool.h>
#include <stddef.h>

struct sw_auc_row {
	float score;
	bool positive;
};

/* Sorts the rows. NaN: one of the classes has no row, or a score is none. */
double sw_auc(struct sw_auc_row *rows, size_t n);

#endif
