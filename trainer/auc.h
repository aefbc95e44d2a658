/*
 * trainer/auc.h — the area under the ROC curve: the chance that a row of the one class has a higher
 * score than a row of the other, equal scores counted half.
 *
 * Source  Mann and Whitney, "On a test of whether one of two random variables is stochastically
 *         larger than the other", 1947: U over all pairs.
 */
#ifndef SW_TRAINER_AUC_H
#define SW_TRAINER_AUC_H

#include "trainer/net/net.h"

struct sw_auc_row {
	float score;
	bool positive;
};

/* The rows [first, first + n) of the last evaluation: by how much the net, of two outputs, is for
 * the second class. Waits. */
SW_NODISCARD sw_status sw_auc_take(struct sw_net *net, const struct sw_data *data, size_t first,
				   size_t n, struct sw_auc_row *rows);
/* Pure. Sorts the rows: O(n log n). NaN: one of the classes has no row, or a score is none. */
double sw_auc(struct sw_auc_row *rows, size_t n);

#endif
