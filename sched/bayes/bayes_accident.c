/*
 * Trials that FAILED for nothing that has to do with their point: a machine that went down, a
 * process that was killed. One of them beside the best, held for a value worse than all, bends the
 * model where it should be sharpest.
 *
 * A Gaussian process on the labels (1: it failed or was infeasible, 0: it ended well, or has values
 * at rungs and did not fail), which expects noise, says of each failure how likely the other trials
 * make it: leave-one-out, by Rasmussen and Williams, section 5.4.2, but for the mean, which is that
 * of all. One that they make likelier than not is explained by where it is, and stays a row below
 * the worst; the others are left out. So a single failure teaches nothing until a second one beside
 * it confirms it, and where failures are noise none does, as long as less than half of the trials
 * fail: from there on the process's mean calls each failure likely, and they are believed. What is
 * INFEASIBLE (diverged, out of memory, or as a client says) stands as it is.
 *
 * docs/search.md has what the search gains, and what it costs where failures do have a cause.
 */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST  200 /* that the process knows */
#define EACH_LEAST 40  /* of them, of each label, where there are as many */
#define EVALS_MOST 60
#define EVALS_ROWS 4000 /* evaluations of the likelihood, times rows */
#define TOLERANCE  0.02
#define FIRST      8   /* observations at which verdicts are due, then after each tenth more */
#define BATCH      128 /* failures that the process is asked about at once */

enum label { UNKNOWN, WELL, INFEASIBLE, FAILED };

sw_status sw_bayes_accidents_init(struct sw_bayes_accidents *a, const struct sw_bayes_cube *cube)
{
	const struct sw_gp_config config = {
		.d = cube->d, .kernel = SW_GP_MATERN52, .noisy = true, .category = cube->category};

	*a = (struct sw_bayes_accidents){.n = 0};
	return sw_gp_create(&a->gp, &config);
}

void sw_bayes_accidents_fini(struct sw_bayes_accidents *a)
{
	sw_gp_destroy(a->gp);
	free(a->is);
	free(a->was);
	free(a->label);
	free(a->subject);
	free(a->x);
	free(a->known.x);
	free(a->known.y);
	free(a->known.metrics);
	free(a->known.bad);
	free(a->known.trial);
	*a = (struct sw_bayes_accidents){.gp = NULL};
}

void sw_bayes_accidents_drop(struct sw_bayes_accidents *a)
{
	a->judged = a->n = 0;
	if (a->trials > 0)
		memset(a->is, 0, a->trials * sizeof *a->is);
}

static sw_status reserve(struct sw_bayes_accidents *a, const struct sw_history *h, size_t d)
{
	const size_t trials = (size_t)h->trials, subjects = h->n_prior + trials;

	if (a->x == NULL && !sw_array_resize(&a->x, (ROWS_MOST + BATCH) * (d + 2), sizeof *a->x))
		return SW_NOMEM;
	if (trials > a->trials) {
		const size_t cap = 2 * trials;

		if (!sw_array_resize(&a->is, cap, sizeof *a->is) ||
		    !sw_array_resize(&a->was, cap, sizeof *a->was) ||
		    !sw_array_resize(&a->label, cap, sizeof *a->label))
			return SW_NOMEM;
		memset(a->is + a->trials, 0, (cap - a->trials) * sizeof *a->is);
		a->trials = cap;
	}
	return sw_array_reserve(&a->subject, &a->subjects, subjects, sizeof *a->subject) ? SW_OK
											 : SW_NOMEM;
}

/* ---- verdicts ---- */

/* How many of the observations verdicts rest on; 0: none failed. A failure is judged at once. */
static size_t due_at(const struct sw_history *h)
{
	/* Follows from the log alone: whenever it is read, verdicts rest on the same
	 * observations. */
	size_t grown = 0, failed = h->n_obs;

	while (failed > 0 && h->obs[failed - 1].kind != SW_OBS_FAILED)
		failed--;
	if (failed == 0)
		return 0;
	for (size_t next = FIRST; next <= h->n_obs; next += next / 10 > 1 ? next / 10 : 1)
		grown = next;
	return failed > grown ? failed : grown;
}

/* By the first n observations. */
static void read_labels(struct sw_bayes_accidents *a, const struct sw_history *h, size_t n)
{
	memset(a->label, UNKNOWN, a->trials);
	for (size_t i = 0; i < n; i++) {
		unsigned char *const label = &a->label[h->obs[i].trial - 1];

		switch (h->obs[i].kind) {
		case SW_OBS_RUNG:
		case SW_OBS_FINAL:
		case SW_OBS_PRUNED:
			*label = *label == UNKNOWN ? WELL : *label;
			break;
		case SW_OBS_INFEASIBLE:
			*label = INFEASIBLE;
			break;
		case SW_OBS_FAILED:
			*label = FAILED;
			break;
		case SW_OBS_NONE:
			break;
		}
	}
}

