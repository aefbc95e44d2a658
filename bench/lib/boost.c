#include "bench/lib/boost.h"
#include "bench/lib/objective.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 32
#define HELD_OUT    5 /* every fifth row, in a shuffled order */

struct bench_boost {
	size_t rows, columns, train; /* the first `train` rows are trained on */
	double *x, *y;               /* [rows][columns], [rows]; y: mean 0 over the train rows */
	double var;                  /* of the held-out targets */
};

static bool read_row(struct bench_boost *b, size_t *cap, const char *line)
{
	double v[MAX_COLUMNS + 1];
	size_t n = 0;
	char *end;

	for (const char *at = line; n <= MAX_COLUMNS; at = end + 1) {
		v[n++] = strtod(at, &end);
		if (end == at)
			return false;
		if (*end != ',')
			break;
	}
	if (n < 2 || (b->rows > 0 && n - 1 != b->columns))
		return false;
	b->columns = n - 1;
	if (b->rows == *cap) {
		*cap = *cap == 0 ? 256 : 2 * *cap;
		b->x = realloc(b->x, *cap * b->columns * sizeof *b->x);
		b->y = realloc(b->y, *cap * sizeof *b->y);
		assert(b->x != NULL && b->y != NULL);
	}
	memcpy(b->x + b->rows * b->columns, v, b->columns * sizeof *v);
	b->y[b->rows++] = v[b->columns];
	return true;
}

/* A fixed order by chance, so that the last fifth is as the rest. */
static void shuffle(struct bench_boost *b)
{
	for (size_t i = b->rows; i-- > 1;) {
		const size_t k = (size_t)(bench_unit(1, i, 0x626f) * (double)(i + 1));
		double *const xi = b->x + i * b->columns, *const xk = b->x + k * b->columns;
		const double y = b->y[i];

		b->y[i] = b->y[k];
		b->y[k] = y;
		for (size_t c = 0; c < b->columns; c++) {
			const double x = xi[c];

			xi[c] = xk[c];
			xk[c] = x;
		}
	}
}

static void centre(struct bench_boost *b)
{
	double mean = 0, held = 0;

	b->train = b->rows - b->rows / HELD_OUT;
	for (size_t i = 0; i < b->train; i++)
		mean += b->y[i] / (double)b->train;
	for (size_t i = 0; i < b->rows; i++)
		b->y[i] -= mean;
	for (size_t i = b->train; i < b->rows; i++)
		held += b->y[i] / (double)(b->rows - b->train);
	b->var = 0;
	for (size_t i = b->train; i < b->rows; i++)
		b->var += (b->y[i] - held) * (b->y[i] - held) / (double)(b->rows - b->train);
}

struct bench_boost *bench_boost_open(const char *path)
{
	struct bench_boost *const b = calloc(1, sizeof *b);
	FILE *const f = fopen(path, "r");
	char line[1024];
	size_t cap = 0;
	bool ok = f != NULL && fgets(line, sizeof line, f) != NULL;

	assert(b != NULL);
	while (ok && fgets(line, sizeof line, f) != NULL)
		ok = read_row(b, &cap, line);
	if (f != NULL)
		(void)fclose(f);
	if (!ok || b->rows < 2 * (size_t)HELD_OUT) {
		(void)fprintf(stderr, "%s: no table of numbers\n", path);
		bench_boost_close(b);
		return NULL;
	}
	shuffle(b);
	centre(b);
	return b;
}

void bench_boost_close(struct bench_boost *b)
{
	if (b == NULL)
		return;
	free(b->x);
	free(b->y);
	free(b);
}

struct sw_space *bench_boost_space(void)
{
	static const struct sw_param params[BENCH_BOOST_D] = {
		{.dist = SW_DIST_LOG_UNIFORM, .min = 0.003, .max = 1},
		{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 6},
		{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 50},
		{.dist = SW_DIST_UNIFORM, .min = 0.2, .max = 1},
		{.dist = SW_DIST_UNIFORM, .min = 0.1, .max = 1}};
	struct sw_space *const s = bench_space_new();

	for (size_t k = 0; k < BENCH_BOOST_D; k++)
		bench_add(s, params[k]);
	bench_space_seal(s);
	return s;
}

/* ---- one tree ---- */

struct boosting {
	const struct bench_boost *b;
	double rate, row_share, column_share;
	size_t depth, leaf;
	uint64_t seed;
	unsigned draw;
	double *f, *residual; /* [rows], [train] */
	size_t *row;       /* [train]: the rows that the tree sees first, node by node in order */
	size_t *held;      /* [rows]: all rows, parted along the same splits */
	double (*pair)[2]; /* [train]: value and residual, to be sorted */
};

static double unit(struct boosting *s)
{
	return bench_unit(s->seed, s->draw++, 0x7472);
}

