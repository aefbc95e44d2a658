/* trainer/net/eval.c — validation rows, through the net and into the sums. */
#include "trainer/net/internal.h"

/* The pass's value 0: the rows [first, first + p->rows) of part as they lie there, or gathered, or
 * received from the stage before. */
static sw_status eval_input(struct sw_net_pass *p, const struct sw_data *data,
			    const struct sw_data_part *part, size_t first)
{
	struct sw_net *net = p->net;
	const struct sw_images im = sw_net_images(net, data, part, false);
	const struct sw_plan *plan = &net->own->eval;
	const size_t rows = p->rows;
	int32_t index[256];
	sw_status rc = SW_OK;

	if (part->length)
		p->length = part->length + first;
	if (!sw_net_is_first(net))
		return sw_net_move(net, false, NULL, 0, sw_net_buffer(p, plan->value[0]),
				   sw_net_value_floats(p, 0));
	if (data->input.kind == SW_SHAPE_TOKENS) {
		p->x = part->token + first * data->input.t;
		return SW_OK;
	}
	if (!net->own->task.gathered) {
		p->x = part->x + first * data->features;
		return SW_OK;
	}
	/* all rows, a few at a time: the numbers are made here */
	for (size_t at = 0; rc == SW_OK && at < rows; at += 256) {
		const size_t n = rows - at < 256 ? rows - at : 256;
		int32_t *to = (int32_t *)(void *)sw_net_buffer(p, plan->index) + at;

		for (size_t i = 0; i < n; i++)
			index[i] = (int32_t)(first + at + i);
		rc = net->ops->upload(net->q, to, index, n * sizeof *index);
	}
	if (rc != SW_OK)
		return rc;
	return net->ops->gather_image(net->q, im.u8 ? (const void *)part->u8 : part->x,
				      (const int32_t *)(const void *)sw_net_buffer(p, plan->index),
				      sw_net_buffer(p, plan->value[0]), rows, &im);
}

const float *sw_net_output(const struct sw_net *net)
{
	const uint16_t buffer = net->own->eval.value[net->own->ops_n];

	return sw_net_part(net, net->at.eval[buffer]);
}

/* The rows [first, first + p->rows) of part, with what the net made of them, into the sums. */
static sw_status eval_sums(const struct sw_net_pass *p, const struct sw_data_part *part,
			   size_t first)
{
	struct sw_net *net = p->net;
	const struct sw_model *m = net->own;
	const size_t labels = m->task.labels, rows = p->rows * labels;
	const float *z = sw_net_value(p, m->ops_n);
	sw_status rc;

	if (!net->trainer->classes)
		return net->ops->mse(net->q, z, part->target + first, NULL, NULL, sw_net_sums(net),
				     0.0f, rows, m->task.outputs);
	const int32_t *label = part->label + first * labels;

	rc = net->ops->cross_entropy(net->q, z, label, NULL, NULL, sw_net_sums(net), 0.0f, NULL,
				     rows, m->task.outputs, 0.0f);
	if (rc != SW_OK || net->no_counts)
		return rc;
	rc = net->ops->class_counts(net->q, z, label,
				    (int64_t *)(void *)(net->arena + net->at.classes), rows,
				    m->task.outputs);
	/* A backend without counts costs the trial its F1, and nothing else. */
	net->no_counts = rc == SW_UNSUPPORTED;
	return net->no_counts ? SW_OK : rc;
}

void sw_net_eval_share(const struct sw_net *net, const struct sw_data *data, size_t *first,
		       size_t *end)
{
	const size_t rows = data->val.rows, share = sw_layout_share(rows, net->trainer->ranks);
	const size_t from = sw_net_data_rank(net) * share;

	*first = from < rows ? from : rows;
	*end = rows - *first < share ? rows : *first + share;
}

sw_status sw_net_eval(struct sw_net *net, const struct sw_data *data, size_t first, size_t rows)
{
	const size_t next = first + rows, last = net->own->ops_n;
	struct sw_net_pass p = {.net = net, .rows = rows};
	struct sw_net_rows from;
	size_t mine, end;
	sw_status rc = sw_net_feed_take(net, data, false, first, rows, &from);

	sw_net_eval_share(net, data, &mine, &end);
	first = from.number ? 0 : first; /* the feed holds the batch's rows alone */
	if (rc == SW_OK)
		rc = eval_input(&p, data, &from.part, first);
	if (rc == SW_OK)
		rc = sw_net_weights_ready(net);
	if (rc == SW_OK)
		rc = sw_net_forward(&p);
	if (rc == SW_OK)
		rc = sw_net_is_last(net) ? eval_sums(&p, &from.part, first)
					 : sw_net_move(net, true, sw_net_value(&p, last),
						       sw_net_value_floats(&p, last), NULL, 0);
	/* Once the queue has work: the host gathers the next rows meanwhile. */
	if (rc == SW_OK && next < end)
		rc = sw_net_feed_fetch(net, data, false, next,
				       end - next < rows ? end - next : rows);
	return rc;
}
