/* trainer/net/init.c — the weights that a seed begins with. */
#include "base/beat.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "trainer/net/internal.h"
#include <math.h>
#include <stdlib.h>

/* n numbers of U(-bound, bound) */
static void uniform(float *out, size_t n, float bound, uint64_t seed, uint32_t layer,
		    uint64_t tensor)
{
	for (size_t i = 0; i < n; i += 4) {
		/* By the layer, the tensor and the element's number alone: a stage begins with the
		 * weights that the whole net has there. */
		const struct sw_philox_words r =
			sw_philox_block(seed, SW_PHILOX_INIT, layer, tensor, i / 4);

		for (size_t k = 0; k < 4 && i + k < n; k++)
			out[i + k] = (2.0f * sw_philox_unit(r.v[k]) - 1.0f) * bound;
	}
}

/* n numbers of N(0, 1): Box and Muller 1958, two of two words */
static void normal(float *out, size_t n, uint64_t seed, uint32_t layer, uint64_t tensor)
{
	const double turn = 2.0 * acos(-1.0);

	for (size_t i = 0; i < n; i += 4) {
		const struct sw_philox_words r =
			sw_philox_block(seed, SW_PHILOX_INIT, layer, tensor, i / 4);

		for (size_t k = 0; k < 4 && i + k < n; k++) {
			const double u = ((double)r.v[k & 2] + 0.5) * 0x1p-32;
			const double angle = turn * (double)r.v[(k & 2) + 1] * 0x1p-32;

			out[i + k] =
				(float)(sqrt(-2.0 * log(u)) * (k & 1 ? sin(angle) : cos(angle)));
		}
	}
}

static void fill(float *out, size_t n, float v)
{
	for (size_t i = 0; i < n; i++)
		out[i] = v;
}

static void op_init(const struct sw_net *net, const struct sw_op *op, float *w)
{
	const float bound = op->fan_in ? 1.0f / sqrtf((float)op->fan_in) : 0;
	const double fan_out = op->fan_in ? (double)op->w_n / (double)op->fan_in : 0;

	switch (op->init) {
	case SW_INIT_NONE:
		return;
	case SW_INIT_FAN_IN:
		uniform(w + op->w, op->w_n, bound, net->seed, op->layer, op->tensor);
		uniform(w + op->b, op->b_n, bound, net->seed, op->layer, op->tensor + 1);
		return;
	case SW_INIT_XAVIER:
		uniform(w + op->w, op->w_n, (float)sqrt(6.0 / ((double)op->fan_in + fan_out)),
			net->seed, op->layer, op->tensor);
		return;
	case SW_INIT_NO_BIAS:
		uniform(w + op->w, op->w_n, bound, net->seed, op->layer, op->tensor);
		return;
	case SW_INIT_NORM:
		fill(w + op->w, op->w_n, 1.0f);
		return;
	case SW_INIT_NORMAL:
		normal(w + op->w, op->w_n, net->seed, op->layer, op->tensor);
		return;
	}
}

static sw_status running_init(struct sw_net *net)
{
	const struct sw_model *m = net->own;
	float *r = sw_calloc(m->running_n, sizeof *r);
	sw_status rc;

	if (!r)
		return SW_NOMEM;
	/* Mean 0 and variance 1, as PyTorch begins. */
	for (size_t i = 0; i < m->ops_n; i++)
		if (m->op[i].kind == SW_OP_BATCHNORM)
			fill(r + m->op[i].var, m->op[i].to.c, 1.0f);
	rc = sw_net_own_upload(net, SW_NET_RUNNING, r);
	free(r);
	return rc;
}

sw_status sw_net_weights_init(struct sw_net *net)
{
	const struct sw_model *m = net->own;
	float *w = sw_calloc(m->weights_n, sizeof *w);
	sw_status rc;

	if (!w)
		return SW_NOMEM;
	for (size_t i = 0; i < m->ops_n; i++) {
		sw_beat();
		op_init(net, &m->op[i], w);
	}
	rc = sw_net_own_upload(net, 0, w);
	free(w);
	return rc == SW_OK && m->running_n ? running_init(net) : rc;
}
