/*
 * bench/record.c — makes the curves in bench/curves/, on which asha runs, from real trainings.
 *
 * bench/lib/recorded.h has the format of a table. Run it to make the tables anew, or with --quick
 * to see how well the surrogate of each foretells.
 *
 * Tables   digits, breast_cancer, diabetes: the built-in trainer (val_loss of a fifth held out) on
 *          uniform random points of the spaces of bench_tune; diabetes over its target's variance.
 *          boost: gradient boosting on diabetes
 *          (bench/lib/boost.h), a step being 6 trees; its fast configurations are ahead at first
 *          and overfit, so that low rungs mislead.
 * Printed  What the surrogate's R2 of the logarithm of the final loss is on configurations that it
 *          has not seen, and the rank correlation of epochs 1, 3 and 9 with the last.
 */
#include "bench/lib/boost.h"
#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/recorded.h"
#include "bench/lib/tuning.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGURATIONS 350
#define REPEATS        3
#define ROWS           (CONFIGURATIONS + (REPEATS - 1) * BENCH_RECORDED_TWINS)
#define TREES          6
#define MAX_D          16
#define LEAST          (-9000) /* 1000 ln loss */
#define SEED           20
#define VARIANCE       5930.0 /* of diabetes' target: its losses then are as those of boost */

struct table {
	const char *name;
	const struct bench_objective *trained; /* NULL: boosted */
	const struct bench_boost *boost;
	struct sw_space *space;
	double unit; /* losses are divided by it */
};

/* Row i's configuration, and which of its trainings it is. */
static size_t configuration(size_t i, size_t *repeat)
{
	const size_t twins = (size_t)REPEATS * BENCH_RECORDED_TWINS;

	*repeat = i < twins ? i % REPEATS : 0;
	return i < twins ? i / REPEATS : i - twins + BENCH_RECORDED_TWINS;
}

static void point(const struct table *t, size_t c, struct sw_value *v)
{
	double u[MAX_D];
	const size_t d = sw_space_size(t->space);

	assert(d <= MAX_D);
	for (size_t k = 0; k < d; k++)
		u[k] = bench_unit(SEED, c + 1, (unsigned)k);
	sw_space_decode(t->space, u, v);
	sw_space_canonical(t->space, v);
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct table *const t = ctx;
	struct sw_value v[MAX_D];
	size_t repeat;
	const size_t c = configuration(i, &repeat);
	double *const curve = result;

	point(t, c, v);
	if (t->trained != NULL)
		bench_tuning_curve(t->trained, v, SEED, c * REPEATS + repeat + 1, 0, BENCH_EPOCHS,
				   curve);
	else
		bench_boost_curve(t->boost, v, c * REPEATS + repeat + 1, BENCH_EPOCHS, TREES,
				  curve);
}

static long stored(const struct table *t, double loss)
{
	loss /= t->unit;
	if (!isfinite(loss) || loss >= exp(BENCH_RECORDED_MOST / 1e3))
		return BENCH_RECORDED_MOST;
	return loss <= exp(LEAST / 1e3) ? LEAST : lround(1e3 * log(loss));
}

static int write_table(const struct table *t, double (*curve)[BENCH_EPOCHS])
{
	const size_t d = sw_space_size(t->space);
	char path[256];

	(void)snprintf(path, sizeof path, "bench/curves/%s.csv", t->name);
	FILE *const f = fopen(path, "w");
	if (f == NULL) {
		perror(path);
		return -1;
	}
	(void)fprintf(f, "configuration");
	for (size_t k = 0; k < d; k++)
		(void)fprintf(f, ",u%zu", k + 1);
	for (size_t e = 0; e < BENCH_EPOCHS; e++)
		(void)fprintf(f, ",e%zu", e + 1);
	for (size_t i = 0; i < ROWS; i++) {
		struct sw_value v[MAX_D];
		double u[MAX_D];
		size_t repeat;
		const size_t c = configuration(i, &repeat);

		point(t, c, v);
		sw_space_encode(t->space, v, u);
		(void)fprintf(f, "\n%zu", c);
		for (size_t k = 0; k < d; k++)
			(void)fprintf(f, ",%ld", (long)(u[k] * 10000));
		for (size_t e = 0; e < BENCH_EPOCHS; e++)
			(void)fprintf(f, ",%ld", stored(t, curve[i][e]));
	}
	(void)fprintf(f, "\n");
	return fclose(f) == 0 ? 0 : -1;
}

static int make(struct table *t, size_t jobs)
{
	const double from = bench_now();
	double(*const curve)[BENCH_EPOCHS] =
		bench_jobs_run(ROWS, sizeof *curve, jobs, run_one, t, "trainings");

	if (curve == NULL)
		return -1;
	const int rc = write_table(t, curve);

	bench_jobs_free(curve, ROWS, sizeof *curve);
	printf("%s: %d trainings in %.0f s\n", t->name, ROWS, bench_now() - from);
	return rc;
}

static int check(const char *name)
{
	struct bench_recorded_check c;
	struct bench_family f;

	if (bench_recorded_open(&f, name) != 0)
		return -1;
	bench_recorded_test(&f, &c);
	printf("%-14s R2 %.2f   rank correlation with the last epoch at 1, 3, 9: %.2f %.2f %.2f\n",
	       name, c.r2, c.rank[0], c.rank[1], c.rank[2]);
	bench_recorded_close(&f);
	return 0;
}

static int make_trained(struct table *t, size_t jobs)
{
	struct bench_trainer *const trainer = bench_trainer_create();
	struct bench_objective *o = NULL;
	size_t task = 0;

	while (strcmp(bench_tuning_name(task), t->name) != 0)
		task++;
	if (trainer != NULL)
		o = bench_objective_tuning(trainer, task, 1, 0, true);
	t->trained = o;
	const int rc = o != NULL ? make(t, jobs) : -1;

	bench_objective_destroy(o);
	bench_trainer_destroy(trainer);
	return rc;
}

static int make_boosted(struct table *t, size_t jobs)
{
	struct bench_boost *const b = bench_boost_open("data/diabetes.csv");

	t->boost = b;
	const int rc = b != NULL ? make(t, jobs) : -1;

	bench_boost_close(b);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.jobs = 1};
	const char *name;
	int rc = 0;

	if (bench_options_read(&o, "record", "data,jobs,quick",
			       "A,B  of digits breast_cancer diabetes boost (default all)", NULL,
			       argc, argv) != 0)
		return 2;
	for (size_t i = 0; rc == 0 && (name = bench_recorded_name(i)) != NULL; i++) {
		if (!bench_listed(o.subjects, name))
			continue;
		struct table t = {.name = name,
				  .space = bench_recorded_space(name),
				  .unit = strcmp(name, "diabetes") == 0 ? VARIANCE : 1};

		if (!o.quick && strcmp(name, "boost") == 0)
			rc = make_boosted(&t, o.jobs);
		else if (!o.quick)
			rc = make_trained(&t, o.jobs);
		if (rc == 0)
			rc = check(name);
		sw_space_destroy(t.space);
	}
	return rc == 0 ? 0 : 1;
}
