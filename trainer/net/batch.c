/* trainer/net/batch.c — batches: gathered, through the net, and what becomes of their losses. */
#include "trainer/net/internal.h"

static int32_t *count_of(const struct sw_net *net)
{
	return (int32_t *)(void *)(net->arena + net->at.count);
}

struct sw_images sw_net_images(const struct sw_net *net, const struct sw_data *data,
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
		return SW_OK; /* all tokens of each row count */
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
	struct sw_images im = sw_net_images(net, data, part, true);
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

/* Losses read single labels and targets from the data set; several labels a row are gathered, of
 * all the step's rows, and those that count are counted. */
sw_status sw_net_labels(struct sw_net *net, const struct sw_data *data,
			const struct sw_net_rows *from, size_t rows)
{
	void *y = net->arena + net->at.y;
	sw_status rc;

	if (data->labels == 1)
		return SW_OK; /* the loss reads them where they lie */
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
	/* Of the whole step: what parts and ranks add up is then the mean, without a division at
	 * the end. */
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
