/* worker/net/net_share.c — what ranks share: a step's rows, the sum of their gradients, rank 0's state.
 *
 * Gradients lie in the order of the operations, and the backward pass makes them from the last on.
 * So behind each operation's a suffix of the arena is final. It is summed in buckets, which other
 * ranks add up while this one still makes those in front of them. */
#include "base/memory.h"
#include "worker/net/net_internal.h"
#include <assert.h>
#include <stdlib.h>

/* Floats of a bucket at least, but of the first tensors' of the net. A sum has a cost of its own, a
 * late one no pass beside which it is made. */
#define BUCKET ((size_t)1 << 20)

struct sw_net_share sw_net_share_of(const struct sw_net *net, size_t rows)
{
	const size_t n = net->at.share, skip = net->comm ? sw_comm_rank(net->comm) * n : 0;
	const size_t from = skip < rows ? skip : rows;

	assert(n > 0);
	return (struct sw_net_share){.from = from,
				     .to = rows - from < n ? rows : from + n,
				     .parts = (unsigned)((rows + n - 1) / n)};
}

sw_status sw_net_grads_final(const struct sw_net_pass *p, size_t from, size_t *to)
{
	struct sw_net *net = p->net;
	float *sum = sw_net_floats(net, net->at.grads);
	const size_t n = *to - from;
	sw_status rc = SW_OK;

	assert(from <= *to);
	if (from > 0 && n < BUCKET)
		return SW_OK;
	*to = from;
	if (p->grads != sum)
		rc = net->ops->accumulate(net->q, p->grads + from, sum + from, n);
	if (rc != SW_OK || p->parts == 0 || !net->comm)
		return rc;
	void *stream;

	net->summing = true;
	rc = net->ops->fork(net->q, &stream);
	return rc == SW_OK ? sw_comm_sum_begin(net->comm, stream, sum + from, n, p->parts) : rc;
}

sw_status sw_net_grads_sum(struct sw_net *net, const struct sw_net_share *mine)
{
	const struct sw_net_pass none = {
		.net = net, .grads = sw_net_floats(net, net->at.grads), .parts = mine->parts};
	const struct sw_model *m = net->model;
	/* else its pass of no rows has left zeros, and begun the sums between those of batch norms */
	const bool idle = mine->from == mine->to && !sw_net_synced(net);
	size_t to = m->weights_n;
	sw_status rc = SW_OK;

	if (idle && sw_comm_on_devices(net->comm)) /* where all ranks' gradients count */
		rc = net->ops->zero(net->q, none.grads, to * sizeof *none.grads);
	for (size_t i = m->ops_n; idle && rc == SW_OK && i-- > 0;)
		if (m->op[i].w_n)
			rc = sw_net_grads_final(&none, m->op[i].w, &to);
	if (rc == SW_OK)
		rc = sw_comm_sum_end(net->comm);
	return rc == SW_OK ? net->ops->join(net->q) : rc;
}

sw_status sw_net_sums_now(const struct sw_net_pass *p, double *sums, size_t n)
{
	const struct sw_net *net = p->net;
	void *stream;
	sw_status rc = net->ops->fork(net->q, &stream);

	if (rc == SW_OK)
		rc = sw_comm_sum_now(net->comm, stream, sums, n, p->parts);
	/* gradients' sums in the same stream are waited for, too: it has one order */
	return rc == SW_OK ? net->ops->join(net->q) : rc;
}

sw_status sw_net_all(const struct sw_net *net, bool mine, bool *all)
{
	int64_t no = !mine;
	const sw_status rc = sw_comm_sum(net->comm, SW_COMM_I64, &no, 1, sw_comm_world(net->comm));

	*all = rc == SW_OK && no == 0;
	return rc;
}

/* --- rank 0's state --- */

static sw_status running_share(struct sw_net *net, float *host)
{
	const bool lead = sw_comm_rank(net->comm) == 0;
	sw_status rc = lead ? sw_net_running_download(net, host) : SW_OK;

	if (rc == SW_OK)
		rc = sw_comm_broadcast(net->comm, 0, host, net->model->running_n * sizeof *host);
	return rc == SW_OK && !lead ? sw_net_running_upload(net, host) : rc;
}

static sw_status set_share(struct sw_net *net, size_t set, float *host)
{
	const bool lead = sw_comm_rank(net->comm) == 0;
	sw_status rc = lead ? sw_net_set_download(net, set, host) : SW_OK;

	if (rc == SW_OK)
		rc = sw_comm_broadcast(net->comm, 0, host, net->model->weights_n * sizeof *host);
	return rc == SW_OK && !lead ? sw_net_set_upload(net, set, host) : rc;
}

sw_status sw_net_running_share(struct sw_net *net)
{
	float *host;
	sw_status rc;

	if (!net->comm || net->model->running_n == 0)
		return SW_OK;
	host = sw_malloc(net->model->running_n * sizeof *host);
	rc = host ? running_share(net, host) : SW_NOMEM;
	free(host);
	return rc;
}

sw_status sw_net_state_share(struct sw_net *net, uint64_t *epoch)
{
	struct {
		uint64_t epoch, step, stale, seed; /* a copy of another trial has that one's seed */
		double best_loss;
	} head = {*epoch, net->step, net->stale, net->seed, net->best_loss};
	float *host;
	sw_status rc;

	if (!net->comm)
		return SW_OK;
	rc = sw_comm_broadcast(net->comm, 0, &head, sizeof head);
	if (rc != SW_OK)
		return rc;
	*epoch = head.epoch;
	net->step = head.step;
	net->stale = head.stale;
	net->seed = head.seed;
	net->best_loss = head.best_loss;
	host = sw_malloc(net->model->weights_n * sizeof *host);
	if (!host)
		return SW_NOMEM;
	for (size_t set = 0; rc == SW_OK && set < sw_net_sets(net); set++)
		rc = set_share(net, set, host);
	free(host);
	return rc == SW_OK ? sw_net_running_share(net) : rc;
}
