/* trainer/net/ranks.c — the ranks of a pipeline: which operations are whose, what goes from one to
 * the next, and what they agree on. */
#include "base/memory.h"
#include "trainer/net/internal.h"

static sw_status cut(struct sw_net *net, struct sw_err *err)
{
	struct sw_net_ranks *r = &net->ranks;
	const double all = sw_stages_work(net->model, 0, net->model->ops_n);
	size_t first[SW_STAGES_MAX + 1];
	sw_status rc = sw_stages_cut(net->model, net->trainer, first, err);

	if (rc != SW_OK)
		return rc;
	r->own = sw_malloc(sizeof *r->own);
	if (!r->own)
		return sw_err_set(err, SW_NOMEM, "no memory for a stage's model");
	for (unsigned s = 0; s < r->stages; s++) {
		sw_stages_model(r->own, net->model, first[s], first[s + 1], &r->weights[s],
				&r->running[s]);
		r->share[s] = sw_stages_work(net->model, first[s], first[s + 1]) / all;
	}
	/* The loop asked for the places of all stages, and r->own holds the last one's model. */
	if (r->stage + 1 < r->stages)
		sw_stages_model(r->own, net->model, first[r->stage], first[r->stage + 1],
				&r->weights[r->stage], &r->running[r->stage]);
	net->own = r->own;
	return SW_OK;
}

sw_status sw_net_stages_take(struct sw_net *net, struct sw_err *err)
{
	struct sw_net_ranks *r = &net->ranks;

	r->stages = net->trainer->stages > 1 ? (unsigned)net->trainer->stages : 1;
	r->stage = net->ranks.comm ? sw_comm_rank(net->ranks.comm) % r->stages : 0;
	r->weights[r->stages] = net->model->weights_n;
	r->running[r->stages] = net->model->running_n;
	return r->stages > 1 ? cut(net, err) : SW_OK;
}

/* The least and the most of all ranks' numbers. */
static sw_status bounds_of(const struct sw_net *net, size_t mine, size_t *least, size_t *most)
{
	size_t all[SW_COMM_WORLD_MAX];
	const sw_status rc = sw_comm_all_gather(net->ranks.comm, &mine, all, sizeof mine);

	*least = *most = mine;
	for (unsigned r = 0; rc == SW_OK && r < sw_comm_world(net->ranks.comm); r++) {
		*least = all[r] < *least ? all[r] : *least;
		*most = all[r] > *most ? all[r] : *most;
	}
	return rc;
}

sw_status sw_net_stages_agree(struct sw_net *net, const struct sw_data *data)
{
	size_t least = 0, most = 1;
	sw_status rc = SW_OK;

	/* all halve from the same number; one that lacks memory still may come out below the
	 * others, for more parts have more buffers: so until none differs */
	while (rc == SW_OK && net->ranks.stages > 1 && least != most) {
		rc = bounds_of(net, net->at.micro, &least, &most);
		/* Only down: the rank with the least memory decides for all. */
		while (rc == SW_OK && net->at.micro > least)
			rc = sw_net_shrink(net, data);
	}
	return rc;
}

sw_status sw_net_eval_rows(const struct sw_net *net, size_t *rows)
{
	size_t most;

	*rows = net->at.eval_batch;
	return net->ranks.stages > 1 ? bounds_of(net, net->at.eval_batch, rows, &most) : SW_OK;
}

/* --- between stages --- */

sw_status sw_net_move(struct sw_net *net, bool behind, const float *out, size_t out_n, float *in,
		      size_t in_n)
{
	const unsigned me = sw_comm_rank(net->ranks.comm), peer = behind ? me + 1 : me - 1;
	void *stream;
	sw_status rc;

	if (out_n == 0 && in_n == 0)
		return SW_OK; /* the peer does not call either */
	rc = net->ops->fork(net->q, &stream);
	if (rc == SW_OK)
		rc = sw_comm_exchange(net->ranks.comm, stream, peer, out, out_n, in, in_n);
	return rc == SW_OK ? net->ops->join(net->q) : rc;
}

size_t sw_net_value_floats(const struct sw_net_pass *p, size_t value)
{
	return p->rows * sw_shape_count(sw_model_shape(p->net->own, value));
}

sw_status sw_net_norm_sum(struct sw_net *net, double *norm2)
{
	sw_status rc = SW_OK;

	/* ranks that share a batch have the same gradients: once is enough */
	if (sw_net_data_rank(net) > 0)
		rc = net->ops->zero(net->q, norm2, sizeof *norm2);
	return rc == SW_OK ? sw_net_sums_now(net, norm2, 1, sw_comm_world(net->ranks.comm)) : rc;
}