/* Keeps `most` of the n subjects in list, in order: half of them the latest, the rest evenly from
 * those before. Returns how many. */
static size_t thin(size_t *list, size_t n, size_t most)
{
	const size_t latest = most / 2, spread = most - latest;

	if (n <= most)
		return n;
	for (size_t i = 0; i < spread; i++)
		list[i] = list[i * (n - latest) / spread];
	memmove(list + spread, list + n - latest, latest * sizeof *list);
	return most;
}

/* Chooses the subjects that the process is to know, and returns how many they are: first *bad of
 * them, which are labelled 1. Each label keeps its share, so that the noise is what it is. */
static size_t choose(struct sw_bayes_accidents *a, const struct sw_history *h, size_t *bad)
{
	size_t n_bad = 0, n_well = 0;

	for (uint64_t t = 0; t < h->trials; t++) {
		if (a->label[t] >= INFEASIBLE)
			a->subject[n_bad++] = h->n_prior + (size_t)t;
	}
	for (size_t i = 0; i < h->n_prior; i++)
		a->subject[n_bad + n_well++] = i;
	for (uint64_t t = 0; t < h->trials; t++) {
		if (a->label[t] == WELL)
			a->subject[n_bad + n_well++] = h->n_prior + (size_t)t;
	}
	assert(n_bad > 0);
	size_t room = n_bad * ROWS_MOST / (n_bad + n_well);

	/* Enough rows of either label stay to be seen, though the rarer one then counts more than
	 * its share. */
	room = room < EACH_LEAST ? EACH_LEAST : room;
	room = room > ROWS_MOST - EACH_LEAST ? ROWS_MOST - EACH_LEAST : room;
	if (n_well < ROWS_MOST - room)
		room = ROWS_MOST - n_well;
	*bad = thin(a->subject, n_bad, room);
	const size_t well = thin(a->subject + n_bad, n_well, ROWS_MOST - *bad);

	memmove(a->subject + *bad, a->subject + n_bad, well * sizeof *a->subject);
	return *bad + well;
}

/* The mean of a row's label by all other rows. mean and var are of the latent function, given all
 * rows; taking out this row's likelihood, of noise sn, leads from the one to the other. */
static double without_itself(double mean, double var, double z, double sn)
{
	return (mean / var - z / sn) / (1 / var - 1 / sn);
}

struct labels {
	size_t bad;               /* of the rows, the first */
	double z_bad, z_half, sn; /* the label 1, the middle, the noise: standardised */
	size_t next;              /* of the rows: those before it were met */
	double *x, *mean, *var;   /* [BATCH][d], [BATCH] */
	uint64_t trial[BATCH];    /* of the failures that the process is to be asked about */
	size_t n;
};

static sw_status ask_about(struct sw_bayes_accidents *a, struct labels *l, size_t n_prior)
{
	const sw_status rc = sw_gp_predict_batch(a->gp, l->x, l->n, l->mean, l->var);

	for (size_t i = 0; rc == SW_OK && i < l->n; i++) {
		double mean = l->mean[i];

		while (l->next < l->bad && a->subject[l->next] < n_prior + l->trial[i] - 1)
			l->next++;
		if (l->next < l->bad && a->subject[l->next] == n_prior + l->trial[i] - 1)
			mean = without_itself(mean, l->var[i], l->z_bad, l->sn);
		/* Less likely than not, given all the others: nothing about the point explains the
		 * failure. */
		a->is[l->trial[i] - 1] = mean < l->z_half;
		a->n += mean < l->z_half;
	}
	l->n = 0;
	return rc;
}

/* The process, conditioned on the first rows of the scratch. */
static sw_status condition(struct sw_bayes_accidents *a, const struct sw_bayes_cube *cube,
			   const struct sw_history *h, size_t rows, struct labels *l)
{
	const size_t d = cube->d, evals = EVALS_ROWS / rows;
	const struct sw_gp_fit_options options = {.max_evals = evals < EVALS_MOST ? (unsigned)evals
										  : EVALS_MOST,
						  .tolerance = TOLERANCE};
	const double share = (double)l->bad / (double)rows, sd = sqrt(share * (1 - share));
	double *const z = a->x + ROWS_MOST * d, theta[SW_SPACE_MAX_PARAMS + 2], f;

	for (size_t i = 0; i < rows; i++) {
		sw_bayes_cube_subject(cube, h, a->subject[i], a->x + i * d);
		z[i] = ((i < l->bad ? 1 : 0) - share) / sd;
	}
	sw_gp_theta_default(a->gp, theta);
	const sw_status rc = sw_gp_fit(a->gp, a->x, z, rows, theta, &options, &f);

	l->z_bad = z[0];
	l->z_half = (0.5 - share) / sd;
	l->sn = exp(theta[d + 1]);
	return rc != SW_OK ? rc : sw_gp_set(a->gp, a->x, z, rows, theta);
}

