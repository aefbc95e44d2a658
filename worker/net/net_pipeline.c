/* worker/net/net_pipeline.c — the parts of a batch on their way through the stages: one forward, one
 * backward in turn (1F1B, see stages.h).
 *
 *   stage 0  F0 F1 F2 .  .  B0 F3 B1 F4 B2 ...      of three stages; F forward, B backward
 *   stage 1     F0 F1 .  B0 F2 B1 F3 B2 ...         stage s begins with 2 - s forward passes
 *   stage 2        F0 B0 F1 B1 F2 B2 ...
 *
 * Without a pipeline a net is first and last stage at once. All stages have the same parts, and add
 * their gradients up in the order of the parts: the bits of one net. Where two neighbours have something
 * for each other, they exchange it in one call, so that neither waits for the other to receive. */
#include "base/clock.h"
#include "base/memory.h"
#include "worker/net/net_internal.h"
#include <math.h>
#include <stdlib.h>

/* --- beginning --- */

static sw_status cut(struct sw_net *net, struct sw_err *err)
{
	struct sw_net_stages *st = &net->stages;
	const double all = sw_stages_work(net->model, 0, net->model->ops_n);
	size_t first[SW_STAGES_MAX + 1];
	sw_status rc = sw_stages_cut(net->model, net->trainer, first, err);

	if (rc != SW_OK)
		return rc;
	st->own = sw_malloc(sizeof *st->own);
	if (!st->own)
		return sw_err_set(err, SW_NOMEM, "no memory for a stage's model");
	for (unsigned s = 0; s < st->n; s++) {
		sw_stages_model(st->own, net->model, first[s], first[s + 1], &st->weights[s],
				&st->running[s]);
		st->share[s] = sw_stages_work(net->model, first[s], first[s + 1]) / all;
	}
	if (st->mine + 1 < st->n)
		sw_stages_model(st->own, net->model, first[st->mine], first[st->mine + 1],
				&st->weights[st->mine], &st->running[st->mine]);
	net->own = st->own;
	return SW_OK;
}

sw_status sw_net_stages_take(struct sw_net *net, struct sw_err *err)
{
	struct sw_net_stages *st = &net->stages;

	st->n = net->trainer->stages > 1 ? (unsigned)net->trainer->stages : 1;
	st->mine = net->comm ? sw_comm_rank(net->comm) % st->n : 0;
	st->weights[st->n] = net->model->weights_n;
	st->running[st->n] = net->model->running_n;
	return st->n > 1 ? cut(net, err) : SW_OK;
}

/* The least and the most of all ranks' numbers. */
static sw_status bounds_of(const struct sw_net *net, size_t mine, size_t *least, size_t *most)
{
	size_t all[SW_COMM_WORLD_MAX];
	const sw_status rc = sw_comm_all_gather(net->comm, &mine, all, sizeof mine);

	*least = *most = mine;
	for (unsigned r = 0; rc == SW_OK && r < sw_comm_world(net->comm); r++) {
		*least = all[r] < *least ? all[r] : *least;
		*most = all[r] > *most ? all[r] : *most;
	}
	return rc;
}

sw_status sw_net_stages_agree(struct sw_net *net, const struct sw_data *data)
{
	size_t least = 0, most = 1;
	sw_status rc = SW_OK;

	/* all halve from the same number; one that lacks memory still may come out below the others,
	 * for more parts have more buffers: so until none differs */
	while (rc == SW_OK && net->stages.n > 1 && least != most) {
		rc = bounds_of(net, net->at.micro, &least, &most);
		while (rc == SW_OK && net->at.micro > least)
			rc = sw_net_shrink(net, data);
	}
	return rc;
}

sw_status sw_net_eval_rows(const struct sw_net *net, size_t *rows)
{
	size_t most;

	*rows = net->at.eval_batch;
	return net->stages.n > 1 ? bounds_of(net, net->at.eval_batch, rows, &most) : SW_OK;
}

/* --- between stages --- */

/* out to a neighbour, in from it; of the queue's order. */
static sw_status move(struct sw_net *net, bool behind, const float *out, size_t out_n, float *in,
		      size_t in_n)
{
	const unsigned me = sw_comm_rank(net->comm), peer = behind ? me + 1 : me - 1;
	void *stream;
	sw_status rc;

	if (out_n == 0 && in_n == 0)
		return SW_OK;
	rc = net->ops->fork(net->q, &stream);
	if (rc == SW_OK)
		rc = sw_comm_exchange(net->comm, stream, peer, out, out_n, in, in_n);
	return rc == SW_OK ? net->ops->join(net->q) : rc;
}

/* The same in a step, whose waits are counted. */
static sw_status move_in_step(struct sw_net *net, bool behind, const float *out, size_t out_n,
			      float *in, size_t in_n)
{
	const int64_t began_us = sw_clock_mono_us();
	const sw_status rc = move(net, behind, out, out_n, in, in_n);

	net->stages.waited_us += sw_clock_mono_us() - began_us;
	return rc;
}

static size_t floats_of(const struct sw_net_pass *p, size_t value)
{
	return p->rows * sw_shape_count(sw_model_shape(p->net->own, value));
}

