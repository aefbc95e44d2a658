/* trainer/net/metrics.c — sums over rows: zeroed, and read with those of all ranks. */
#include "base/memory.h"
#include "trainer/net/internal.h"
#include <math.h>
#include <stdlib.h>

static size_t counts_bytes(const struct sw_net *net)
{
	return net->trainer->classes ? net->own->task.outputs * 3 * sizeof(int64_t) : 0;
}

sw_status sw_net_metrics_zero(struct sw_net *net)
{
	const sw_status rc = net->ops->zero(net->q, sw_net_sums(net), sizeof(struct sw_metrics));

	if (rc != SW_OK || counts_bytes(net) == 0)
		return rc;
	return net->ops->zero(net->q, net->arena + net->at.classes, counts_bytes(net));
}

sw_status sw_net_metrics(struct sw_net *net, struct sw_metrics *out)
{
	const sw_status rc = net->ops->download(net->q, out, sw_net_sums(net), sizeof *out);

	if (rc != SW_OK || !net->ranks.comm)
		return rc;
	/* All of the struct's members are doubles. */
	return sw_comm_sum(net->ranks.comm, SW_COMM_F64, out, sizeof *out / sizeof(double),
			   sw_comm_world(net->ranks.comm));
}

/* counts: int64[n], and one more place behind them. A rank without rows does not know whether there
 * are counts. */
static sw_status counts_sum(struct sw_net *net, int64_t *counts, size_t n)
{
	sw_status rc;

	counts[n] = net->no_counts;
	rc = sw_comm_sum(net->ranks.comm, SW_COMM_I64, counts, n + 1,
			 sw_comm_world(net->ranks.comm));
	net->no_counts = counts[n] != 0;
	return rc;
}

sw_status sw_net_macro_f1(struct sw_net *net, double *out)
{
	const size_t C = net->own->task.outputs;
	int64_t *counts;
	double sum = 0;
	size_t seen = 0;
	sw_status rc;

	*out = (double)NAN;
	if ((net->no_counts && !net->ranks.comm) || counts_bytes(net) == 0)
		return SW_OK;
	counts = sw_malloc(counts_bytes(net) + sizeof *counts);
	if (!counts)
		return SW_NOMEM;
	rc = net->ops->download(net->q, counts, net->arena + net->at.classes, counts_bytes(net));
	if (rc == SW_OK && net->ranks.comm)
		rc = counts_sum(net, counts, 3 * C);
	for (size_t c = 0; rc == SW_OK && !net->no_counts && c < C; c++) {
		const double tp = (double)counts[c];
		/* F1 = 2 tp / (2 tp + fp + fn). */
		const double wrong = (double)counts[C + c] + (double)counts[2 * C + c];

		seen += tp + wrong > 0;
		sum += tp + wrong > 0 ? 2 * tp / (2 * tp + wrong) : 0;
	}
	free(counts);
	if (rc == SW_OK && seen)
		*out = sum / (double)seen;
	return rc;
}
