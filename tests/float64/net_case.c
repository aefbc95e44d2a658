/*
 * tests/float64/net_case.c — dL/dw beside (L(w + h) - L(w - h)) / 2h, number by number.
 *
 * In double the difference is good to about h^2 + 1e-15 / h of L, so that 1e-6 of the tensor's
 * largest gradient can be asked for. A kink (relu, the maximum of a window) may lie between the
 * two: then a smaller h is taken, and this may happen to few.
 */
#include "tests/float64/net_case.h"
#include "kernels/cpu/cpu.h"
#include "kernels/philox.h"
#include <check.h>

_Static_assert(sizeof(float) == 8, "float64/as_double.h is not in force");

#define ROWS    8
#define TOKENS  5
#define VOCAB   9
#define CLASSES 4

static struct {
	unsigned seed;
	uint64_t n; /* numbers so far */
} drawn;

void case_seed(unsigned seed)
{
	drawn.seed = seed;
	drawn.n = 0;
}

static uint32_t word(void)
{
	const uint64_t k = drawn.n++;

	return sw_philox_block(drawn.seed, 77, 0, 0, k / 4).v[k % 4];
}

double case_unit(void)
{
	return 2 * ((double)word() + 0.5) * 0x1p-32 - 1;
}

unsigned case_draw(unsigned n)
{
	return word() % n;
}

/* --- data --- */

static struct sw_data shape_of(const struct net_case *c)
{
	struct sw_data d = {.ops = &sw_ops_cpu, .labels = c->each ? TOKENS : 1};

	d.input = c->kind == SW_SHAPE_FLAT     ? sw_shape_flat(5)
		  : c->kind == SW_SHAPE_TOKENS ? sw_shape_tokens(TOKENS, 0)
		  : c->c                       ? sw_shape_image(c->c, c->h, c->w)
					       : sw_shape_image(2, 6, 5);
	d.features = sw_shape_count(&d.input);
	d.vocab = c->kind == SW_SHAPE_TOKENS ? VOCAB : 0;
	d.classes = c->numbers ? 0 : CLASSES;
	d.train.rows = d.val.rows = ROWS;
	return d;
}

static void *taken(size_t bytes)
{
	void *p = NULL;

	ck_assert_int_eq(sw_ops_cpu.alloc(&p, bytes), SW_OK);
	return p;
}

static struct sw_data data_make(const struct net_case *c)
{
	struct sw_data d = shape_of(c);
	struct sw_data_part *part = &d.train;

	part->label = taken(ROWS * d.labels * sizeof *part->label);
	part->target = taken(ROWS * sizeof *part->target);
	part->x = taken(ROWS * d.features * sizeof *part->x);
	part->token = taken(ROWS * d.features * sizeof *part->token);
	for (size_t i = 0; i < ROWS * d.labels; i++)
		part->label[i] = c->each && case_draw(3) == 0 ? -1 : (int32_t)case_draw(CLASSES);
	for (size_t i = 0; i < ROWS; i++)
		part->target[i] = case_unit();
	for (size_t i = 0; i < ROWS * d.features; i++) {
		part->x[i] = case_unit();
		part->token[i] = (int32_t)case_draw(VOCAB);
	}
	if (c->kind == SW_SHAPE_TOKENS && !c->whole) {
		part->length = taken(ROWS * sizeof *part->length);
		for (size_t i = 0; i < ROWS; i++) /* the last row has none */
			part->length[i] = i + 1 < ROWS ? 1 + (int32_t)case_draw(TOKENS) : 0;
	}
	d.val = d.train;
	return d;
}

static void data_free(struct sw_data *d)
{
	sw_ops_cpu.free(d->train.x);
	sw_ops_cpu.free(d->train.token);
	sw_ops_cpu.free(d->train.length);
	sw_ops_cpu.free(d->train.label);
	sw_ops_cpu.free(d->train.target);
}

bool case_compiles(const struct net_case *c, struct sw_model **out, struct sw_err *err)
{
	const struct sw_data shape = shape_of(c);
	const struct sw_task task = sw_net_task(&shape, !c->numbers);
	cJSON *json = cJSON_Parse(c->list);
	struct sw_model *m = calloc(1, sizeof *m);

	ck_assert_ptr_nonnull(json);
	ck_assert_ptr_nonnull(m);
	const sw_status status = sw_model_compile(m, json, NULL, &task, err);

	cJSON_Delete(json);
	*out = status == SW_OK ? m : NULL;
	if (status != SW_OK)
		free(m);
	return status == SW_OK;
}

/* --- the check --- */

struct check {
	const struct net_case *c;
	struct sw_net net;
	struct sw_data data;
	double *w, *g;
	size_t seen, rough;
};

/* The mean loss of the batch, in training; its gradient is left in the arena. The step has the rate
 * 0, and is the first one each time, for the masks of dropout. */
static double loss(struct check *k)
{
	struct sw_metrics m;
	size_t next;

	k->net.step = 0;
	ck_assert_int_eq(sw_net_metrics_zero(&k->net), SW_OK);
	ck_assert_int_eq(sw_net_train(&k->net, &k->data, 0, &next), SW_OK);
	ck_assert_int_eq(sw_net_metrics(&k->net, &m), SW_OK);
	return m.loss_sum / m.rows;
}

static double slope(struct check *k, size_t i, double h)
{
	const double was = k->w[i];

	k->w[i] = was + h;
	const double up = loss(k);

	k->w[i] = was - h;
	const double down = loss(k);

	k->w[i] = was;
	return (up - down) / (2 * h);
}