static int by_value(const void *va, const void *vb)
{
	const double a = *(const double *)va, b = *(const double *)vb;

	return (a > b) - (a < b);
}

struct split {
	double gain, at;
	size_t column;
};

/* The split of these rows by one column that leaves the least squares. */
static void try_column(struct boosting *s, const size_t *row, size_t n, size_t column,
		       struct split *best)
{
	double sum = 0, left = 0;

	for (size_t i = 0; i < n; i++) {
		s->pair[i][0] = s->b->x[row[i] * s->b->columns + column];
		s->pair[i][1] = s->residual[row[i]];
		sum += s->pair[i][1];
	}
	qsort(s->pair, n, sizeof *s->pair, by_value);
	for (size_t i = 0; i + 1 < n; i++) {
		const double nl = (double)(i + 1), nr = (double)(n - i - 1);

		left += s->pair[i][1];
		if (i + 1 < s->leaf || n - i - 1 < s->leaf || s->pair[i][0] >= s->pair[i + 1][0])
			continue;
		const double gain =
			left * left / nl + (sum - left) * (sum - left) / nr - sum * sum / (double)n;
		if (gain > best->gain)
			*best = (struct split){.gain = gain,
					       .at = (s->pair[i][0] + s->pair[i + 1][0]) / 2,
					       .column = column};
	}
}

/* Those at or below first; how many they are. */
static size_t part(const struct bench_boost *b, size_t *row, size_t n, const struct split *split)
{
	size_t low = 0;

	for (size_t i = 0; i < n; i++) {
		if (b->x[row[i] * b->columns + split->column] <= split->at) {
			const size_t r = row[i];

			row[i] = row[low];
			row[low++] = r;
		}
	}
	return low;
}

/* row[n]: of the tree; all[m]: rows whose f the node's value is added to. Returns nothing: f has
 * it. Recursion: at most `depth` deep. */
static void grow(struct boosting *s, size_t *row, size_t n, size_t *all, size_t m, size_t depth)
{
	const struct bench_boost *const b = s->b;
	struct split best = {.gain = 1e-12};
	double mean = 0;

	if (depth > 0 && n >= 2 * s->leaf) {
		const size_t one = (size_t)(unit(s) * (double)b->columns); /* one at least */

		for (size_t c = 0; c < b->columns; c++) {
			const bool in = unit(s) < s->column_share;

			if (in || c == one)
				try_column(s, row, n, c, &best);
		}
	}
	if (best.gain > 1e-12) {
		const size_t low = part(b, row, n, &best), all_low = part(b, all, m, &best);

		grow(s, row, low, all, all_low, depth - 1);
		grow(s, row + low, n - low, all + all_low, m - all_low, depth - 1);
		return;
	}
	for (size_t i = 0; i < n; i++)
		mean += s->residual[row[i]] / (double)n;
	for (size_t i = 0; i < m; i++)
		s->f[all[i]] += s->rate * mean;
}

static void add_tree(struct boosting *s)
{
	const struct bench_boost *const b = s->b;
	size_t n = 0;

	for (size_t i = 0; i < b->train; i++)
		s->residual[i] = b->y[i] - s->f[i];
	for (size_t i = 0; i < b->rows; i++)
		s->held[i] = i;
	for (size_t i = 0; i < b->train; i++)
		if (unit(s) < s->row_share)
			s->row[n++] = i;
	if (n > 0)
		grow(s, s->row, n, s->held, b->rows, s->depth);
}

void bench_boost_curve(const struct bench_boost *b, const struct sw_value *v, uint64_t seed,
		       size_t steps, size_t trees, double *curve)
{
	struct boosting s = {.b = b,
			     .rate = v[0].number,
			     .depth = (size_t)v[1].number,
			     .leaf = (size_t)v[2].number,
			     .row_share = v[3].number,
			     .column_share = v[4].number,
			     .seed = seed};

	s.f = calloc(b->rows, sizeof *s.f);
	s.residual = calloc(b->train, sizeof *s.residual);
	size_t *const row = calloc(b->train + b->rows, sizeof *row);
	s.row = row;
	s.held = row + b->train;
	s.pair = calloc(b->train, sizeof *s.pair);
	assert(s.f != NULL && s.residual != NULL && row != NULL && s.pair != NULL);
	for (size_t k = 0; k < steps; k++) {
		double sum = 0;

		for (size_t t = 0; t < trees; t++)
			add_tree(&s);
		for (size_t i = b->train; i < b->rows; i++)
			sum += (b->y[i] - s.f[i]) * (b->y[i] - s.f[i]);
		curve[k] = sum / (double)(b->rows - b->train) / b->var;
	}
	free(s.f);
	free(s.residual);
	free(row);
	free(s.pair);
}