static sw_status judge(struct sw_bayes_accidents *a, const struct sw_bayes_cube *cube,
		       const struct sw_history *h, size_t n_obs)
{
	struct labels l = {.x = a->x + ROWS_MOST * (cube->d + 2)};

	l.mean = l.x + BATCH * cube->d;
	l.var = l.mean + BATCH;
	read_labels(a, h, n_obs);
	const size_t rows = choose(a, h, &l.bad);

	if (l.bad == rows)
		return SW_OK; /* nothing went well yet, so nothing says that one might have */
	sw_status rc = condition(a, cube, h, rows, &l);

	for (uint64_t t = 1; rc == SW_OK && t <= h->trials; t++) {
		if (a->label[t - 1] != FAILED)
			continue;
		sw_bayes_cube_subject(cube, h, h->n_prior + (size_t)t - 1, l.x + l.n * cube->d);
		l.trial[l.n++] = t;
		if (l.n == BATCH)
			rc = ask_about(a, &l, h->n_prior);
	}
	if (rc == SW_OK && l.n > 0)
		rc = ask_about(a, &l, h->n_prior);
	return rc;
}

sw_status sw_bayes_accidents_judge(struct sw_bayes_accidents *a, const struct sw_bayes_cube *cube,
				   const struct sw_history *h, bool *changed)
{
	const size_t due = due_at(h);
	sw_status rc;

	*changed = false;
	if (due == a->judged)
		return SW_OK;
	rc = reserve(a, h, cube->d);
	if (rc != SW_OK)
		return rc;
	memcpy(a->was, a->is, a->trials * sizeof *a->was);
	sw_bayes_accidents_drop(a);
	rc = due > 0 ? judge(a, cube, h, due) : SW_OK;
	*changed = rc != SW_OK || memcmp(a->was, a->is, a->trials * sizeof *a->was) != 0;
	if (rc == SW_OK)
		a->judged = due;
	else
		sw_bayes_accidents_drop(a);
	return rc;
}

bool sw_bayes_accidents_has(const struct sw_bayes_accidents *a, uint64_t trial)
{
	return trial > 0 && trial <= a->trials && a->is[trial - 1];
}

/* ---- the rows that count ---- */

static sw_status reserve_known(struct sw_bayes_accidents *a, const struct sw_bayes_data *b)
{
	struct sw_bayes_data *const k = &a->known;
	const size_t cap = 2 * b->n;

	if (b->n <= a->rows)
		return SW_OK;
	if (!sw_array_resize(&k->x, cap * b->cube->d, sizeof *k->x) ||
	    !sw_array_resize(&k->y, cap, sizeof *k->y) ||
	    !sw_array_resize(&k->bad, cap, sizeof *k->bad) ||
	    !sw_array_resize(&k->trial, cap, sizeof *k->trial) ||
	    (b->n_metrics > 1 &&
	     !sw_array_resize(&k->metrics, cap * b->n_metrics, sizeof *k->metrics)))
		return SW_NOMEM;
	a->rows = cap;
	return SW_OK;
}

sw_status sw_bayes_accidents_known(struct sw_bayes_accidents *a, struct sw_bayes_data *b,
				   struct sw_bayes_data **known)
{
	const size_t d = b->cube->d, m = b->n_metrics;
	struct sw_bayes_data *const k = &a->known;
	const sw_status rc = a->n > 0 ? reserve_known(a, b) : SW_OK;

	*known = b;
	if (rc != SW_OK || a->n == 0)
		return rc;
	const struct sw_bayes_data own = *k;

	*k = *b; /* what is pending, and the order of the results, are the same */
	k->x = own.x;
	k->y = own.y;
	k->metrics = own.metrics;
	k->bad = own.bad;
	k->trial = own.trial;
	k->all = b;
	k->n = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (sw_bayes_accidents_has(a, b->trial[i]))
			continue;
		const size_t n = k->n++;

		memcpy(k->x + n * d, b->x + i * d, d * sizeof *k->x);
		k->y[n] = b->y[i];
		k->bad[n] = b->bad[i];
		k->trial[n] = b->trial[i];
		if (m > 1)
			memcpy(k->metrics + n * m, b->metrics + i * m, m * sizeof *k->metrics);
		if (i == b->best)
			k->best = n;
	}
	*known = k;
	return SW_OK;
}
