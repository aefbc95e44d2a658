/*
 * bench/lib/recorded.c — recorded curves of real trainings as a family: a table (bench/curves), and
 * a surrogate for the configurations that are not in it.
 *
 * File     bench/curves/NAME.csv. A line a training: the configuration's number; its coordinates in
 *          the unit cube, in 1/10000; the loss after each of 27 epochs, as 1000 times its natural
 *          logarithm, rounded, at most 3000 (diverged stands there). The first
 *          75 configurations have three trainings that differ by their seeds, in
 *          consecutive lines, the others one.
 * Truth    The mean over 60 extremely randomised trees (Geurts, Ernst, Wehenkel, 2006), each grown
 *          on all configurations to leaves of two or fewer, of the mean curves of the leaves, by
 *          logarithms. A split is the best of d thresholds drawn at random, by the squares that it
 *          leaves over all epochs together.
 * Noise    The whole residual curve of one training of a configuration that has three, one of the
 *          12 trainings whose final losses are nearest to the truth, by (seed, trial).
 */
#include "bench/lib/family.h"
#include "bench/lib/objective.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TREES        60
#define LEAF         2
#define REPEATS      3
#define NEAR         12
#define MAX_D        16
#define MOST         1024 /* configurations */
#define MAX_LINE     1024
#define MAX_SEARCHED 7

#define PARAM(d, a, b)                                                                             \
	{                                                                                          \
		.dist = SW_DIST_##d, .min = (a), .max = (b)                                        \
	}
#define LOG(a, b)     PARAM(LOG_UNIFORM, a, b)
#define REAL(a, b)    PARAM(UNIFORM, a, b)
#define INT(a, b)     PARAM(INT_UNIFORM, a, b)
#define INT_LOG(a, b) PARAM(INT_LOG_UNIFORM, a, b)
#define POW2(a, b)    PARAM(POW2, a, b)
#define CHOICE(n)                                                                                  \
	{                                                                                          \
		.dist = SW_DIST_CATEGORICAL, .n_choices = (n)                                      \
	}

/* child[0] 0: a leaf, and curve its mean. */
struct node {
	size_t column, child[2];
	double at;
	double curve[BENCH_EPOCHS];
};

struct forest {
	struct node *node;
	size_t n, cap, root[TREES];
};

struct recorded {
	size_t which; /* of what was searched */
	struct sw_space *space;
	size_t n, d;
	double x[MOST][MAX_D];
	double y[MOST][BENCH_EPOCHS]; /* mean logarithms */
	size_t trainings[MOST];
	size_t n_twins; /* residual curves, and the final mean each belongs to */
	double residual[MOST * REPEATS][BENCH_EPOCHS], level[MOST * REPEATS];
	struct forest forest;
};

/* ---- the table ---- */

static bool read_line(struct recorded *r, const char *line, double raw[][BENCH_EPOCHS],
		      size_t *rows)
{
	const char *at = line;
	char *end;
	const size_t i = (size_t)strtoul(at, &end, 10);

	if (end == at || i >= MOST || i + 1 < r->n || i > r->n)
		return false;
	r->n = i + 1;
	for (size_t k = 0; k < r->d; k++) {
		at = end + (*end == ',');
		r->x[i][k] = (strtod(at, &end) + 0.5) / 10000;
	}
	for (size_t t = 0; t < BENCH_EPOCHS; t++) {
		at = end + (*end == ',');
		raw[*rows][t] = strtod(at, &end) / 1000;
		r->y[i][t] += raw[*rows][t];
		if (end == at)
			return false;
	}
	r->trainings[i]++;
	(*rows)++;
	return *end == '\n' || *end == '\r';
}

static void set_noise(struct recorded *r, double raw[][BENCH_EPOCHS])
{
	for (size_t i = 0; i < r->n; i++)
		for (size_t t = 0; t < BENCH_EPOCHS; t++)
			r->y[i][t] /= (double)r->trainings[i];
	for (size_t i = 0, row = 0; i < r->n; row += r->trainings[i++]) {
		const double n = (double)r->trainings[i];

		for (size_t k = 0; n > 1 && k < r->trainings[i]; k++) {
			r->level[r->n_twins] = r->y[i][BENCH_EPOCHS - 1];
			for (size_t t = 0; t < BENCH_EPOCHS; t++)
				r->residual[r->n_twins][t] =
					(raw[row + k][t] - r->y[i][t]) * sqrt(n / (n - 1));
			r->n_twins++;
		}
	}
}

