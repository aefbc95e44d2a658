#include "trainer/model/layout.h"
#include <stdlib.h>
#include <string.h>

/* Evaluation likes large batches: so many rows at least, as long as they take no more memory than
 * training, or than EVAL_BYTES. */
#define EVAL_ROWS  ((size_t)256)
#define EVAL_BYTES ((size_t)32 << 20)

/* A buffer of the feed has so many bytes of rows, or a batch if that is more. */
#define FEED_BYTES ((size_t)16 << 20)

/* A graph has as many steps as give an epoch the fewest launches, within these bounds: operations
 * and rows that one launch works on. A launch and its copy cost what two or three small nodes do,
 * so more steps than this gain nothing, and a trial that is stopped waits for them. */
#ifndef SW_LAYOUT_OPS /* scripts/gpu-check builds bench/lanes with three sizes */
#define SW_LAYOUT_OPS 512
#endif
#define GRAPH_ROWS ((size_t)4096)

/* Of a buffer: a float, in whose place an int32 may lie. */
#define ELEMENT sizeof(float)

/* Sizes that cannot be addressed become SIZE_MAX, and stay so. */
static size_t times(size_t a, size_t b)
{
	size_t out;

	return __builtin_mul_overflow(a, b, &out) ? SIZE_MAX : out;
}

static size_t plus(size_t a, size_t b)
{
	size_t out;

	return __builtin_add_overflow(a, b, &out) ? SIZE_MAX : out;
}

static size_t aligned(size_t bytes)
{
	return bytes > SIZE_MAX - SW_OPS_ALIGN ? SIZE_MAX
					       : (bytes + SW_OPS_ALIGN - 1) & ~(SW_OPS_ALIGN - 1);
}

/* Takes bytes at *at and moves it on. */
static size_t place(size_t *at, size_t bytes)
{
	const size_t here = *at;

	*at = aligned(plus(here, bytes));
	return here;
}

static size_t buffer_bytes(const struct sw_buffer *b, size_t rows)
{
	return aligned(times(plus(times(b->row, rows), b->fixed), ELEMENT));
}

static bool meet(const struct sw_buffer *a, const struct sw_buffer *b)
{
	return a->from <= b->to && b->from <= a->to;
}

struct placed {
	size_t at, bytes;
	uint16_t buffer;
};

/* By falling size, those of one size in the buffers' order. */
static int by_size(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
				    : x->buffer - y->buffer;
}

/* The lowest place for the buffer beside what is placed, which is sorted by place. */
static size_t find_place(const struct sw_plan *p, const struct placed *placed, size_t n,
			 uint16_t buffer, size_t bytes)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		/* One that is needed at another time is no obstacle: they share the bytes. */
		if (!meet(&p->buffer[placed[i].buffer], &p->buffer[buffer]))
			continue;
		if (placed[i].at >= at && placed[i].at - at >= bytes)
			break;
		if (placed[i].at + placed[i].bytes > at)
			at = placed[i].at + placed[i].bytes;
	}
	return at;
}

/* Bytes that a linear layer's forward leaves to its backward: none where no library makes its
 * products. */
static size_t kept_bytes(const struct sw_op *op, const struct sw_ops *ops, enum sw_precision p,
			 size_t rows)
{
	const size_t n = times(sw_op_rows(&op->from, rows), sw_op_width(&op->from));

	return sw_op_products(op, ops, p, rows) ? aligned(ops->weights_copy(p, n)) : 0;
}

/* Places of the plan's buffers for so many rows, from 0. Returns the bytes of all. */
static size_t pack(const struct sw_model *m, const struct sw_plan *p, const struct sw_ops *ops,
		   enum sw_precision precision, size_t rows, size_t *out)
{
	struct placed placed[SW_MODEL_MAX_BUFFERS];
	size_t all = 0, sum = 0;

	for (size_t i = 0; i < p->buffers_n; i++)
		placed[i] = (struct placed){.bytes = buffer_bytes(&p->buffer[i], rows),
					    .buffer = (uint16_t)i};
	for (size_t i = 0; i < m->ops_n; i++)
		if (m->op[i].kind == SW_OP_LINEAR && p->saved[i] != SW_NO_BUFFER)
			placed[p->saved[i]].bytes = kept_bytes(&m->op[i], ops, precision, rows);
	for (size_t i = 0; i < p->buffers_n; i++)
		sum = plus(sum, placed[i].bytes);
	/* Before places are sought: then no sum of two of them wraps. */
	if (sum > SIZE_MAX / 2)
		return SIZE_MAX;
	qsort(placed, p->buffers_n, sizeof *placed, by_size);
	/* those before k are placed, and in the order of their places */
	for (size_t k = 0; k < p->buffers_n; k++) {
		struct placed b = placed[k];
		size_t i = k;

		/* First fit, the largest first: small ones find gaps that large ones leave. */
		b.at = find_place(p, placed, k, b.buffer, b.bytes);
		for (; i > 0 && placed[i - 1].at > b.at; i--)
			placed[i] = placed[i - 1];
		placed[i] = b;
		out[b.buffer] = b.at;
		all = b.at + b.bytes > all ? b.at + b.bytes : all;
	}
	return all;
}

