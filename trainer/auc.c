#include "trainer/auc.h"
#include <math.h>
#include <stdlib.h>

static int by_score(const void *a, const void *b)
{
	const struct sw_auc_row *x = a, *y = b;

	return (x->score > y->score) - (x->score < y->score);
}

double sw_auc(struct sw_auc_row *rows, size_t n)
{
	double positive = 0, negative = 0, wins = 0;

	/* a NaN has no place in an order */
	for (size_t i = 0; i < n; i++)
		if (isnan(rows[i].score))
			return (double)NAN;
	qsort(rows, n, sizeof *rows, by_score);
	for (size_t i = 0, end; i < n; i = end) {
		double p = 0, q = 0;

		for (end = i; end < n && rows[end].score == rows[i].score; end++) {
			p += rows[end].positive;
			q += !rows[end].positive;
		}
		wins += p * (negative + q / 2);
		positive += p;
		negative += q;
	}
	return positive > 0 && negative > 0 ? wins / (positive * negative) : (double)NAN;
}

sw_status sw_auc_take(struct sw_net *net, const struct sw_data *data, size_t first, size_t n,
		      struct sw_auc_row *rows)
{
	float z[2 * 256];
	sw_status rc = SW_OK;

	for (size_t at = 0; rc == SW_OK && at < n; at += 256) {
		const size_t some = n - at < 256 ? n - at : 256;

		rc = net->ops->download(net->q, z, sw_net_output(net) + 2 * at,
					2 * some * sizeof *z);
		for (size_t i = 0; rc == SW_OK && i < some; i++)
			rows[at + i] = (struct sw_auc_row){
				.score = z[2 * i + 1] - z[2 * i],
				.positive = data->val_class[first + at + i] == 1};
	}
	return rc;
}
