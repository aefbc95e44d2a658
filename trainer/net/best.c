/* trainer/net/best.c — a copy of the weights of the best epoch so far. */
#include "base/memory.h"
#include "trainer/net/internal.h"

sw_status sw_net_best_take(struct sw_net *net, uint64_t epoch, double value)
{
	const size_t n = net->model->weights_n;
	float *to = net->best.weights;
	sw_status rc;

	/* None until it is whole: a download that fails may have written half of it. */
	net->best.epoch = 0;
	if (!to)
		to = net->best.weights = sw_calloc(n + net->model->running_n, sizeof *to);
	if (!to)
		return SW_NOMEM;
	rc = sw_net_set_download(net, 0, to);
	if (rc == SW_OK && net->model->running_n)
		rc = sw_net_set_download(net, SW_NET_RUNNING, to + n);
	if (rc != SW_OK)
		return rc;
	net->best.epoch = epoch;
	net->best.step = net->step;
	net->best.value = value;
	return SW_OK;
}
