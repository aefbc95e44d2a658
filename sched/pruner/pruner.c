#include "sched/pruner/pruner.h"
#include "base/memory.h"
#include "sched/pruner/pruner_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

sw_status sw_pruner_new(struct sw_pruner **out, const struct sw_pruner_ops *ops,
			const struct sw_pruner_config *config, const uint64_t *rung_step, size_t n,
			uint32_t brackets, struct sw_err *err)
{
	struct sw_pruner *p = sw_calloc(1, ops->size);

	*out = NULL;
	if (p == NULL || (n > 0 && sw_rungs_init(&p->rungs, rung_step, n, brackets) != SW_OK)) {
		free(p);
		return sw_err_set(err, SW_NOMEM, "no memory for the pruner");
	}
	p->ops = ops;
	p->config = *config;
	*out = p;
	return SW_OK;
}

bool sw_pruner_in_interval(uint64_t step, uint64_t before, uint64_t warmup, uint64_t interval)
{
	/* The subtraction is where this interval began: the trial's last report lies before it. */
	return step >= warmup && (before == 0 || before < step - (step - warmup) % interval);
}

void sw_pruner_destroy(struct sw_pruner *p)
{
	if (p == NULL)
		return;
	if (p->ops->fini != NULL)
		p->ops->fini(p);
	sw_rungs_fini(&p->rungs);
	free(p);
}

enum sw_pruner_kind sw_pruner_kind(const struct sw_pruner *p)
{
	return p->config.kind;
}

void sw_pruner_enter(const struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t)
{
	assert(trial >= 1 && trial <= SW_PRUNE_TRIAL_MAX);
	*t = (struct sw_prune_trial){.filled = 0};
	if (p->rungs.n > 0)
		t->bracket = (uint8_t)sw_rungs_bracket(&p->rungs, p->seed, trial);
}

void sw_pruner_begin(const struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
		     uint64_t resume_step)
{
	(void)trial;
	assert(!t->paused);
	if (p->rungs.n > 0 && resume_step == 0) {
		/* From scratch it has no report yet, though the rungs stay settled. From a
		 * checkpoint the reports that it makes again are those it made. */
		t->step = 0;
		t->value = 0.0;
	} else if (p->rungs.n == 0 && !t->begun && t->step == 0)
		/* A first attempt from a checkpoint is a child's: its clock goes on from there. */
		t->step = resume_step;
	t->begun = true;
}

sw_status sw_pruner_report(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t,
			   uint64_t step, double value, bool last, struct sw_judgement *out)
{
	assert(step > 0 && isfinite(value) && !t->paused);
	*out = (struct sw_judgement){
		.verdict = SW_VERDICT_CONTINUE, .cutoff = NAN, .value = NAN, .bracket = t->bracket};
	/* What is reported again, from an earlier checkpoint, is known. */
	if (p->ops->report == NULL || step <= t->step)
		return SW_OK;
	const sw_status rc = p->ops->report(p, trial, t, step, value, last, out);
	/* A trial ends by itself after its last report, so there is nothing to stop or pause. */
	if (last)
		out->verdict = SW_VERDICT_CONTINUE;
	return rc;
}

void sw_pruner_ended(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t, bool completed)
{
	/* A paused trial that ends must leave the ones that its rung could bring on. */
	if (t->paused)
		p->ops->resumed(p, trial, t);
	if (p->ops->ended != NULL)
		p->ops->ended(p, trial, t, completed);
}

void sw_pruner_waiting(struct sw_pruner *p, uint64_t pending, uint64_t unmade)
{
	p->pending = pending;
	p->unmade = unmade;
}

uint64_t sw_pruner_next(const struct sw_pruner *p)
{
	return p->ops->next != NULL ? p->ops->next(p) : 0;
}

uint64_t sw_pruner_next_n(const struct sw_pruner *p, uint64_t most)
{
	return p->ops->next_n != NULL && most > 0 ? p->ops->next_n(p, most) : 0;
}

void sw_pruner_resumed(struct sw_pruner *p, uint64_t trial, struct sw_prune_trial *t)
{
	assert(t->paused && p->ops->resumed != NULL);
	p->ops->resumed(p, trial, t);
}

uint64_t sw_pruner_until(const struct sw_pruner *p, const struct sw_prune_trial *t)
{
	return p->ops->until != NULL ? p->ops->until(p, t) : 0;
}

uint64_t sw_pruner_every(const struct sw_pruner *p)
{
	return p->config.kind == SW_PRUNER_PBT ? p->config.pbt.perturbation_interval : 0;
}

void sw_pruner_turn(const struct sw_pruner *p, uint64_t trial, const struct sw_prune_trial *t,
		    struct sw_pruner_turn *out)
{
	assert(t->paused && p->ops->turn != NULL);
	*out = (struct sw_pruner_turn){.rung = 0};
	p->ops->turn(p, trial, t, out);
}

uint32_t sw_pruner_bracket_n(const struct sw_pruner *p)
{
	return p->rungs.n > 0 ? p->rungs.brackets : 1;
}

size_t sw_pruner_rung_n(const struct sw_pruner *p, uint32_t bracket)
{
	return p->rungs.n > 0 ? sw_rungs_n(&p->rungs, bracket) : 0;
}

uint64_t sw_pruner_rung_step(const struct sw_pruner *p, uint32_t bracket, size_t k)
{
	return sw_rungs_step(&p->rungs, bracket, k);
}

uint64_t sw_pruner_rung_count(const struct sw_pruner *p, uint32_t bracket, size_t k)
{
	return sw_rungs_tree(&p->rungs, bracket, k)->n;
}

double sw_pruner_rung_cutoff(const struct sw_pruner *p, uint32_t bracket, size_t k)
{
	assert(k < sw_pruner_rung_n(p, bracket));
	return p->ops->rung_cutoff(p, bracket, k);
}

void sw_pruner_explain(const struct sw_pruner *p, const struct sw_judgement *j,
		       char to[SW_PRUNE_CAUSE_MAX])
{
	if (p->ops->explain != NULL)
		p->ops->explain(j, to);
	else
		(void)snprintf(to, SW_PRUNE_CAUSE_MAX,
			       "rung %" PRIu64 ": rank %" PRIu64 " of %" PRIu64, j->rung,
			       j->better + 1, j->n);
}

void sw_pruner_invariant(const struct sw_pruner *p)
{
	sw_rungs_invariant(&p->rungs);
	if (p->ops->invariant != NULL)
		p->ops->invariant(p);
}
