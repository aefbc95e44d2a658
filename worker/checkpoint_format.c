#include "worker/checkpoint_format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Tensors are written as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a checkpoint's floats need swapping");
_Static_assert(sizeof(float) == 4, "a checkpoint's floats have 4 bytes");

static const unsigned char magic[8] = {'S', 'W', 'C', 'K', 'P', 'T', '\r', '\n'};

/* The file's numbers for layers: never renumbered. */
static const struct {
	enum sw_layer_kind kind;
	uint32_t code;
	const char *name;
} kinds[] = {
	{SW_LAYER_LINEAR, 1, "linear"},
	{SW_LAYER_RELU, 2, "relu"},
	{SW_LAYER_TANH, 3, "tanh"},
	{SW_LAYER_DROPOUT, 4, "dropout"},
};
#define KINDS_N (sizeof kinds / sizeof *kinds)

static void put(unsigned char *at, uint64_t v, size_t bytes)
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

static uint32_t kind_code(enum sw_layer_kind kind)
{
	for (size_t i = 0; i < KINDS_N; i++)
		if (kinds[i].kind == kind)
			return kinds[i].code;
	return 0; /* of no layer: such a file is read by nobody */
}

static const char *code_name(uint32_t code)
{
	for (size_t i = 0; i < KINDS_N; i++)
		if (kinds[i].code == code)
			return kinds[i].name;
	return "unknown";
}

static uint64_t whole(size_t layers_n, uint64_t sets, uint64_t parameters)
{
	return CHECKPOINT_FIXED + (uint64_t)layers_n * CHECKPOINT_LAYER + sets * parameters * 4 +
	       CHECKPOINT_SUM;
}

size_t checkpoint_encode(unsigned char out[CHECKPOINT_HEAD], const struct sw_net *net,
			 const struct sw_checkpoint_id *id)
{
	const struct sw_model *m = net->model;
	unsigned char *at = out + CHECKPOINT_FIXED;

	memset(out, 0, CHECKPOINT_HEAD);
	memcpy(out, magic, sizeof magic);
	put(out + 8, SW_CHECKPOINT_VERSION, 4);
	put(out + 12, m->layers_n, 4);
	put(out + 16, whole(m->layers_n, 1 + net->at.states_n, m->parameters), 8);
	put(out + 24, id->sweep, 8);
	put(out + 32, id->trial, 8);
	put(out + 40, id->epoch, 8);
	put(out + 48, net->step, 8);
	put(out + 56, net->seed, 8);
	put(out + 64, net->trainer->adamw, 4);
	put(out + 68, net->at.states_n, 4);
	put(out + 72, m->parameters, 8);
	for (size_t i = 0; i < m->layers_n; i++, at += CHECKPOINT_LAYER) {
		put(at, kind_code(m->layer[i].kind), 4);
		put(at + 8, m->layer[i].in, 8);
		put(at + 16, m->layer[i].out, 8);
	}
	return (size_t)(at - out);
}

sw_status checkpoint_decode(struct checkpoint_head *out, const unsigned char in[CHECKPOINT_FIXED],
			    uint64_t size, struct sw_err *err)
{
	const struct checkpoint_head h = {
		.version = (uint32_t)get(in + 8, 4),
		.layers_n = (uint32_t)get(in + 12, 4),
		.bytes = get(in + 16, 8),
		.id = {.sweep = get(in + 24, 8),
		       .trial = get(in + 32, 8),
		       .epoch = get(in + 40, 8)},
		.step = get(in + 48, 8),
		.seed = get(in + 56, 8),
		.adamw = (uint32_t)get(in + 64, 4),
		.states_n = (uint32_t)get(in + 68, 4),
		.parameters = get(in + 72, 8),
	};

	*out = h;
	if (memcmp(in, magic, sizeof magic) != 0)
		return sw_err_set(err, SW_INVALID,
				  "is no checkpoint, or is damaged in its first bytes");
	if (h.version != SW_CHECKPOINT_VERSION)
		return sw_err_set(err, SW_INVALID,
				  "is of version %" PRIu32 ", this program reads %d", h.version,
				  SW_CHECKPOINT_VERSION);
	if (h.bytes > size)
		return sw_err_set(err, SW_INVALID, "is cut short: %" PRIu64 " of %" PRIu64 " bytes",
				  size, h.bytes);
	if (h.bytes < size || h.layers_n == 0 || h.layers_n > SW_MODEL_MAX_LAYERS ||
	    h.states_n > 2 || h.parameters > size / 4 ||
	    whole(h.layers_n, 1 + (uint64_t)h.states_n, h.parameters) != size)
		return sw_err_set(err, SW_INVALID,
				  "is damaged: what it says of its lengths is not so");
	return SW_OK;
}

