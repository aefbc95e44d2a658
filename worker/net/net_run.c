/* worker/net/net_run.c — batches: gathered, through the net, and what becomes of their losses. */
#include "worker/net/net_internal.h"

static int32_t *count_of(const struct sw_net *net)
{
	return (int32_t *)(void *)(net->arena + net->at.count);
}

static struct sw_images images(const struct sw_net *net, const struct sw_data *data,
			       const struct sw_data_part *part, bool train)
{
	return (struct sw_images){.C = data->input.c,
				  .H = data->input.h,
				  .W = data->input.w,
				  .u8 = part->u8 != NULL,
				  .pad = train ? data->pad : 0,
				  .flip = train ? data->flip : 0,
				  .seed = net->seed,
				  .step = train ? sw_net_step(net) : NULL,
				  .scale = data->scale,
				  .shift = data->shift};
}

/* How many tokens of each of the pass's rows count, where the data say so. */
static sw_status gather_lengths(const struct sw_net_pass *p, const struct sw_net_rows *from)
{
	float *to = sw_net_buffer(p, p->net->own->train.length);

	if (!from->part.length || !to)
		return SW_OK;
	return p->net->ops->gather_i32(p->net->q, from->part.length, from->index + p->first,
				       (int32_t *)(void *)to, p->rows, 1);
}

/* The pass's rows of training data: their input into its buffer. */
static sw_status gather_inputs(const struct sw_net_pass *p, const struct sw_data *data,
			       const struct sw_net_rows *from)
{
	const struct sw_net *net = p->net;
	const struct sw_data_part *part = &from->part;
	const int32_t *index = from->index + p->first;
	struct sw_images im = images(net, data, part, true);
	float *x = sw_net_buffer(p, net->own->train.value[0]);

	im.number = from->number ? from->number + p->first : NULL;
	if (data->input.kind == SW_SHAPE_IMAGE)
		return net->ops->gather_image(net->q, im.u8 ? (const void *)part->u8 : part->x,
					      index, x, p->rows, &im);
	if (data->input.kind != SW_SHAPE_TOKENS)
		return net->ops->gather(net->q, part->x, index, x, p->rows, data->features);
	return net->ops->gather_i32(net->q, part->token, index, (int32_t *)(void *)x, p->rows,
				    data->input.t);
}

/* Where a row has several labels: those of all the step's rows, and how many of them are one. Losses
 * read single labels and targets where they lie. */
static sw_status gather_labels(struct sw_net *net, const struct sw_data *data,
			       const struct sw_net_rows *from, size_t rows)
{
	void *y = net->arena + net->at.y;
	sw_status rc;

	if (data->labels == 1)
		return SW_OK;
	rc = net->ops->gather_i32(net->q, from->part.label, from->index, y, rows, data->labels);
	if (rc != SW_OK)
		return rc;
	return net->ops->labels_count(net->q, y, count_of(net), rows * data->labels);
}

/* The loss of a part, and the gradient of the whole step's mean. first, all: rows. */
static sw_status loss(const struct sw_net_pass *p, const struct sw_net_rows *from, size_t first,
		      size_t all)
{
	const struct sw_net *net = p->net;
	const struct sw_model *m = net->own;
	const size_t width = m->task.outputs, labels = m->task.labels, rows = p->rows * labels;
	const float *z = sw_net_value(p, m->ops_n);
	float *g = sw_net_buffer(p, m->loss_grad);
	const float smooth = (float)net->trainer->label_smoothing;
	const int32_t *gathered = (const int32_t *)(void *)(net->arena + net->at.y);
	const int32_t *index = from->index + first;
	const float scale = 1.0f / (float)all;

	if (!net->trainer->classes)
		return net->ops->mse(net->q, z, from->part.target, index, g, sw_net_sums(net),
				     scale, rows, width);
	if (labels == 1)
		return net->ops->cross_entropy(net->q, z, from->part.label, index, g,
					       sw_net_sums(net), scale, NULL, rows, width, smooth);
	return net->ops->cross_entropy(net->q, z, gathered + first * labels, NULL, g,
				       sw_net_sums(net), 1.0f, count_of(net), rows, width, smooth);
}