/* With the stage before: the gradient of part out's value 0 goes there, value 0 of part in comes. A
 * part that is `none` is none. */
static sw_status with_before(const struct sw_net_batch *b, size_t out, size_t in, size_t none)
{
	const struct sw_model *m = b->net->own;
	const struct sw_net_pass from = sw_net_pass_of(b, out == none ? 0 : out);
	const struct sw_net_pass to = sw_net_pass_of(b, in == none ? 0 : in);

	if (sw_net_is_first(b->net))
		return SW_OK;
	return move_in_step(b->net, false, sw_net_buffer(&from, m->input_grad),
			    out == none ? 0 : floats_of(&from, 0),
			    sw_net_buffer(&to, m->train.value[0]),
			    in == none ? 0 : floats_of(&to, 0));
}

/* With the stage behind: the last value of part out goes there, the gradient of part in's comes. */
static sw_status with_behind(const struct sw_net_batch *b, size_t out, size_t in, size_t none)
{
	const struct sw_model *m = b->net->own;
	const struct sw_net_pass from = sw_net_pass_of(b, out == none ? 0 : out);
	const struct sw_net_pass to = sw_net_pass_of(b, in == none ? 0 : in);

	if (sw_net_is_last(b->net))
		return SW_OK;
	return move_in_step(b->net, true, sw_net_buffer(&from, m->train.value[m->ops_n]),
			    out == none ? 0 : floats_of(&from, m->ops_n),
			    sw_net_buffer(&to, m->loss_grad),
			    in == none ? 0 : floats_of(&to, m->ops_n));
}

sw_status sw_net_parts(const struct sw_net_batch *b)
{
	const size_t rows = b->mine->to - b->mine->from, micro = b->net->at.micro;
	/* also none; but one of no rows where batch norms have sums with other ranks */
	const size_t n = rows == 0 && sw_net_synced(b->net) ? 1 : (rows + micro - 1) / micro;
	const size_t behind = b->net->stages.n - 1 - b->net->stages.mine;
	const size_t warm = behind < n ? behind : n;
	size_t f = 0, k = 0; /* parts that have gone forward, and backward */
	sw_status rc = SW_OK;

	for (; rc == SW_OK && f < warm; f++) {
		rc = with_before(b, n, f, n);
		if (rc == SW_OK)
			rc = sw_net_part_forward(b, f);
		if (rc == SW_OK)
			rc = with_behind(b, f, n, n);
	}
	if (rc == SW_OK && f < n)
		rc = with_before(b, n, f, n);
	for (; rc == SW_OK && k < n; k++, f++) {
		const bool forward = f < n;

		if (forward)
			rc = sw_net_part_forward(b, f);
		if (rc == SW_OK)
			rc = with_behind(b, forward ? f : n, k, n);
		if (rc == SW_OK)
			rc = sw_net_part_backward(b, k);
		if (rc == SW_OK)
			rc = with_before(b, k, f + 1 < n ? f + 1 : n, n);
	}
	return rc;
}

sw_status sw_net_value_receive(const struct sw_net_pass *p)
{
	const struct sw_model *m = p->net->own;

	return move(p->net, false, NULL, 0, sw_net_buffer(p, m->eval.value[0]), floats_of(p, 0));
}

sw_status sw_net_value_send(const struct sw_net_pass *p)
{
	const struct sw_model *m = p->net->own;

	return move(p->net, true, sw_net_value(p, m->ops_n), floats_of(p, m->ops_n), NULL, 0);
}

/* --- sums over stages --- */

sw_status sw_net_norm_sum(struct sw_net *net, double *norm2)
{
	sw_status rc = SW_OK;

	/* ranks that share a batch have the same gradients: once is enough */
	if (sw_net_data_rank(net) > 0)
		rc = net->ops->zero(net->q, norm2, sizeof *norm2);
	return rc == SW_OK ? sw_net_sums_now(net, norm2, 1, sw_comm_world(net->comm)) : rc;
}

/* Of n parts that each take a stage its share of the work: all wait for the heaviest. */
static double counted_bubble(const struct sw_net *net)
{
	const struct sw_net_stages *st = &net->stages;
	const double parts = ceil((double)net->at.share / (double)net->at.micro);
	double most = 0;

	for (unsigned s = 0; s < st->n; s++)
		most = st->share[s] > most ? st->share[s] : most;
	return 1 - parts / (st->n * most * (parts + st->n - 1));
}

sw_status sw_net_bubble(struct sw_net *net, int64_t us, double *out)
{
	double waited[2] = {(double)net->stages.waited_us, (double)us};
	sw_status rc;

	*out = (double)NAN;
	net->stages.waited_us = 0;
	if (net->stages.n == 1)
		return SW_OK;
	rc = sw_comm_sum(net->comm, SW_COMM_F64, waited, 2, sw_comm_world(net->comm));
	*out = sw_comm_on_devices(net->comm) ? counted_bubble(net)
	       : waited[1] > 0               ? waited[0] / waited[1]
					     : 0;
	return rc;
}
