/* Likely mistakes about pruning and budgets. */
#include "proto/json.h"
#include "spec/warn/warn.h"

/* How many rungs the bracket that begins highest has below the last step. */
static uint64_t rungs_below_top(const struct sw_asha_config *a)
{
	uint64_t n = 0;

	for (uint64_t step = a->grace_period; step < a->max_t; n++) {
		/* Asked by a division: the product could be beyond 64 bits. */
		if (step > a->max_t / a->reduction_factor)
			step = a->max_t;
		else
			step *= a->reduction_factor;
	}
	/* Bracket k begins k rungs higher, so the last has that many fewer to pass. */
	return n >= a->brackets ? n - (a->brackets - 1) : 0;
}

/* A rung with n results has promoted n - (rf - 1) of them at most, which is when each is better
 * than all before it; so k rungs take k * (rf - 1) + 1 trials before one can pass them all. */
static void warn_promote(struct sw_spec *s)
{
	const struct sw_asha_config *a = &s->pruner.asha;

	/* Without a cap new trials come until one is promoted. */
	if (s->pruner.kind != SW_PRUNER_PROMOTE || s->run_cap == 0)
		return;
	const uint64_t rungs = rungs_below_top(a);
	const uint64_t least = rungs * (a->reduction_factor - 1) + 1;
	if (s->run_cap < least)
		sw_spec_warn(
			s, "/run_cap",
			"no trial can be promoted to max_t %llu: %llu rungs below it take %llu "
			"trials at least, and run_cap is %llu",
			(unsigned long long)a->max_t, (unsigned long long)rungs,
			(unsigned long long)least, (unsigned long long)s->run_cap);
}

/* W&B takes "min_iter", or "max_iter" with "s", and ignores the rest without a word. Here the rest
 * is named. */
static void warn_bands(struct sw_spec *s)
{
	const cJSON *v = sw_json_get(s->tree, "early_terminate");
	const struct sw_hyperband_config *h = &s->pruner.hyperband;
	static const char at[] = "/early_terminate";
	uint64_t n = 0;

	if (s->pruner.kind != SW_PRUNER_HYPERBAND)
		return;
	if (h->max_iter == 0 && sw_json_get(v, "max_iter") != NULL)
		sw_spec_warn(s, at,
			     "\"max_iter\" has no effect without \"s\": the bands begin at "
			     "min_iter");
	else if (h->max_iter == 0 && sw_json_get(v, "s") != NULL)
		sw_spec_warn(s, at,
			     "\"s\" has no effect without \"max_iter\": from min_iter up "
			     "there are as many bands as a trial reaches");
	/* The bands go up from min_iter, and nothing is left over. */
	if (h->max_iter == 0)
		return;
	if (sw_json_get(v, "min_iter") != NULL)
		sw_spec_warn(s, at,
			     "\"min_iter\" has no effect: max_iter and s say where the "
			     "bands are");
	if (sw_json_u64(sw_json_get(v, "s"), &n) && n > h->s)
		sw_spec_warn(
			s, at,
			"\"s\" is %llu, but bands below step 1 are left out, which leaves %llu",
			(unsigned long long)n, (unsigned long long)h->s);
}

static void warn_epochs(struct sw_spec *s)
{
	const uint64_t max_t = sw_spec_max_t(s), first = s->pruner.first_step;
	uint64_t epochs = 0;

	/* Epochs that are searched, or a default, are not compared: the default follows max_t. */
	if (!sw_json_u64(sw_spec_fixed_option(s, "epochs"), &epochs))
		return;
	if (epochs < max_t)
		sw_spec_warn(
			s, "/trainer/epochs",
			"rungs above %llu are never reached: a trial has %llu epochs, and max_t "
			"is %llu",
			(unsigned long long)epochs, (unsigned long long)epochs,
			(unsigned long long)max_t);
	/* There is a step to judge at. */
	if (first <= epochs)
		return;
	if (s->pruner.kind == SW_PRUNER_PBT)
		sw_spec_warn(s, "/early_terminate/perturbation_interval",
			     "trials are never compared: a trial has %llu epochs, and the first "
			     "comparison would be at step %llu",
			     (unsigned long long)epochs, (unsigned long long)first - 1);
	else
		sw_spec_warn(s, "/early_terminate",
			     "no trial is ever judged: it has %llu epochs, and the first step that "
			     "counts is %llu",
			     (unsigned long long)epochs, (unsigned long long)first);
}

void sw_spec_warn_pruner(struct sw_spec *s)
{
	warn_bands(s);
	warn_promote(s);
	if (s->gpu_hours > 0 && sw_spec_driven(s))
		sw_spec_warn(s, "/gpu_hours",
			     "\"gpu_hours\" has no effect: trials that you drive hold no slot");
	/* A population's children come on top of run_cap. */
	if (s->run_cap > 0 && s->run_cap < s->plateau.top && s->pruner.kind != SW_PRUNER_PBT)
		sw_spec_warn(
			s, "/plateau/top",
			"\"plateau\" has no effect: it looks at the best %llu completed trials, "
			"and "
			"run_cap is %llu",
			(unsigned long long)s->plateau.top, (unsigned long long)s->run_cap);
	if (s->trainer != NULL)
		warn_epochs(s);
}
