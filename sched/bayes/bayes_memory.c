/* One suggestion hands this on to the next: the fits that the next ones start from, and the trust
 * region (Eriksson et al., "Scalable global optimization via local Bayesian optimization" (2019),
 * section 2, for its doubling and halving). */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC      0x31796162u /* "bay1" */
#define SIDE_START 0.4
#define SIDE_MAX   1.6
#define SIDE_MIN   0x1p-9
#define WIN_RUN    2
#define GAIN       0.01 /* of (median - best): what counts as getting on */

sw_status sw_bayes_memory_init(struct sw_bayes_memory *m, size_t d)
{
	*m = (struct sw_bayes_memory){.theta_n = 3 * d + 3};
	m->theta = sw_calloc(BAYES_KEPT_N * m->theta_n, sizeof *m->theta);
	if (m->theta == NULL)
		return SW_NOMEM;
	sw_bayes_memory_reset(m);
	return SW_OK;
}

void sw_bayes_memory_fini(struct sw_bayes_memory *m)
{
	free(m->theta);
	*m = (struct sw_bayes_memory){0};
}

void sw_bayes_memory_reset(struct sw_bayes_memory *m)
{
	double *const theta = m->theta;
	const size_t n = m->theta_n;

	memset(theta, 0, BAYES_KEPT_N * n * sizeof *theta);
	*m = (struct sw_bayes_memory){.side = SIDE_START, .theta = theta, .theta_n = n};
}

void sw_bayes_memory_copy(struct sw_bayes_memory *to, const struct sw_bayes_memory *from)
{
	double *const theta = to->theta;

	assert(to->theta_n == from->theta_n);
	*to = *from;
	to->theta = theta;
	memcpy(theta, from->theta, BAYES_KEPT_N * to->theta_n * sizeof *theta);
}

double *sw_bayes_memory_theta(const struct sw_bayes_memory *m, enum sw_bayes_model_id id)
{
	return m->theta + (size_t)id * m->theta_n;
}

/* ---- bytes ---- */

/* All words of 8 bytes, in the machine's order: a state goes back to the machine that made it. */
#define HEAD_WORDS  7
#define FIXED_WORDS (HEAD_WORDS + BAYES_KEPT_N)

size_t sw_bayes_memory_size(const struct sw_bayes_memory *m)
{
	return 8 * (FIXED_WORDS + m->n_local + BAYES_KEPT_N * m->theta_n);
}

static unsigned char *put_words(unsigned char *out, const void *from, size_t words)
{
	memcpy(out, from, 8 * words);
	return out + 8 * words;
}

void sw_bayes_memory_write(const struct sw_bayes_memory *m, unsigned char *out)
{
	const uint64_t head[] = {
		(uint64_t)m->theta_n << 32 | MAGIC, m->n_local, m->seen, m->steps, m->stall,
		(uint64_t)m->lost << 32 | m->won};

	out = put_words(out, head, sizeof head / 8);
	out = put_words(out, &m->side, 1);
	out = put_words(out, m->fitted, BAYES_KEPT_N);
	out = put_words(out, m->local, m->n_local);
	put_words(out, m->theta, BAYES_KEPT_N * m->theta_n);
}

sw_status sw_bayes_memory_read(struct sw_bayes_memory *m, const unsigned char *in, size_t n)
{
	uint64_t head[HEAD_WORDS - 1];
	double side;

	if (n < 8 * HEAD_WORDS)
		return SW_INVALID;
	memcpy(head, in, sizeof head);
	memcpy(&side, in + sizeof head, sizeof side);
	const size_t all = BAYES_KEPT_N * m->theta_n;

	if (head[0] != ((uint64_t)m->theta_n << 32 | MAGIC) || head[1] > BAYES_LOCAL_MAX ||
	    n != 8 * (FIXED_WORDS + head[1] + all) || !(side >= SIDE_MIN && side <= SIDE_MAX))
		return SW_INVALID;
	const unsigned char *const fitted = in + 8 * HEAD_WORDS;
	const unsigned char *const local = fitted + 8 * BAYES_KEPT_N;
	const unsigned char *const theta = local + 8 * head[1];

	/* Numbers of the fits go into exponentials and a factorisation: they are checked as
	 * well. */
	for (size_t i = 0; i < all; i++) {
		double t;

		memcpy(&t, theta + 8 * i, sizeof t);
		if (!(fabs(t) < 100))
			return SW_INVALID;
	}
	m->n_local = (uint32_t)head[1];
	m->seen = head[2];
	m->steps = head[3];
	m->stall = head[4];
	m->won = (uint32_t)head[5];
	m->lost = (uint32_t)(head[5] >> 32);
	m->side = side;
	memcpy(m->fitted, fitted, sizeof m->fitted);
	memcpy(m->local, local, 8 * m->n_local);
	memcpy(m->theta, theta, 8 * all);
	return SW_OK;
}

/* ---- trust region ---- */

static bool take_local(struct sw_bayes_memory *m, uint64_t trial)
{
	for (uint32_t i = 0; i < m->n_local; i++) {
		if (m->local[i] != trial)
			continue;
		m->n_local--;
		memmove(m->local + i, m->local + i + 1, (m->n_local - i) * sizeof *m->local);
		return true;
	}
	return false;
}

void sw_bayes_memory_add_local(struct sw_bayes_memory *m, uint64_t trial)
{
	if (m->n_local == BAYES_LOCAL_MAX)
		(void)take_local(m, m->local[0]);
	m->local[m->n_local++] = trial;
}

void sw_bayes_memory_forget(struct sw_bayes_memory *m, uint64_t trial)
{
	(void)take_local(m, trial);
}

void sw_bayes_memory_tell(struct sw_bayes_memory *m, size_t d, const struct sw_bayes_told *t)
{
	const bool better = !t->bad && (t->first || t->y < t->best);
	const bool gained = better && (t->first || t->best - t->y > GAIN * (t->median - t->best));
	/* A step succeeds more rarely in more dimensions, so the region stands more failures
	 * there. */
	const uint32_t lose_run = d / 2 > 3 ? (uint32_t)(d / 2) : 3;

	m->stall = gained ? 0 : m->stall + 1;
	/* Every result counts for the stall, but only those of local suggestions size the
	 * region. */
	if (t->trial == 0 || !take_local(m, t->trial))
		return;
	if (better) {
		m->won++;
		m->lost = 0;
	} else {
		m->lost++;
		m->won = 0;
	}
	if (m->won == WIN_RUN) {
		m->side = fmin(SIDE_MAX, 2 * m->side);
		m->won = 0;
	}
	if (m->lost == lose_run) {
		m->side /= 2;
		m->lost = 0;
	}
	/* A region this small has converged. The paper begins another elsewhere; this one opens
	 * again. */
	if (m->side < SIDE_MIN)
		m->side = SIDE_START;
}
