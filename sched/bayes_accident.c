/*
 * Failures that have nothing to do with the point: a machine that went down, a neighbour who took
 * the memory. One of them beside the best, held for a value worse than all, bends the model where
 * it should be sharpest.
 *
 * A Gaussian process on the labels (1: failed, 0: went well), which expects noise, says of each
 * failure how likely the other trials make it (leave-one-out: Rasmussen and Williams, section
 * 5.4.2). One that they make likelier than not is explained by where it is, and stays a row below
 * the worst; the others are left out. So a single failure is none to learn from until a second one
 * beside it confirms it, and where failures are noise none is.
 *
 * Of scattered failures 97 of 100 are told for what they are from 32 rows on, and of 100 behind an
 * edge, beyond a corner or a diagonal 80 to 99 (4 and 8 coordinates; docs/search.md has what the
 * search gains).
 */
#include "base/fault.h"
#include "sched/bayes.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST   200 /* that the process knows */
#define FAILED_MOST 80  /* of them failures, at least where there are as many */
#define EVALS_MOST  60
#define EVALS_ROWS  4000 /* evaluations of the likelihood, times rows */
#define TOLERANCE   0.02
#define FIRST       8 /* rows at which verdicts are due, then after each tenth more */

sw_status sw_bayes_accidents_init(struct bayes_accidents *a, const struct bayes_cube *cube)
{
	const struct sw_gp_config config = {
		.d = cube->d, .kernel = SW_GP_MATERN52, .noisy = true, .category = cube->category};

	*a = (struct bayes_accidents){.n = 0};
	return sw_gp_create(&a->gp, &config);
}

void sw_bayes_accidents_fini(struct bayes_accidents *a)
{
	sw_gp_destroy(a->gp);
	free(a->is);
	free(a->row);
	free(a->x);
	free(a->known.x);
	free(a->known.y);
	free(a->known.metrics);
	free(a->known.bad);
	free(a->known.trial);
	*a = (struct bayes_accidents){.gp = NULL};
}

void sw_bayes_accidents_drop(struct bayes_accidents *a)
{
	a->judged = a->n = 0;
}

/* *p: room for n of size bytes; what was there is lost. */
static bool renew(void *p, size_t n, size_t size)
{
	void **const at = p;

	free(*at);
	*at = sw_malloc(n * size);
	return *at != NULL;
}

static sw_status reserve(struct bayes_accidents *a, const struct bayes_data *b)
{
	struct bayes_data *const k = &a->known;
	const size_t d = b->cube->d;

	if (b->n <= a->cap)
		return SW_OK;
	const size_t cap = 2 * b->n;

	a->cap = 0; /* until all of it fits */
	sw_bayes_accidents_drop(a);
	if (!renew(&a->is, cap, sizeof *a->is) || !renew(&a->row, cap, sizeof *a->row) ||
	    (a->x == NULL && !renew(&a->x, ROWS_MOST * (d + 1), sizeof *a->x)) ||
	    !renew(&k->x, cap * d, sizeof *k->x) || !renew(&k->y, cap, sizeof *k->y) ||
	    !renew(&k->bad, cap, sizeof *k->bad) || !renew(&k->trial, cap, sizeof *k->trial))
		return SW_NOMEM;
	if (b->n_metrics > 1 && !renew(&k->metrics, cap * b->n_metrics, sizeof *k->metrics))
		return SW_NOMEM;
	a->cap = cap;
	return SW_OK;
}

/* ---- verdicts ---- */

/* How many of the first rows verdicts rest on: a function of the rows alone, so that who starts
 * anew judges as who went on. A failure is judged at once. */
static size_t due_at(const struct bayes_data *b)
{
	size_t grown = 0, failed = b->n;

	for (size_t next = FIRST; next <= b->n; next += next / 10 > 1 ? next / 10 : 1)
		grown = next;
	while (!b->bad[failed - 1])
		failed--;
	return failed > grown ? failed : grown;
}

/* Keeps `most` of the n rows in list, in order: half of them the latest, the rest evenly from those
 * before. Returns how many. */
static size_t thin(uint32_t *list, size_t n, size_t most)
{
	const size_t latest = most / 2, spread = most - latest;

	if (n <= most)
		return n;
	for (size_t i = 0; i < spread; i++)
		list[i] = list[i * (n - latest) / spread];
	memmove(list + spread, list + n - latest, latest * sizeof *list);
	return most;
}

/* The rows that the process is to know, from the first n: row[], the failures first, which are
 * *n_failed. Returns how many. */
static size_t choose(struct bayes_accidents *a, const struct bayes_data *b, size_t n,
		     size_t *n_failed)
{
	size_t failed = 0, well = 0;

	for (size_t i = 0; i < n; i++) {
		if (b->bad[i])
			a->row[failed++] = (uint32_t)i;
	}
	for (size_t i = 0; i < n; i++) {
		if (!b->bad[i])
			a->row[failed + well++] = (uint32_t)i;
	}
	const size_t spare = well < ROWS_MOST - FAILED_MOST ? ROWS_MOST - well : FAILED_MOST;
	const size_t kept = thin(a->row, failed, spare);
	const size_t rest = thin(a->row + failed, well, ROWS_MOST - kept);

	memmove(a->row + kept, a->row + failed, rest * sizeof *a->row);
	*n_failed = kept;
	return kept + rest;
}

