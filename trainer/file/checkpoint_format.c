#include "trainer/file/checkpoint_format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Tensors are written as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a checkpoint's floats need swapping");
_Static_assert(sizeof(float) == 4, "a checkpoint's floats have 4 bytes");

static const unsigned char magic[8] = {'S', 'W', 'C', 'K', 'P', 'T', '\r', '\n'};

/* The file's numbers for optimizers: never renumbered. */
static const uint32_t optimizer_codes[] = {[SW_SGD] = 0, [SW_ADAM] = 2, [SW_ADAMW] = 1};

static const char *optimizer_of(uint32_t code)
{
	for (size_t i = 0; i < sizeof optimizer_codes / sizeof *optimizer_codes; i++)
		if (optimizer_codes[i] == code)
			return sw_trainer_optimizer_name((enum sw_optimizer)i);
	return "another optimizer";
}

static void put_number(unsigned char *at, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get(const unsigned char *at, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

static const char *code_name(uint32_t code)
{
	for (enum sw_op_kind k = 0; k < SW_OP_KINDS_N; k++)
		if (sw_op_id(k) == code)
			return sw_op_name(k);
	return "unknown";
}

uint64_t sw_checkpoint_table_at(const struct sw_checkpoint_head *h)
{
	return CHECKPOINT_FIXED + (uint64_t)h->layers_n * CHECKPOINT_LAYER;
}

uint64_t sw_checkpoint_label_at(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_table_at(h) + (uint64_t)h->tensors_n * CHECKPOINT_TENSOR;
}

uint64_t sw_checkpoint_weights_at(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_label_at(h) + h->label_n;
}

bool sw_checkpoint_has_best(const struct sw_checkpoint_head *h)
{
	return h->best_epoch != 0 && h->best_epoch != h->id.epoch;
}

static uint64_t running_at(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_weights_at(h) + (1 + (uint64_t)h->states_n) * h->parameters * 4;
}

uint64_t sw_checkpoint_best_at(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_has_best(h) ? running_at(h) + h->running * 4
					 : sw_checkpoint_weights_at(h);
}

uint64_t sw_checkpoint_best_running_at(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_has_best(h) ? sw_checkpoint_best_at(h) + h->parameters * 4
					 : running_at(h);
}

/* The bytes that the header speaks of. */
static uint64_t whole(const struct sw_checkpoint_head *h)
{
	return sw_checkpoint_best_running_at(h) + h->running * 4 + CHECKPOINT_SUM;
}

/* Floats of a net's running statistics without gaps. */
static uint64_t floats_running(const struct sw_model *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->ops_n; i++)
		n += m->op[i].kind == SW_OP_BATCHNORM ? 2 * (uint64_t)m->op[i].to.c : 0;
	return n;
}

/* A number that differs between two operations of one kind and size: window, stride, padding,
 * heads. */
static uint32_t details(const struct sw_op *op)
{
	/* Compared, and never read back: it need not be taken apart again. */
	return (uint32_t)(op->kernel_h << 24 ^ op->kernel_w << 16 ^ op->stride << 8 ^ op->pad ^
			  op->heads << 12 ^ (op->causal ? (size_t)1 << 31 : 0));
}

static uint64_t width(const struct sw_op *op, const struct sw_shape *s)
{
	/* of products their own sizes, which make their tensors */
	return op->kind == SW_OP_LINEAR && s->kind == SW_SHAPE_TOKENS ? s->d : sw_shape_count(s);
}

/* A double by its bits, so that it comes back the same. */
static uint64_t of_double(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return bits;
}

static double to_double(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

size_t sw_checkpoint_encode(unsigned char out[CHECKPOINT_HEAD], const struct sw_net *net,
			    const struct sw_checkpoint_id *id)
{
	const struct sw_model *m = net->model;
	const struct sw_checkpoint_head h = {.version = SW_CHECKPOINT_VERSION,
					     .id = *id,
					     .best_epoch = net->best.epoch,
					     .layers_n = (uint32_t)m->ops_n,
					     .states_n = (uint32_t)net->at.states_n,
					     .parameters = m->parameters,
					     .running = floats_running(m),
					     .tensors_n = (uint32_t)sw_checkpoint_tensors_n(m),
					     .label_n = m->label ? (uint32_t)strlen(m->label) : 0};
	unsigned char *at = out + CHECKPOINT_FIXED;

	memset(out, 0, CHECKPOINT_HEAD);
	memcpy(out, magic, sizeof magic);
	put_number(out + 8, SW_CHECKPOINT_VERSION, 4);
	put_number(out + 12, m->ops_n, 4);
	put_number(out + 16, whole(&h), 8);
	put_number(out + 24, id->sweep, 8);
	put_number(out + 32, id->trial, 8);
	put_number(out + 40, id->epoch, 8);
	put_number(out + 48, net->step, 8);
	put_number(out + 56, net->seed, 8);
	put_number(out + 64, optimizer_codes[net->trainer->optimizer], 4);
	put_number(out + 68, net->at.states_n, 4);
	put_number(out + 72, m->parameters, 8);
	put_number(out + 80, h.running, 8);
	put_number(out + 88, of_double(net->best_loss), 8);
	put_number(out + 96, net->stale, 8);
	put_number(out + 104, h.tensors_n, 4);
	put_number(out + 108, h.label_n, 4);
	if (net->best.epoch != 0) {
		put_number(out + 112, net->best.epoch, 8);
		put_number(out + 120, net->best.step, 8);
		put_number(out + 128, of_double(net->best.value), 8);
	}
	for (size_t i = 0; i < m->ops_n; i++, at += CHECKPOINT_LAYER) {
		put_number(at, sw_op_id(m->op[i].kind), 4);
		put_number(at + 4, details(&m->op[i]), 4);
		put_number(at + 8, width(&m->op[i], &m->op[i].from), 8);
		put_number(at + 16, width(&m->op[i], &m->op[i].to), 8);
	}
	return (size_t)(at - out);
}

sw_status sw_checkpoint_decode(struct sw_checkpoint_head *out,
			       const unsigned char in[CHECKPOINT_FIXED], uint64_t size,
			       struct sw_err *err)
{
	struct sw_checkpoint_head h = {
		.version = (uint32_t)get(in + 8, 4),
		.layers_n = (uint32_t)get(in + 12, 4),
		.bytes = get(in + 16, 8),
		.id = {.sweep = get(in + 24, 8),
		       .trial = get(in + 32, 8),
		       .epoch = get(in + 40, 8)},
		.updates = get(in + 48, 8),
		.seed = get(in + 56, 8),
		.optimizer = (uint32_t)get(in + 64, 4),
		.states_n = (uint32_t)get(in + 68, 4),
		.parameters = get(in + 72, 8),
		.running = get(in + 80, 8),
		.best_loss = to_double(get(in + 88, 8)),
		.stale = get(in + 96, 8),
		.tensors_n = (uint32_t)get(in + 104, 4),
		.label_n = (uint32_t)get(in + 108, 4),
		.best_epoch = get(in + 112, 8),
		.best_updates = get(in + 120, 8),
		.best_value = to_double(get(in + 128, 8)),
	};

	*out = h;
	if (memcmp(in, magic, sizeof magic) != 0)
		return sw_err_set(err, SW_INVALID,
				  "is not a checkpoint, or is damaged in its first bytes");
	if (h.version != SW_CHECKPOINT_VERSION)
		return sw_err_set(err, SW_INVALID,
				  "is of version %" PRIu32 ", this program reads %d", h.version,
				  SW_CHECKPOINT_VERSION);
	if (h.bytes > size)
		return sw_err_set(err, SW_INVALID, "is cut short: %" PRIu64 " of %" PRIu64 " bytes",
				  size, h.bytes);
	if (h.bytes < size || h.layers_n == 0 || h.layers_n > SW_MODEL_MAX_OPS || h.states_n > 2 ||
	    h.parameters > size / 4 || h.running > size / 4 ||
	    h.tensors_n > CHECKPOINT_TENSORS * h.layers_n || h.best_epoch > h.id.epoch ||
	    h.label_n > size || whole(&h) != size)
		return sw_err_set(err, SW_INVALID, "is damaged: its lengths are wrong");
	return SW_OK;
}

void sw_checkpoint_tensor_encode(unsigned char out[CHECKPOINT_TENSOR],
				 const struct sw_checkpoint_tensor *t)
{
	memcpy(out, t->name, sizeof t->name);
	put_number(out + 64, t->rank, 4);
	put_number(out + 68, t->running, 4);
	for (size_t i = 0; i < 4; i++)
		put_number(out + 72 + 8 * i, t->dim[i], 8);
}

sw_status sw_checkpoint_tensor_decode(struct sw_checkpoint_tensor *out, uint64_t *n,
				      const unsigned char in[CHECKPOINT_TENSOR], struct sw_err *err)
{
	bool fine = in[0] != 0 && in[63] == 0;

	memcpy(out->name, in, sizeof out->name);
	out->rank = (uint32_t)get(in + 64, 4);
	out->running = (uint32_t)get(in + 68, 4);
	/* Names go into JSON and messages: printable ASCII alone, without what would need
	 * escapes. */
	for (size_t i = 0; fine && in[i] != 0; i++)
		fine = in[i] > 0x20 && in[i] < 0x7f && in[i] != '"' && in[i] != '\\';
	fine = fine && out->rank >= 1 && out->rank <= 4 && out->running <= 1;
	*n = 1;
	for (size_t i = 0; i < 4; i++) {
		out->dim[i] = get(in + 72 + 8 * i, 8);
		if (fine && i < out->rank)
			fine = !__builtin_mul_overflow(*n, out->dim[i], n);
	}
	if (!fine)
		return sw_err_set(err, SW_INVALID, "has a table of tensors that makes no sense");
	return SW_OK;
}

/* "linear 64 x 128", "relu 128" */
static const char *layer_show(char out[80], uint32_t code, uint64_t in, uint64_t to)
{
	if (code == sw_op_id(SW_OP_LINEAR))
		snprintf(out, 80, "linear %" PRIu64 " x %" PRIu64, in, to);
	else
		snprintf(out, 80, "%s %" PRIu64, code_name(code), to);
	return out;
}

/* Compares the layers of the file with the model's, one after the other. */
static sw_status layers_fit(const struct sw_checkpoint_head *h, const unsigned char *at,
			    const struct sw_model *m, struct sw_err *err)
{
	char theirs[80], ours[80];

	for (size_t i = 0; i < h->layers_n && i < m->ops_n; i++, at += CHECKPOINT_LAYER) {
		const struct sw_op *op = &m->op[i];
		const uint32_t code = (uint32_t)get(at, 4);
		const uint64_t in = get(at + 8, 8), out = get(at + 16, 8);
		const uint64_t our_in = width(op, &op->from), our_out = width(op, &op->to);
		const bool same = code == sw_op_id(op->kind) && in == our_in && out == our_out;

		if (same && (uint32_t)get(at + 4, 4) == details(op))
			continue;
		if (same)
			return sw_err_set(
				err, SW_INVALID,
				"has other shapes: %s at /%zu has another window, stride, "
				"padding or heads",
				code_name(code), i);
		return sw_err_set(err, SW_INVALID,
				  "has other shapes: the layer at /%zu is %s, the trial's is %s", i,
				  layer_show(theirs, code, in, out),
				  layer_show(ours, sw_op_id(op->kind), our_in, our_out));
	}
	if (h->layers_n != m->ops_n)
		return sw_err_set(err, SW_INVALID,
				  "has other shapes: %" PRIu32 " layers, the trial's model has %zu",
				  h->layers_n, m->ops_n);
	return SW_OK;
}

sw_status sw_checkpoint_fits(const struct sw_checkpoint_head *h, const unsigned char *layers,
			     const struct sw_net *net, const struct sw_checkpoint_id *id,
			     struct sw_err *err)
{
	const enum sw_optimizer ours = net->trainer->optimizer;
	sw_status rc;

	if (h->id.sweep != id->sweep || h->id.trial != id->trial || h->id.epoch != id->epoch)
		return sw_err_set(err, SW_INVALID,
				  "is of trial %" PRIu64 "/%" PRIu64 " at step %" PRIu64
				  ", not of %" PRIu64 "/%" PRIu64 " at step %" PRIu64,
				  h->id.sweep, h->id.trial, h->id.epoch, id->sweep, id->trial,
				  id->epoch);
	rc = layers_fit(h, layers, net->model, err);
	if (rc != SW_OK)
		return rc;
	if (h->optimizer != optimizer_codes[ours])
		return sw_err_set(err, SW_INVALID,
				  "holds the state of %s, the trial trains with %s",
				  optimizer_of(h->optimizer), sw_trainer_optimizer_name(ours));
	/* sgd has a velocity with momentum only; the others always have their two moments */
	if (h->parameters != net->model->parameters || h->running != floats_running(net->model) ||
	    (ours != SW_SGD ? h->states_n != 2 : h->states_n > 1))
		return sw_err_set(err, SW_INVALID,
				  "says %" PRIu64 " parameters and %" PRIu32
				  " tensors of state each, which its layers do not have",
				  h->parameters, h->states_n);
	return SW_OK;
}
