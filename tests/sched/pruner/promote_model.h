/* tests/sched/pruner/promote_model.h — sweeps of the promote variant by a plain model of the
 * paper's get_job (Li et al., arXiv:1810.05934, Algorithm 2): a free lane looks at every rung from
 * the top and ranks all that it ever recorded. */
#ifndef SW_TESTS_SCHED_PRUNER_PROMOTE_MODEL_H
#define SW_TESTS_SCHED_PRUNER_PROMOTE_MODEL_H

#include "sched/sweep/trial.h"
#include <stdbool.h>
#include <stdint.h>

enum { TRIALS = 50, RUNGS = 8 };

struct model_trial {
	enum sw_trial_state state;
	uint32_t attempt, lost;
	uint64_t seq, step, resume_step;
	uint64_t value_step; /* of the last report with a value since it began from scratch; 0:
			      * none */
	double value;
	bool has_value, diverged, settled[RUNGS], in[RUNGS];
	double at[RUNGS];
	int paused; /* the rung; -1: it is not */
};

struct model {
	uint64_t n, cap, step[RUNGS], max_t, rf;
	int rungs;
	struct model_trial t[TRIALS + 1];
};

/* Rank of a trial among all values of a rung, from 0: the earlier trial first among equals. */
static inline uint64_t rank(const struct model *m, uint64_t trial, int k, uint64_t *n)
{
	uint64_t before = 0;

	*n = 0;
	for (uint64_t i = 1; i <= m->n; i++) {
		*n += m->t[i].in[k];
		before += m->t[i].in[k] && (m->t[i].at[k] < m->t[trial].at[k] ||
					    (m->t[i].at[k] == m->t[trial].at[k] && i < trial));
	}
	return before;
}

/* get_job: the highest rung that has a paused trial among its best floor(n / rf); the best of
 * them. */
static inline uint64_t promotable(const struct model *m)
{
	for (int k = m->rungs - 1; k >= 0; k--) {
		uint64_t best = 0, best_rank = 0, n;

		for (uint64_t i = 1; i <= m->n; i++) {
			if (m->t[i].state != SW_TRIAL_PAUSED || m->t[i].paused != k)
				continue;
			const uint64_t r = rank(m, i, k, &n);
			if (r < n / m->rf && (best == 0 || r < best_rank)) {
				best = i;
				best_rank = r;
			}
		}
		if (best != 0)
			return best;
	}
	return 0;
}

static inline uint64_t in_state(const struct model *m, enum sw_trial_state state, uint64_t *first)
{
	uint64_t n = 0;

	*first = 0;
	for (uint64_t i = m->n; i >= 1; i--) {
		if (m->t[i].state != state)
			continue;
		n++;
		*first = i;
	}
	return n;
}

/* What ASK would hand out: an old trial, m->n + 1 for a new one, 0 for nothing. */
static inline uint64_t model_job(const struct model *m, uint64_t max_concurrent)
{
	uint64_t first;

	if (max_concurrent != 0 && in_state(m, SW_TRIAL_RUNNING, &first) >= max_concurrent)
		return 0;
	if (in_state(m, SW_TRIAL_PENDING, &first) > 0)
		return first;
	const uint64_t paused = promotable(m);
	if (paused != 0)
		return paused;
	return m->n < m->cap ? m->n + 1 : 0;
}

static inline void model_start(struct model *m, uint64_t trial)
{
	struct model_trial *t = &m->t[trial];

	if (trial > m->n) {
		m->n = trial;
		*t = (struct model_trial){.paused = -1};
	}
	t->state = SW_TRIAL_RUNNING;
	t->paused = -1;
	t->attempt++;
	t->seq = 0;
	t->step = t->resume_step;
	if (t->resume_step == 0)
		t->value_step = 0;
	t->diverged = false;
}

/* The answer to a report; -1: go on. */
static inline enum sw_trial_state model_report(struct model *m, uint64_t trial, uint64_t step,
					       double value, bool checkpoint)
{
	struct model_trial *t = &m->t[trial];
	int judged = -1;

	t->seq++;
	t->step = step;
	t->has_value = true;
	if (checkpoint)
		t->resume_step = step;
	if (step <= t->value_step) /* it makes again what a lost attempt made */
		return t->state;
	for (int k = 0; k < m->rungs; k++) {
		if (m->step[k] > step || t->settled[k])
			continue;
		t->settled[k] = true;
		if (m->step[k] != step && t->value_step == 0)
			continue; /* no report at or below it */
		t->in[k] = true;
		t->at[k] = m->step[k] == step ? value : t->value;
		judged = k;
	}
	t->value_step = step;
	t->value = value;
	if (step >= m->max_t)
		t->state = SW_TRIAL_COMPLETED;
	else if (judged >= 0) {
		t->state = SW_TRIAL_PAUSED;
		t->paused = judged;
		t->resume_step = step;
	}
	return t->state;
}

/* When nothing runs or waits, may go on or can be made, the paused ones end. */
static inline bool model_settle(struct model *m)
{
	uint64_t first;

	if (m->n < m->cap || in_state(m, SW_TRIAL_RUNNING, &first) > 0 ||
	    in_state(m, SW_TRIAL_PENDING, &first) > 0 || promotable(m) != 0)
		return false;
	for (uint64_t i = 1; i <= m->n; i++)
		if (m->t[i].state == SW_TRIAL_PAUSED)
			m->t[i].state = SW_TRIAL_PRUNED;
	return true;
}

#endif