static void number_check(struct check *k, size_t i, double scale, const struct sw_op *op)
{
	double h = k->c->c ? 1e-6 : 1e-5, at = 0, off = 1; /* large images have many kinks */
	bool good = false;

	k->seen++;
	for (int turn = 0; turn < 3 && !good; turn++, h /= 10) {
		at = slope(k, i, h);
		off = fabs(at - k->g[i]);
		good = off <= 1e-6 * (fabs(k->g[i]) + scale) + 1e-14 / h;
		k->rough += !good;
	}
	ck_assert_msg(good,
		      "%s: %s at %s: a gradient of %.12g where the slope is %.12g (seed %u, micro "
		      "%zu, loops %d, blas %d)",
		      k->c->list, sw_op_name(op->kind), op->path, k->g[i], at, k->c->seed,
		      k->c->micro, k->c->isa, k->c->blas);
}

static void tensor_check(struct check *k, size_t first, size_t n, const struct sw_op *op)
{
	double scale = 0;

	for (size_t i = 0; i < n; i++)
		scale = fmax(scale, fabs(k->g[first + i]));
	if (k->c->most && n > k->c->most) {
		for (size_t i = 0; i < k->c->most; i++)
			number_check(k, first + case_draw((unsigned)n), scale, op);
		return;
	}
	for (size_t i = 0; i < n; i++)
		number_check(k, first + i, scale, op);
}

static void net_make(struct check *k, const struct sw_model *m, const struct sw_trainer *t,
		     struct sw_queue *q)
{
	struct sw_err err = SW_ERR_INIT;
	int32_t order[ROWS];

	ck_assert_msg(sw_net_create(&k->net, &sw_ops_cpu, q, m, t, &k->data, NULL, k->c->seed,
				    &err) == SW_OK,
		      "%s: %s", k->c->list, err.msg);
	for (int32_t i = 0; i < ROWS; i++)
		order[i] = (i * 5 + 2) % ROWS;
	ck_assert_int_eq(sw_net_order(&k->net, order, ROWS), SW_OK);
	k->w = (double *)(void *)(k->net.arena + k->net.at.weights);
	/* away from what begins as all 0 or all 1 */
	for (size_t i = 0; i < m->ops_n; i++) {
		for (size_t j = 0; j < m->op[i].w_n; j++)
			k->w[m->op[i].w + j] += 0.2 * case_unit();
		for (size_t j = 0; j < m->op[i].b_n; j++)
			k->w[m->op[i].b + j] += 0.2 * case_unit();
	}
}

/* The gradient has the same bits if no two buffers share a byte, and no byte is read that was not
 * written before. */
static void apart_check(struct check *k, const struct sw_model *m)
{
	struct sw_net *net = &k->net;
	size_t end = net->at.bytes - net->at.kept;
	void *parts;

	for (size_t i = 0; i < m->train.buffers_n; i++) {
		const struct sw_buffer *b = &m->train.buffer[i];

		net->at.train[i] = end;
		end += (sizeof(float) * (b->row * ROWS + b->fixed) + 63) / 64 * 64;
	}
	parts = taken(end);
	memset(parts, 0xff, end);          /* NaNs */
	if (net->at.micro < net->at.share) /* the gaps between these are zero for good */
		memset((char *)parts + net->at.part, 0, m->weights_n * sizeof(float));
	sw_ops_cpu.free(net->parts);
	net->parts = parts;
	(void)loss(k);
	ck_assert_msg(memcmp(k->g, net->arena + net->at.grads, m->weights_n * sizeof *k->g) == 0,
		      "%s (seed %u): a buffer is written while another needs its bytes", k->c->list,
		      k->c->seed);
}

void case_check(const struct net_case *c)
{
	const struct sw_trainer trainer = {.classes = !c->numbers,
					   .lr = 0,
					   .label_smoothing = c->smooth,
					   .batch_size = ROWS,
					   .micro_batch = c->micro,
					   .epochs = 1};
	struct sw_err err = SW_ERR_INIT;
	struct check k = {.c = c};
	struct sw_queue *q = NULL;
	struct sw_model *m = NULL;

	case_seed(c->seed);
	sw_ops_cpu_threads(1);
	sw_cpu_isa_force(c->isa);
	sw_cpu_linear_force(c->blas);
	sw_cpu_conv_force(c->blas);
	k.data = data_make(c);
	ck_assert_msg(case_compiles(c, &m, &err), "%s: %s at %s", c->list, err.msg, err.ptr);
	ck_assert_int_eq(sw_ops_cpu.queue_create(&q), SW_OK);
	net_make(&k, m, &trainer, q);
	k.g = malloc(m->weights_n * sizeof *k.g);
	ck_assert_ptr_nonnull(k.g);
	ck_assert(isfinite(loss(&k)));
	memcpy(k.g, k.net.arena + k.net.at.grads, m->weights_n * sizeof *k.g);
	for (size_t i = 0; i < m->ops_n; i++) {
		tensor_check(&k, m->op[i].w, m->op[i].w_n, &m->op[i]);
		tensor_check(&k, m->op[i].b, m->op[i].b_n, &m->op[i]);
	}
	ck_assert_uint_gt(k.seen, 0);
	ck_assert_msg(k.rough * 4 <= k.seen, "%s: %zu of %zu slopes took a smaller step", c->list,
		      k.rough, k.seen);
	apart_check(&k, m);
	free(k.g);
	sw_net_destroy(&k.net);
	sw_ops_cpu.queue_destroy(q);
	free(m);
	data_free(&k.data);
}
