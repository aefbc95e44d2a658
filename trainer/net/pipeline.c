/* trainer/net/pipeline.c — the parts of a batch on their way through the stages: one forward, one
 * backward in turn (1F1B, see stages.h).
 *
 *   stage 0  F0 F1 F2 .  .  B0 F3 B1 F4 B2 ...      of three stages; F forward, B backward
 *   stage 1     F0 F1 .  B0 F2 B1 F3 B2 ...         stage s begins with 2 - s forward passes
 *   stage 2        F0 B0 F1 B1 F2 B2 ...
 *
 * Without a pipeline a net is first and last stage at once. All stages have the same parts, and add
 * their gradients up in the order of the parts: the bits of one net. If two neighbours have
 * something for each other, they exchange it in one call, so that neither waits for the other to
 * receive. */
#include "base/clock.h"
#include "trainer/net/internal.h"
#include <math.h>

enum neighbour { BEFORE, BEHIND };

/* Exchanges with a neighbour: activations go to the stage behind, gradients to the one before. Sent
 * is that of part out, received that of part in; `none` stands for no part. The wait is counted. */
static sw_status move_parts(const struct sw_net_batch *b, enum neighbour with, size_t out,
			    size_t in, size_t none)
{
	struct sw_net *net = b->net;
	const struct sw_model *m = net->own;
	const bool behind = with == BEHIND;
	const size_t value = behind ? m->ops_n : 0;
	const uint16_t goes = behind ? m->train.value[value] : m->input_grad;
	const uint16_t comes = behind ? m->loss_grad : m->train.value[value];
	const struct sw_net_pass from = sw_net_pass_of(b, out == none ? 0 : out);
	const struct sw_net_pass to = sw_net_pass_of(b, in == none ? 0 : in);

	if (behind ? sw_net_is_last(net) : sw_net_is_first(net))
		return SW_OK; /* its gradients are the loss's; its values are the rows */
	const int64_t began_us = sw_clock_mono_us();
	const sw_status rc = sw_net_move(net, behind, sw_net_buffer(&from, goes),
					 out == none ? 0 : sw_net_value_floats(&from, value),
					 sw_net_buffer(&to, comes),
					 in == none ? 0 : sw_net_value_floats(&to, value));

	net->ranks.waited_us += sw_clock_mono_us() - began_us;
	return rc;
}

static sw_status parts(const struct sw_net_batch *b)
{
	const size_t rows = b->mine->to - b->mine->from, micro = b->net->at.micro;
	/* also none; but one of no rows where batch norms have sums with other ranks */
	const size_t n = rows == 0 && sw_net_synced(b->net) ? 1 : (rows + micro - 1) / micro;
	const size_t behind = b->net->ranks.stages - 1 - b->net->ranks.stage;
	const size_t warm = behind < n ? behind : n;
	size_t f = 0, k = 0; /* parts that have gone forward, and backward */
	sw_status rc = SW_OK;

	/* Fill: one part for each stage behind goes forward before the first gradient can come
	 * back. */
	for (; rc == SW_OK && f < warm; f++) {
		rc = move_parts(b, BEFORE, n, f, n);
		if (rc == SW_OK)
			rc = sw_net_part_forward(b, f);
		if (rc == SW_OK)
			rc = move_parts(b, BEHIND, f, n, n);
	}
	if (rc == SW_OK && f < n)
		rc = move_parts(b, BEFORE, n, f, n);
	/* Then one of each, so that the parts under way fit the copies of the buffers. When f comes
	 * to n the pipeline drains. */
	for (; rc == SW_OK && k < n; k++, f++) {
		const bool forward = f < n;

		if (forward)
			rc = sw_net_part_forward(b, f);
		if (rc == SW_OK)
			rc = move_parts(b, BEHIND, forward ? f : n, k, n);
		if (rc == SW_OK)
			rc = sw_net_part_backward(b, k);
		if (rc == SW_OK)
			rc = move_parts(b, BEFORE, k, f + 1 < n ? f + 1 : n, n);
	}
	return rc;
}

sw_status sw_net_gradient_of(struct sw_net *net, const struct sw_data *data,
			     const struct sw_net_rows *from, size_t rows)
{
	const struct sw_net_share mine = sw_net_share_of(net, rows);
	const struct sw_net_batch b = {net, data, from, &mine, rows};
	/* a rank without rows makes a pass of none, for its part in the sums of batch norms */
	const bool passes = mine.from < mine.to || sw_net_synced(net);
	sw_status rc = SW_OK;

	net->ranks.shared = net->ranks.stages > 1;
	if (passes && sw_net_is_last(net))
		rc = sw_net_labels(net, data, from, rows);
	if (rc == SW_OK && passes)
		rc = sw_net_weights_ready(net);
	if (rc == SW_OK)
		rc = parts(&b);
	return rc == SW_OK && net->ranks.comm ? sw_net_grads_sum(net, &mine) : rc;
}

/* Of n parts that each take a stage its share of the work: all wait for the heaviest. */
static double counted_bubble(const struct sw_net *net)
{
	/* A stage is busy for `parts` turns, each of 1 / stages of the work on average, out of
	 * parts + stages - 1 turns that are as long as the heaviest stage's. */
	const struct sw_net_ranks *r = &net->ranks;
	const double parts = ceil((double)net->at.share / (double)net->at.micro);
	double most = 0;

	for (unsigned s = 0; s < r->stages; s++)
		most = r->share[s] > most ? r->share[s] : most;
	return 1 - parts / (r->stages * most * (parts + r->stages - 1));
}

sw_status sw_net_bubble(struct sw_net *net, int64_t us, double *out)
{
	double waited[2] = {(double)net->ranks.waited_us, (double)us};
	sw_status rc;

	*out = (double)NAN;
	net->ranks.waited_us = 0;
	if (net->ranks.stages == 1)
		return SW_OK; /* nobody waits for a stage */
	/* Both are summed over the ranks and then divided: one that took longer counts for more. */
	rc = sw_comm_sum(net->ranks.comm, SW_COMM_F64, waited, 2, sw_comm_world(net->ranks.comm));
	*out = sw_comm_on_devices(net->ranks.comm) ? counted_bubble(net)
	       : waited[1] > 0                     ? waited[0] / waited[1]
						   : 0;
	return rc;
}