/* The largest scratch memory of an operation. */
static size_t workspace(const struct sw_model *m, const struct sw_ops *ops, size_t rows, bool train,
			bool synced)
{
	size_t most = 0;

	for (size_t i = 0; i < m->ops_n; i++) {
		const size_t bytes = sw_op_work(&m->op[i], ops, rows, train, synced);

		most = bytes > most ? bytes : most;
	}
	return aligned(most);
}

/* The most memory that a product needs at this precision. */
static size_t products(const struct sw_model *m, const struct sw_ops *ops, enum sw_precision p,
		       size_t rows)
{
	size_t most = 0;

	for (size_t i = 0; i < m->ops_n; i++) {
		const size_t bytes = sw_op_products(&m->op[i], ops, p, rows);

		most = bytes > most ? bytes : most;
	}
	return aligned(most);
}

static void offset(size_t *at, size_t n, size_t base)
{
	for (size_t i = 0; i < n; i++)
		at[i] += base;
}

/* Evaluation's bytes and rows: rows is halved as long as it needs more than training does, memory
 * or a library for its products. */
static size_t eval_pack(struct sw_layout *out, const struct sw_model *m, const struct sw_trainer *t,
			const struct sw_ops *ops, size_t val_rows, size_t train_bytes, size_t room,
			size_t *work)
{
	const bool alone = products(m, ops, t->precision, out->micro) == 0;
	const size_t likes = room < EVAL_BYTES ? room : EVAL_BYTES;
	const size_t most = train_bytes > likes ? train_bytes : likes;
	size_t rows = out->micro > EVAL_ROWS ? out->micro : EVAL_ROWS, bytes;

	rows = rows < val_rows ? rows : val_rows;
	if (out->feed_rows && rows > out->feed_rows)
		rows = out->feed_rows;
	rows = rows ? rows : 1;
	for (;;) {
		*work = workspace(m, ops, rows, false, false);
		bytes = pack(m, &m->eval, ops, t->precision, rows, out->eval);
		if (rows == 1 || (plus(bytes, *work) <= most &&
				  !(alone && products(m, ops, t->precision, rows))))
			break;
		rows /= 2;
	}
	out->eval_batch = rows;
	return bytes;
}

size_t sw_layout_copies(unsigned stages, unsigned s, size_t n)
{
	return stages - s < n ? stages - s : n;
}

size_t sw_layout_share(size_t rows, uint64_t ranks)
{
	return ranks > 1 ? rows / ranks + (rows % ranks != 0) : rows;
}

/* Before any want of memory. */
static size_t first_micro(size_t share, const struct sw_trainer *t)
{
	const size_t most = sw_layout_share(share, t->stages > 1 ? t->microbatches : 1);

	return t->micro_batch && t->micro_batch < most ? (size_t)t->micro_batch : most;
}

static size_t parts_of(const struct sw_layout *at)
{
	return (at->share + at->micro - 1) / at->micro;
}

static void place_feed(struct sw_layout *out, const struct sw_trainer *t, size_t *at)
{
	const size_t each = t->feed_row;
	size_t bytes;

	if (each == 0)
		return;
	out->feed_rows = FEED_BYTES / each < EVAL_ROWS ? FEED_BYTES / each : EVAL_ROWS;
	if (out->feed_rows < out->batch)
		out->feed_rows = out->batch;
	/* inputs, labels and lengths each begin aligned */
	bytes = plus(times(each, out->feed_rows), 3 * SW_OPS_ALIGN);
	out->feed[0] = place(at, bytes);
	out->feed[1] = place(at, bytes);
	out->feed_index = place(at, times(out->batch, sizeof(int32_t)));
}

/* Of the step counted are each operation forward and backward, the batch's rows and its loss.
 * Staged rows come a step at a time. */
static size_t graph_steps(const struct sw_layout *at, const struct sw_model *m, size_t train_rows)
{
	const size_t ops = 2 * parts_of(at) * (m->ops_n + 2), whole = train_rows / at->batch;
	size_t best = 1;

	if (at->feed_rows)
		return 1;
	for (size_t n = 2; n <= SW_LAYOUT_STEPS && n <= whole; n++)
		if (n * ops <= SW_LAYOUT_OPS && n * at->batch <= GRAPH_ROWS &&
		    /* Launches of an epoch: graphs of n steps, and the rest one by one. */
		    whole / n + whole % n < whole / best + whole % best)
			best = n;
	return best;
}

