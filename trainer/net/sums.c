/* trainer/net/sums.c — ranks divide a step's rows, and sum their gradients.
 *
 * Gradients lie in the order of the operations, and the backward pass makes them from the last to
 * the first. So after each operation all gradients from its own on are final. They are summed in
 * buckets, while the pass makes those in front of them. */
#include "trainer/net/internal.h"
#include <assert.h>

/* A bucket has at least this many floats, except the last. Each sum has a fixed cost, and a late
 * one cannot overlap with the backward pass. */
#define BUCKET ((size_t)1 << 20)

unsigned sw_net_data_rank(const struct sw_net *net)
{
	return net->ranks.comm ? sw_comm_rank(net->ranks.comm) / net->ranks.stages : 0;
}

struct sw_net_share sw_net_share_of(const struct sw_net *net, size_t rows)
{
	const size_t n = net->at.share, skip = sw_net_data_rank(net) * n;
	const size_t from = skip < rows ? skip : rows;

	assert(n > 0);
	return (struct sw_net_share){.from = from,
				     .to = rows - from < n ? rows : from + n,
				     .parts = (unsigned)((rows + n - 1) / n)};
}

/* Are gradients summed? In a single pipeline no other rank has gradients of the same weights. */
static bool sums(const struct sw_net *net)
{
	return net->ranks.comm &&
	       (net->ranks.stages == 1 || sw_comm_world(net->ranks.comm) > net->ranks.stages);
}

sw_status sw_net_grads_final(const struct sw_net_pass *p, size_t from, size_t *to)
{
	struct sw_net *net = p->net;
	float *sum = sw_net_floats(net, net->at.grads);
	const size_t n = *to - from;
	sw_status rc = SW_OK;

	assert(from <= *to);
	if (from > 0 && n < BUCKET)
		return SW_OK; /* the bucket is not full */
	*to = from;
	if (p->grads != sum)
		rc = net->ops->accumulate(net->q, p->grads + from, sum + from, n);
	if (rc != SW_OK || p->parts == 0 || !sums(net))
		return rc;
	void *stream;

	/* From here on a want of memory is the end for all: the others cannot take this part
	 * back. */
	net->ranks.shared = true;
	rc = net->ops->fork(net->q, &stream);
	return rc == SW_OK ? sw_comm_sum_begin(net->ranks.comm, stream, sum + from, n, p->parts)
			   : rc;
}

sw_status sw_net_grads_sum(struct sw_net *net, const struct sw_net_share *mine)
{
	const struct sw_net_pass none = {
		.net = net, .grads = sw_net_floats(net, net->at.grads), .parts = mine->parts};
	const struct sw_model *m = net->own;
	/* with batch norms in step it has made a pass of no rows, which began the sums */
	const bool idle = mine->from == mine->to && !sw_net_synced(net);
	size_t to = m->weights_n;
	sw_status rc = SW_OK;

	if (!sums(net))
		return SW_OK; /* its gradients are the sums */

	if (idle && sw_comm_on_devices(net->ranks.comm)) /* there all ranks' gradients count */
		rc = net->ops->zero(net->q, none.grads, to * sizeof *none.grads);
	for (size_t i = m->ops_n; idle && rc == SW_OK && i-- > 0;)
		if (m->op[i].w_n)
			rc = sw_net_grads_final(&none, m->op[i].w, &to);
	if (rc == SW_OK)
		rc = sw_comm_sum_end(net->ranks.comm);
	return rc == SW_OK ? net->ops->join(net->q) : rc;
}

sw_status sw_net_sums_now(const struct sw_net *net, double *sums, size_t n, unsigned parts)
{
	void *stream;
	sw_status rc = net->ops->fork(net->q, &stream);

	if (rc == SW_OK)
		rc = sw_comm_sum_now(net->ranks.comm, stream, sums, n, parts);
	/* gradients' sums in the same stream are waited for, too: it has one order */
	return rc == SW_OK ? net->ops->join(net->q) : rc;
}

sw_status sw_net_all(const struct sw_net *net, bool mine, bool *all)
{
	int64_t no = !mine;
	const sw_status rc =
		sw_comm_sum(net->ranks.comm, SW_COMM_I64, &no, 1, sw_comm_world(net->ranks.comm));

	*all = rc == SW_OK && no == 0;
	return rc;
}