static bool read_table(struct recorded *r, const char *path)
{
	double(*const raw)[BENCH_EPOCHS] = calloc(MOST * REPEATS, sizeof *raw);
	FILE *const f = fopen(path, "r");
	char line[MAX_LINE];
	size_t rows = 0;
	bool ok = f != NULL && fgets(line, sizeof line, f) != NULL;

	assert(raw != NULL);
	while (ok && rows < (size_t)MOST * REPEATS && fgets(line, sizeof line, f) != NULL)
		ok = read_line(r, line, raw, &rows);
	if (f != NULL)
		(void)fclose(f);
	ok = ok && r->n > 0;
	if (ok)
		set_noise(r, raw);
	free(raw);
	return ok && r->n_twins >= NEAR;
}

/* ---- the forest ---- */

struct growing {
	struct recorded *r;
	uint64_t seed;
	unsigned draw;
};

static double draw(struct growing *g)
{
	return bench_unit(g->seed, g->draw++, 0x6574);
}

/* The squares about the mean, summed over the epochs, of those on each side; infinite where one has
 * none. */
static double left_over(const struct recorded *r, const size_t *row, size_t n, size_t column,
			double at)
{
	double total = 0;
	size_t low = 0;

	for (size_t i = 0; i < n; i++)
		low += r->x[row[i]][column] < at;
	if (low == 0 || low == n)
		return INFINITY;
	for (size_t t = 0; t < BENCH_EPOCHS; t++) {
		double sum[2] = {0, 0}, squares = 0;

		for (size_t i = 0; i < n; i++) {
			const double y = r->y[row[i]][t];

			sum[r->x[row[i]][column] >= at] += y;
			squares += y * y;
		}
		total += squares - sum[0] * sum[0] / (double)low -
			 sum[1] * sum[1] / (double)(n - low);
	}
	return total;
}

/* Of d draws the best; false: none parts the rows. */
static bool find_split(struct growing *g, const size_t *row, size_t n, size_t *column, double *at)
{
	const struct recorded *const r = g->r;
	double best = INFINITY;

	for (size_t k = 0; k < r->d; k++) {
		double lo = INFINITY, hi = -INFINITY;

		for (size_t i = 0; i < n; i++) {
			lo = fmin(lo, r->x[row[i]][k]);
			hi = fmax(hi, r->x[row[i]][k]);
		}
		const double cut = lo + (hi - lo) * draw(g);
		const double left = hi > lo ? left_over(r, row, n, k, cut) : INFINITY;

		if (left < best) {
			best = left;
			*column = k;
			*at = cut;
		}
	}
	return isfinite(best);
}

static size_t grow(struct growing *g, size_t *row, size_t n)
{
	struct forest *const f = &g->r->forest;
	struct node node = {.column = 0};

	if (f->n == f->cap) {
		f->cap = f->cap == 0 ? 1024 : 2 * f->cap;
		f->node = realloc(f->node, f->cap * sizeof *f->node);
		assert(f->node != NULL);
	}
	const size_t at = f->n++;

	if (n > LEAF && find_split(g, row, n, &node.column, &node.at)) {
		size_t low = 0;

		for (size_t i = 0; i < n; i++) {
			if (g->r->x[row[i]][node.column] < node.at) {
				const size_t k = row[i];

				row[i] = row[low];
				row[low++] = k;
			}
		}
		node.child[0] = grow(g, row, low);
		node.child[1] = grow(g, row + low, n - low);
	} else {
		for (size_t i = 0; i < n; i++)
			for (size_t t = 0; t < BENCH_EPOCHS; t++)
				node.curve[t] += g->r->y[row[i]][t] / (double)n;
	}
	f->node[at] = node;
	return at;
}

static void grow_forest(struct recorded *r)
{
	size_t row[MOST];

	for (size_t k = 0; k < TREES; k++) {
		struct growing g = {.r = r, .seed = k + 1};

		for (size_t i = 0; i < r->n; i++)
			row[i] = i;
		r->forest.root[k] = grow(&g, row, r->n);
	}
}

static void foretell(const struct forest *f, const double *x, double *curve)
{
	for (size_t t = 0; t < BENCH_EPOCHS; t++)
		curve[t] = 0;
	for (size_t k = 0; k < TREES; k++) {
		const struct node *at = &f->node[f->root[k]];

		while (at->child[0] != 0)
			at = &f->node[at->child[x[at->column] >= at->at]];
		for (size_t t = 0; t < BENCH_EPOCHS; t++)
			curve[t] += at->curve[t] / TREES;
	}
}