static void place_fixed(struct sw_layout *out, const struct sw_model *m, const struct sw_trainer *t,
			size_t train_rows, size_t *at)
{
	const size_t weights = times(m->weights_n, ELEMENT);

	out->states_n = t->optimizer != SW_SGD ? 2 : t->momentum > 0 ? 1 : 0;
	out->weights = place(at, weights);
	out->grads = place(at, weights);
	for (size_t i = 0; i < out->states_n; i++)
		out->state[i] = place(at, weights);
	out->running = place(at, times(m->running_n, ELEMENT));
	out->zero = place(at, sizeof(int32_t)); /* all in front of the metrics is zeroed */
	out->metrics = place(at, sizeof(struct sw_metrics));
	out->saved = place(at, sizeof(struct sw_metrics));
	out->step = place(at, sizeof(struct sw_head));
	out->order = place(at, times(train_rows, sizeof(int32_t)));
	out->norm2 = place(at, sizeof(double));
	out->count = place(at, sizeof(int32_t));
	out->classes = place(at, t->classes ? times(m->task.outputs, 3 * sizeof(int64_t)) : 0);
	place_feed(out, t, at);
	out->y = place(at,
		       m->task.labels > 1 ? times(times(out->batch, m->task.labels), ELEMENT) : 0);
}

sw_status sw_layout_make(struct sw_layout *out, const struct sw_model *m,
			 const struct sw_trainer *t, size_t train_rows, size_t val_rows,
			 const struct sw_ops *ops, struct sw_err *err)
{
	size_t at = 0, fixed, train, eval, train_work, eval_work, product;

	memset(out, 0, sizeof *out);
	out->batch = t->batch_size < train_rows ? (size_t)t->batch_size : train_rows;
	out->share = sw_layout_share(out->batch, t->ranks);
	out->micro = first_micro(out->share, t);
	out->copies = t->stages > 1 ? sw_layout_copies((unsigned)t->stages, (unsigned)t->stage,
						       parts_of(out))
				    : 1;
	place_fixed(out, m, t, train_rows, &out->kept);
	out->steps = graph_steps(out, m, train_rows);
	out->rows = place(&at, times(times(out->steps, out->batch), sizeof(int32_t)));
	out->part = place(&at, out->micro < out->share ? times(m->weights_n, ELEMENT) : 0);
	fixed = plus(out->kept, at);
	train_work = workspace(m, ops, out->micro, true, t->sync_batchnorm);
	out->stride = pack(m, &m->train, ops, t->precision, out->micro, out->train);
	train = times(out->stride, out->copies);
	eval = eval_pack(out, m, t, ops, sw_layout_share(val_rows, t->ranks),
			 plus(train, train_work),
			 t->memory == 0      ? SIZE_MAX
			 : t->memory > fixed ? t->memory - fixed
					     : 0,
			 &eval_work);
	/* One piece serves both passes; *_products never asks for less for more rows. */
	product = out->eval_batch > out->micro ? out->eval_batch : out->micro;
	out->product_bytes = products(m, ops, t->precision, product);
	out->library = out->product_bytes ? ops->products_open_bytes : 0;
	out->product = place(&at, out->product_bytes);
	out->copy = place(&at, ops->weights_copy(t->precision, m->weights_n));
	out->work = place(&at, train_work > eval_work ? train_work : eval_work);
	offset(out->train, m->train.buffers_n, at);
	offset(out->eval, m->eval.buffers_n, at);
	out->bytes = plus(out->kept, plus(at, train > eval ? train : eval));
	if (out->bytes > SIZE_MAX / 2)
		return sw_err_set(err, SW_TOO_BIG, "the model and its batch fit no memory");
	return SW_OK;
}

sw_status sw_layout_fit(struct sw_layout *out, const struct sw_model *m, const struct sw_trainer *t,
			size_t train_rows, size_t val_rows, const struct sw_ops *ops, size_t most,
			unsigned *halved, struct sw_err *err)
{
	struct sw_trainer part = *t;

	part.memory = most;
	for (*halved = 0;; ++*halved) {
		/* in smaller parts it may fit an address */
		if (sw_layout_make(out, m, &part, train_rows, val_rows, ops, NULL) == SW_OK &&
		    out->bytes <= most)
			return SW_OK;
		if (out->micro == 1)
			return sw_err_set(err, SW_NOMEM,
					  "a row at a time needs %zu bytes, there are %zu",
					  out->bytes, most);
		if (t->sync_batchnorm)
			return sw_err_set(err, SW_NOMEM,
					  "the %zu rows of a rank, in one part for sync_batchnorm, "
					  "need %zu bytes, there are %zu",
					  out->micro, out->bytes, most);
		part.micro_batch = (out->micro + 1) / 2;
	}
}
