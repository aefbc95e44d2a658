#include "trainer/model/stages.h"
#include "trainer/model/internal.h"
#include "trainer/model/layout.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* The cost of an element that an operation writes, forward and backward, counted as operations of
 * products: it is fetched and written some times. An estimate. */
#define ELEMENT_OPS 48.0

/* How far from the best balance of work memory may take it. */
#define SLACK 1.1

/* Of a row, in operations. */
static double op_work(const struct sw_model *m, size_t i)
{
	const struct sw_op *op = &m->op[i];
	const double elements = (double)sw_shape_count(&op->to);
	double work = sw_model_op_flops(m, i);

	if (op->kind == SW_OP_ATTENTION) /* q k^T and p v, forward and for two gradients */
		work += 12.0 * (double)op->to.t * elements;
	return sw_op_passes(op, true) ? work : work + ELEMENT_OPS * elements;
}

double sw_stages_work(const struct sw_model *m, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += op_work(m, i);
	return sum;
}

/* --- places for a cut --- */

static bool reads_before(const struct sw_op *op, size_t value)
{
	return op->in < value || (op->kind == SW_OP_ADD && op->in2 < value);
}

/* May a stage begin with operation i? */
static bool is_place(const struct sw_model *m, size_t i)
{
	if (m->op[i].fused)
		return false; /* the operation before it has done it */
	for (size_t k = i; k < m->ops_n; k++)
		if (reads_before(&m->op[k], i) || (m->op[k].pooled && m->op[k].mate < i))
			return false; /* a second value crosses, or one call makes both */
	return true;
}

/* Sums over the operations in front of a place: a stage's are the difference of two. */
struct front {
	size_t op;
	double work, weights, kept; /* of a row: operations, floats */
};

struct choice {
	const struct sw_model *m;
	struct front at[SW_MODEL_MAX_OPS + 1];
	size_t n; /* places, 0 and the end included */
	unsigned stages;
	size_t parts; /* micro-batches of a step */
	double rows;  /* of one */
	double sets;  /* floats kept for each weight: it, its gradient, the optimizer's */
};

static void list_places(struct choice *c)
{
	const struct sw_model *m = c->m;
	struct front sum = {0};

	for (size_t i = 0; i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];
		const double elements = (double)sw_shape_count(&op->to);

		if (i == 0 || is_place(m, i)) {
			sum.op = i;
			c->at[c->n++] = sum;
		}
		sum.work += op_work(m, i);
		sum.weights += (double)(op->w_n + op->b_n);
		if (sw_op_passes(op, true))
			continue;
		sum.kept += elements;
		if (op->kind == SW_OP_ATTENTION)
			sum.kept += (double)(op->heads * op->to.t * op->to.t);
	}
	sum.op = m->ops_n;
	c->at[c->n++] = sum;
}

static double work_of(const struct choice *c, unsigned s, size_t from, size_t to)
{
	(void)s;
	return c->at[to].work - c->at[from].work;
}

static double memory_of(const struct choice *c, unsigned s, size_t from, size_t to)
{
	const double copies = (double)sw_layout_copies(c->stages, s, c->parts);

	return (c->at[to].weights - c->at[from].weights) * c->sets +
	       (c->at[to].kept - c->at[from].kept) * c->rows * copies;
}

/* Finds the cuts whose largest stage, by `of`, is the smallest, among those with stages of at most
 * so much work. *first: their places. Returns the largest; INFINITY: no cuts meet that. */