/* "linear 64 x 128", "relu 128" */
static const char *layer_show(char out[80], uint32_t code, uint64_t in, uint64_t width)
{
	if (code == kinds[0].code)
		snprintf(out, 80, "linear %" PRIu64 " x %" PRIu64, in, width);
	else
		snprintf(out, 80, "%s %" PRIu64, code_name(code), width);
	return out;
}

static sw_status layers_fit(const struct checkpoint_head *h, const unsigned char *at,
			    const struct sw_model *m, struct sw_err *err)
{
	char theirs[80], ours[80];

	for (size_t i = 0; i < h->layers_n && i < m->layers_n; i++, at += CHECKPOINT_LAYER) {
		const struct sw_layer *l = &m->layer[i];
		const uint32_t code = (uint32_t)get(at, 4);
		const uint64_t in = get(at + 8, 8), width = get(at + 16, 8);

		if (code == kind_code(l->kind) && in == l->in && width == l->out)
			continue;
		return sw_err_set(err, SW_INVALID,
				  "has other shapes: the layer at /%zu is %s, the trial's is %s", i,
				  layer_show(theirs, code, in, width),
				  layer_show(ours, kind_code(l->kind), l->in, l->out));
	}
	if (h->layers_n != m->layers_n)
		return sw_err_set(err, SW_INVALID,
				  "has other shapes: %" PRIu32 " layers, the trial's model has %zu",
				  h->layers_n, m->layers_n);
	return SW_OK;
}

sw_status checkpoint_fits(const struct checkpoint_head *h, const unsigned char *layers,
			  const struct sw_net *net, const struct sw_checkpoint_id *id,
			  struct sw_err *err)
{
	static const char *const optimizers[] = {"sgd", "adamw"};
	const bool adamw = net->trainer->adamw;
	sw_status status;

	if (h->id.sweep != id->sweep || h->id.trial != id->trial || h->id.epoch != id->epoch)
		return sw_err_set(err, SW_INVALID,
				  "is of trial %" PRIu64 "/%" PRIu64 " at step %" PRIu64
				  ", not of %" PRIu64 "/%" PRIu64 " at step %" PRIu64,
				  h->id.sweep, h->id.trial, h->id.epoch, id->sweep, id->trial,
				  id->epoch);
	status = layers_fit(h, layers, net->model, err);
	if (status != SW_OK)
		return status;
	if (h->adamw != adamw)
		return sw_err_set(err, SW_INVALID,
				  "holds the state of %s, the trial trains with %s",
				  h->adamw <= 1 ? optimizers[h->adamw] : "another optimizer",
				  optimizers[adamw]);
	/* sgd has a velocity with momentum only; adamw always has its two moments */
	if (h->parameters != net->model->parameters || (adamw ? h->states_n != 2 : h->states_n > 1))
		return sw_err_set(err, SW_INVALID,
				  "says %" PRIu64 " parameters and %" PRIu32
				  " tensors of state each, which its layers do not have",
				  h->parameters, h->states_n);
	return SW_OK;
}
