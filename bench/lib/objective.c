#include "bench/lib/objective.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SD_POINTS 10000
#define FLAKY     (1.0 / 9)
#define EDGE      0.02

struct state {
	const struct bench_function *f;
	enum bench_form form;
	double r[BENCH_MAX_D][BENCH_MAX_D]; /* rotated: rows are orthonormal */
	double noise_sd;
};

/* Gram and Schmidt on normal draws, twice a row for the digits. */
static void make_rotation(struct state *s)
{
	const size_t d = s->f->d;
	unsigned long long key = 0;

	for (const char *p = s->f->name; *p != '\0'; p++)
		key = key * 131 + (unsigned char)*p;
	for (size_t i = 0; i < d; i++) {
		double *row = s->r[i], norm = 0;

		for (unsigned k = 0; k < d; k++)
			row[k] = bench_normal(key, i, k);
		for (size_t pass = 0; pass < 2 * i; pass++) {
			const double *other = s->r[pass % i];
			double dot = 0;

			for (size_t k = 0; k < d; k++)
				dot += row[k] * other[k];
			for (size_t k = 0; k < d; k++)
				row[k] -= dot * other[k];
		}
		for (size_t k = 0; k < d; k++)
			norm += row[k] * row[k];
		for (size_t k = 0; k < d; k++)
			row[k] /= sqrt(norm);
	}
}

/* x -> where f is looked at. */
static void rotate(const struct state *s, const double *x, double *out)
{
	const struct bench_function *f = s->f;

	for (size_t i = 0; i < f->d; i++) {
		double u = 0;

		for (size_t k = 0; k < f->d; k++)
			u += s->r[i][k] * (x[k] - f->at[k]) / (f->hi[k] - f->lo[k]);
		out[i] = f->at[i] + u * (f->hi[i] - f->lo[i]);
		if (f->boxed)
			out[i] = fmin(f->hi[i], fmax(f->lo[i], out[i]));
	}
}

static double truth(const struct state *s, const double *x)
{
	double turned[BENCH_MAX_D];

	if (s->form != BENCH_ROTATED)
		return s->f->value(x, s->f->d);
	rotate(s, x, turned);
	return s->f->value(turned, s->f->d);
}

/* Beyond the edge? */
static bool is_beyond(const struct bench_function *f, const double *x)
{
	const double side = f->hi[0] - f->lo[0], past = (x[0] - f->at[0]) / side;

	return (f->at[0] - f->lo[0] > side / 2 ? past : -past) > EDGE;
}

static bool value(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		  struct bench_value *out)
{
	const struct state *s = ctx;
	const struct bench_function *f = s->f;
	double x[BENCH_MAX_D];

	for (size_t k = 0; k < f->d; k++)
		x[k] = v[k].number;
	out->truth = truth(s, x);
	out->seen = out->truth;
	if (s->form == BENCH_NOISY)
		out->seen += s->noise_sd * bench_normal(seed ^ 0x6e6f697365u, trial, 0);
	if (s->form == BENCH_FLAKY)
		return bench_unit(seed ^ 0x666c616b79u, trial, 0) >= FLAKY;
	return s->form != BENCH_EDGED || !is_beyond(f, x);
}

static double deviation(const struct state *s)
{
	const struct bench_function *f = s->f;
	double mean = 0, squares = 0, x[BENCH_MAX_D];

	for (unsigned i = 0; i < SD_POINTS; i++) {
		for (unsigned k = 0; k < f->d; k++)
			x[k] = f->lo[k] + (f->hi[k] - f->lo[k]) * bench_unit(2, i, k);
		const double y = truth(s, x), off = y - mean;
		mean += off / (double)(i + 1);
		squares += off * (y - mean);
	}
	return sqrt(squares / SD_POINTS);
}

struct sw_space *bench_space_new(void)
{
	struct sw_space *s = NULL;
	const sw_status rc = sw_space_create(&s);

	assert(rc == SW_OK && s != NULL);
	return s;
}

void bench_space_seal(struct sw_space *s)
{
	const sw_status rc = sw_space_seal(s, NULL);

	assert(rc == SW_OK);
}

struct sw_space *bench_space_cube(size_t d, double min, double max)
{
	struct sw_space *const s = bench_space_new();

	for (size_t k = 0; k < d; k++)
		bench_add(s, (struct sw_param){.dist = SW_DIST_UNIFORM, .min = min, .max = max});
	bench_space_seal(s);
	return s;
}

void bench_add(struct sw_space *s, struct sw_param p)
{
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_space_add(s, &p, &err);

	if (rc != SW_OK)
		(void)fprintf(stderr, "a space: %s\n", err.msg);
	assert(rc == SW_OK);
}

struct bench_objective *bench_objective_function(const struct bench_function *f,
						 enum bench_form form)
{
	static const char *const suffix[BENCH_FORM_N] = {"", "/rot", "/noisy", "/flaky", "/edge"};
	struct bench_objective *o = calloc(1, sizeof *o);
	struct state *s = calloc(1, sizeof *s);

	assert(o != NULL && s != NULL);
	s->f = f;
	s->form = form;
	if (form == BENCH_ROTATED)
		make_rotation(s);
	*o = (struct bench_objective){.optimum = f->value(f->at, f->d),
				      .scale = 1,
				      .crashes = form == BENCH_FLAKY || form == BENCH_EDGED,
				      .value = value,
				      .ctx = s};
	(void)snprintf(o->name, sizeof o->name, "%s%s", f->name, suffix[form]);
	if (form == BENCH_NOISY) {
		o->scale = deviation(s);
		s->noise_sd = 0.1 * o->scale;
	}
	o->space = bench_space_new();
	for (size_t k = 0; k < f->d; k++)
		bench_add(o->space, (struct sw_param){.dist = SW_DIST_UNIFORM,
						      .min = f->lo[k],
						      .max = f->hi[k]});
	bench_space_seal(o->space);
	return o;
}

void bench_objective_destroy(struct bench_objective *o)
{
	if (o == NULL)
		return;
	free(o->ctx);
	sw_space_destroy(o->space);
	free(o);
}