static double choose(const struct choice *c, double most_work,
		     double (*of)(const struct choice *c, unsigned s, size_t from, size_t to),
		     size_t first[SW_STAGES_MAX + 1])
{
	/* best[to]: of stages 0 to s, whose last ends at place `to`; from: where that one begins */
	uint16_t from[SW_STAGES_MAX][SW_MODEL_MAX_OPS + 1] = {{0}};
	double best[SW_MODEL_MAX_OPS + 1], before[SW_MODEL_MAX_OPS + 1];

	/* Dynamic programming over places: the best cuts of s + 1 stages that end at `to` are those
	 * of s stages up to a place k, and one more. */
	for (size_t k = 0; k < c->n; k++)
		best[k] = k == 0 ? 0 : (double)INFINITY;
	for (unsigned s = 0; s < c->stages; s++) {
		memcpy(before, best, sizeof before);
		for (size_t to = 0; to < c->n; to++) {
			best[to] = (double)INFINITY;
			for (size_t k = 0; k < to; k++) {
				const double mine = of(c, s, k, to);
				const double largest = mine > before[k] ? mine : before[k];

				/* Without parameters a stage would have nothing to train. */
				if (c->at[to].weights > c->at[k].weights &&
				    work_of(c, s, k, to) <= most_work && largest < best[to]) {
					best[to] = largest;
					from[s][to] = (uint16_t)k;
				}
			}
		}
	}
	first[c->stages] = c->n - 1;
	for (unsigned s = c->stages; isfinite(best[c->n - 1]) && s-- > 0;)
		first[s] = from[s][first[s + 1]];
	return best[c->n - 1];
}

sw_status sw_stages_cut(const struct sw_model *m, const struct sw_trainer *t,
			size_t first[SW_STAGES_MAX + 1], struct sw_err *err)
{
	const unsigned stages = t->stages > 1 ? (unsigned)t->stages : 1;
	const uint64_t ranks = t->ranks ? t->ranks : 1,
		       parts = t->microbatches ? t->microbatches : 1;
	struct choice c = {.m = m,
			   .stages = stages,
			   .parts = (size_t)parts,
			   .rows = ceil((double)t->batch_size / (double)(ranks * parts)),
			   .sets = t->optimizer != SW_SGD ? 4
				   : t->momentum > 0      ? 3
							  : 2};
	double most;

	assert(stages <= SW_STAGES_MAX);
	list_places(&c);
	most = choose(&c, (double)INFINITY, work_of, first);
	if (!isfinite(most))
		return sw_err_set(
			err, SW_INVALID,
			"the model cannot be cut into %u stages: cuts lie where one value "
			"crosses, outside of residuals, and each stage needs parameters; there "
			"are %zu such places",
			stages, c.n - 2);
	/* Once more by memory, among cuts that are nearly as well balanced: it cannot fail, for the
	 * first choice is one of them. */
	(void)choose(&c, most * SLACK, memory_of, first);
	for (unsigned s = 0; s <= stages; s++)
		first[s] = c.at[first[s]].op;
	return SW_OK;
}

/* --- a stage's model --- */

static void shift(struct sw_op *op, size_t ops, size_t weights, size_t running)
{
	op->in -= ops;
	if (op->kind == SW_OP_ADD)
		op->in2 -= ops;
	if (op->w_n)
		op->w -= weights;
	if (op->b_n)
		op->b -= weights;
	if (op->kind == SW_OP_BATCHNORM) {
		op->mean -= running;
		op->var -= running;
	}
	op->pooled = false; /* the plan says */
}

/* Parameters of an operation lie behind those of all before it: floats in front of operation i. */
static void fronts(const struct sw_model *m, size_t i, size_t *weights, size_t *running)
{
	*weights = m->weights_n;
	*running = m->running_n;
	for (size_t k = m->ops_n; k-- > i;) {
		const struct sw_op *op = &m->op[k];

		if (op->w_n)
			*weights = op->w;
		if (op->kind == SW_OP_BATCHNORM)
			*running = op->mean;
	}
}

void sw_stages_model(struct sw_model *out, const struct sw_model *m, size_t from, size_t to,
		     size_t *weights, size_t *running)
{
	size_t weights_end, running_end;

	fronts(m, from, weights, running);
	fronts(m, to, &weights_end, &running_end);
	*out = *m;
	out->ops_n = to - from;
	out->weights_n = weights_end - *weights;
	out->running_n = running_end - *running;
	out->parameters = 0;
	for (size_t i = 0; i < out->ops_n; i++) {
		out->op[i] = m->op[from + i];
		shift(&out->op[i], from, *weights, *running);
		out->parameters += out->op[i].w_n + out->op[i].b_n;
	}
	if (from > 0) {
		out->task.input = *sw_model_shape(m, from);
		out->task.received = true;
		out->task.gathered = false;
	}
	sw_model_plan(out);
}