/* Parts after the first make their gradients apart, and then add them: the sum has the same bits
 * wherever its parts were made. */
struct sw_net_pass sw_net_pass_of(const struct sw_net_batch *b, size_t k)
{
	struct sw_net *net = b->net;
	const size_t micro = net->at.micro, at = b->mine->from + k * micro;
	const size_t left = b->mine->to - at;
	struct sw_net_pass p = {.net = net,
				.train = true,
				.rows = left < micro ? left : micro,
				.first = at,
				.all = b->rows,
				.grads = k == 0 ? sw_net_floats(net, net->at.grads)
						: sw_net_part(net, net->at.part),
				.parts = left <= micro ? b->mine->parts : 0,
				.copy = k % net->at.copies};

	if (b->from->part.length)
		p.length = (const int32_t *)(const void *)sw_net_buffer(&p, net->own->train.length);
	return p;
}

sw_status sw_net_part_forward(const struct sw_net_batch *b, size_t k)
{
	const struct sw_net_pass p = sw_net_pass_of(b, k);
	sw_status rc = gather_lengths(&p, b->from);

	if (rc == SW_OK && sw_net_is_first(b->net))
		rc = gather_inputs(&p, b->data, b->from);
	return rc == SW_OK ? sw_net_forward(&p) : rc;
}

sw_status sw_net_part_backward(const struct sw_net_batch *b, size_t k)
{
	const struct sw_net_pass p = sw_net_pass_of(b, k);
	const sw_status rc = sw_net_is_last(b->net) ? loss(&p, b->from, p.first, b->rows) : SW_OK;

	return rc == SW_OK ? sw_net_backward(&p) : rc;
}

sw_status sw_net_gradient_of(struct sw_net *net, const struct sw_data *data,
			     const struct sw_net_rows *from, size_t rows)
{
	const struct sw_net_share mine = sw_net_share_of(net, rows);
	const struct sw_net_batch b = {net, data, from, &mine, rows};
	/* a rank without rows makes a pass of none, for its part in the sums of batch norms */
	const bool passes = mine.from < mine.to || sw_net_synced(net);
	sw_status rc = SW_OK;

	net->shared = net->stages.n > 1;
	if (passes && sw_net_is_last(net))
		rc = gather_labels(net, data, from, rows);
	if (rc == SW_OK && passes)
		rc = sw_net_weights_ready(net);
	if (rc == SW_OK)
		rc = sw_net_parts(&b);
	return rc == SW_OK && net->comm ? sw_net_grads_sum(net, &mine) : rc;
}

/* --- evaluation --- */

/* Where the rows [first, first + p->rows) of part begin: there, or gathered from it. */
static sw_status eval_input(struct sw_net_pass *p, const struct sw_data *data,
			    const struct sw_data_part *part, size_t first)
{
	struct sw_net *net = p->net;
	const struct sw_images im = images(net, data, part, false);
	const struct sw_plan *plan = &net->own->eval;
	const size_t rows = p->rows;
	int32_t index[256];
	sw_status rc = SW_OK;

	if (part->length)
		p->length = part->length + first;
	if (!sw_net_is_first(net))
		return sw_net_value_receive(p);
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
	const size_t next = first + rows;
	struct sw_net_pass p = {.net = net, .rows = rows};
	struct sw_net_rows from;
	size_t mine, end;
	sw_status rc = sw_net_feed_take(net, data, false, first, rows, &from);

	sw_net_eval_share(net, data, &mine, &end);
	first = from.number ? 0 : first; /* those that are staged are the batch's alone */
	if (rc == SW_OK)
		rc = eval_input(&p, data, &from.part, first);
	if (rc == SW_OK)
		rc = sw_net_weights_ready(net);
	if (rc == SW_OK)
		rc = sw_net_forward(&p);
	if (rc == SW_OK)
		rc = sw_net_is_last(net) ? eval_sums(&p, &from.part, first) : sw_net_value_send(&p);
	if (rc == SW_OK && next < end)
		rc = sw_net_feed_fetch(net, data, false, next,
				       end - next < rows ? end - next : rows);
	return rc;
}