/* What the rows but this one make of its label. var: of the latent function, given all of them; a
 * likelihood more of noise sn leads from the one to the other. */
static double without_itself(double mean, double var, double z, double sn)
{
	return (mean / var - z / sn) / (1 / var - 1 / sn);
}

/* is[] of the failures among the first n rows. */
static sw_status judge(struct bayes_accidents *a, const struct bayes_data *b, size_t n)
{
	const size_t d = b->cube->d;
	double *const z = a->x + ROWS_MOST * d, theta[SW_SPACE_MAX_PARAMS + 2], f, mean, var;
	size_t failed;
	const size_t rows = choose(a, b, n, &failed);
	const double share = (double)failed / (double)rows, sd = sqrt(share * (1 - share));
	const size_t evals = EVALS_ROWS / rows < EVALS_MOST ? EVALS_ROWS / rows : EVALS_MOST;
	const struct sw_gp_fit_options options = {.max_evals = (unsigned)evals,
						  .tolerance = TOLERANCE};
	const double half = (0.5 - share) / sd;

	assert(failed > 0);
	if (failed == rows)
		return SW_OK; /* nothing went well yet, so nothing says that one might have */
	for (size_t i = 0; i < rows; i++) {
		memcpy(a->x + i * d, b->x + a->row[i] * d, d * sizeof *a->x);
		z[i] = ((i < failed ? 1 : 0) - share) / sd;
	}
	sw_gp_theta_default(a->gp, theta);
	sw_status rc = sw_gp_fit(a->gp, a->x, z, rows, theta, &options, &f);

	if (rc == SW_OK)
		rc = sw_gp_set(a->gp, a->x, z, rows, theta);
	if (rc != SW_OK)
		return rc;
	for (size_t i = 0, known = 0; i < n; i++) {
		if (!b->bad[i])
			continue;
		sw_gp_predict(a->gp, b->x + i * d, &mean, &var, NULL, NULL);
		if (known < failed && a->row[known] == i)
			mean = without_itself(mean, var, z[known++], exp(theta[d + 1]));
		a->is[i] = mean < half;
		a->n += a->is[i];
	}
	return SW_OK;
}

/* ---- the rows that count ---- */

bool sw_bayes_accidents_has(const struct bayes_accidents *a, size_t row)
{
	return a->n > 0 && row < a->judged && a->is[row];
}

static void copy_known(struct bayes_accidents *a, const struct bayes_data *b)
{
	struct bayes_data *const k = &a->known;
	const size_t d = b->cube->d, m = b->n_metrics;
	double *const x = k->x, *const y = k->y, *const metrics = k->metrics;
	bool *const bad = k->bad;
	uint64_t *const trial = k->trial;
	size_t n = 0;

	*k = *b; /* what is pending, and the order of the results, are the same */
	k->x = x;
	k->y = y;
	k->metrics = metrics;
	k->bad = bad;
	k->trial = trial;
	k->all = b;
	for (size_t i = 0; i < b->n; i++) {
		if (sw_bayes_accidents_has(a, i))
			continue;
		memcpy(x + n * d, b->x + i * d, d * sizeof *x);
		y[n] = b->y[i];
		bad[n] = b->bad[i];
		trial[n] = b->trial[i];
		if (m > 1)
			memcpy(metrics + n * m, b->metrics + i * m, m * sizeof *metrics);
		if (i == b->best)
			k->best = n;
		n++;
	}
	k->n = n;
}

sw_status sw_bayes_accidents_judge(struct bayes_accidents *a, struct bayes_data *b,
				   struct bayes_data **known, bool *changed)
{
	*known = b;
	*changed = false;
	if (b->n == b->n_good || b->n_good == 0)
		return SW_OK;
	assert(a->judged <= b->n);
	const size_t due = due_at(b);
	sw_status rc = reserve(a, b);

	if (rc != SW_OK)
		return rc;
	if (due != a->judged) {
		const size_t before = a->n;
		bool *const was = a->known.bad; /* is made anew below */

		memcpy(was, a->is, a->judged * sizeof *was);
		memset(was + a->judged, 0, (b->n - a->judged) * sizeof *was);
		sw_bayes_accidents_drop(a);
		memset(a->is, 0, b->n * sizeof *a->is);
		*changed = true;
		rc = judge(a, b, due);
		if (rc != SW_OK)
			return rc;
		a->judged = due;
		*changed = a->n != before || memcmp(was, a->is, b->n * sizeof *was) != 0;
	}
	if (a->n == 0)
		return SW_OK;
	copy_known(a, b);
	*known = &a->known;
	return SW_OK;
}