/* ---- the family ---- */

/* What was searched there: the columns of each table. */
static const struct searched {
	const char *name;
	size_t n;
	struct sw_param param[MAX_SEARCHED];
	size_t only_sgd; /* a parameter of the first choice of parameter 0; 0: none */
} searched[] = {
	{.name = "digits",
	 .n = 7,
	 .param = {CHOICE(2), LOG(1e-4, 3), REAL(0, 0.99), LOG(1e-6, 0.3), POW2(16, 256),
		   INT_LOG(8, 128), REAL(0, 0.7)},
	 .only_sgd = 2},
	{.name = "breast_cancer",
	 .n = 6,
	 .param = {CHOICE(2), LOG(1e-5, 1), LOG(1e-6, 1), POW2(8, 128), CHOICE(3), INT_LOG(2, 64)}},
	{.name = "diabetes",
	 .n = 6,
	 .param = {CHOICE(2), LOG(1e-5, 10), LOG(1e-5, 10), POW2(8, 128), INT(1, 64),
		   REAL(0, 0.7)}},
	/* gradient boosting: rate, depth, least rows of a leaf, share of rows, share of columns */
	{.name = "boost",
	 .n = 5,
	 .param = {LOG(0.003, 1), INT(1, 6), INT_LOG(1, 50), REAL(0.2, 1), REAL(0.1, 1)}},
};

const char *bench_recorded_name(size_t i)
{
	return i < sizeof searched / sizeof *searched ? searched[i].name : NULL;
}

static struct sw_space *space(void *ctx)
{
	const struct searched *const from = &searched[((const struct recorded *)ctx)->which];
	struct sw_space *const s = bench_space_new();
	const struct sw_value sgd = {.choice = 0};

	for (size_t k = 0; k < from->n; k++)
		bench_add(s, from->param[k]);
	if (from->only_sgd > 0) {
		const sw_status rc = sw_space_when(s, from->only_sgd, 0, &sgd, 1, NULL);
		assert(rc == SW_OK);
	}
	bench_space_seal(s);
	return s;
}

/* Which of the trainings whose level is among the NEAR nearest. */
static size_t find_noise(const struct recorded *r, double level, size_t rank)
{
	bool taken[MOST * REPEATS] = {false};
	size_t at = 0;

	for (size_t k = 0; k <= rank; k++) {
		double best = INFINITY;

		for (size_t i = 0; i < r->n_twins; i++) {
			if (!taken[i] && fabs(r->level[i] - level) < best) {
				best = fabs(r->level[i] - level);
				at = i;
			}
		}
		taken[at] = true;
	}
	return at;
}

static double curve(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial, double *out)
{
	const struct recorded *const r = ctx;
	struct sw_value plain[MAX_D];
	double x[MAX_D];

	memcpy(plain, v, r->d * sizeof *plain);
	sw_space_canonical(r->space, plain);
	sw_space_encode(r->space, plain, x);
	foretell(&r->forest, x, out);
	const double truth = out[BENCH_EPOCHS - 1];
	const size_t noise = find_noise(r, truth, (size_t)(bench_unit(seed, trial, 0x7265) * NEAR));

	for (size_t t = 0; t < BENCH_EPOCHS; t++)
		out[t] = exp(out[t] + r->residual[noise][t]);
	return exp(truth);
}

static void destroy(void *ctx)
{
	struct recorded *const r = ctx;

	sw_space_destroy(r->space);
	free(r->forest.node);
	free(r);
}

int bench_recorded_open(struct bench_family *out, size_t i)
{
	struct recorded *const r = calloc(1, sizeof *r);
	const char *const name = bench_recorded_name(i);
	char path[256];

	assert(r != NULL);
	r->which = i;
	r->space = space(r);
	r->d = sw_space_size(r->space);
	assert(r->d <= MAX_D);
	(void)snprintf(path, sizeof path, "bench/curves/%s.csv", name);
	if (!read_table(r, path)) {
		(void)fprintf(stderr, "%s: no table of curves (from the root of the tree?)\n",
			      path);
		destroy(r);
		return -1;
	}
	grow_forest(r);
	*out = (struct bench_family){
		.name = name, .space = space, .curve = curve, .ctx = r, .free_ctx = destroy};
	return 0;
}
