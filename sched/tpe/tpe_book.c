#include "base/memory.h"
#include "sched/space/space_internal.h"
#include "sched/tpe/tpe.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- groups --- */

static bool same_cond(const struct sw_space_cond *a, const struct sw_space_cond *b)
{
	return a->parent == b->parent && a->n == b->n &&
	       memcmp(a->allowed, b->allowed, a->n * sizeof *a->allowed) == 0;
}

static bool same_conds(const struct sw_space *s, size_t p, size_t q)
{
	for (size_t n = 0;; n++) {
		const struct sw_space_cond *a = sw_space_cond(s, p, n), *b = sw_space_cond(s, q, n);

		/* Conditions of a parameter come in the order of their parents, so the n-th of both
		 * can be compared. */
		if (a == NULL || b == NULL)
			return a == b;
		if (!same_cond(a, b))
			return false;
	}
}

/* Parameters with the same conditions are active together: one group, one mixture. */
static void find_groups(struct sw_tpe_book *b)
{
	size_t first[SW_SPACE_MAX_PARAMS] = {0};

	for (size_t i = 0; i < b->n_params; i++) {
		size_t g = 0;

		while (g < b->n_groups && !same_conds(b->space, first[g], i))
			g++;
		if (g == b->n_groups)
			first[b->n_groups++] = i;
		b->group[i] = (uint16_t)g;
	}
}

/* --- pools --- */

static struct sw_tpe_pool **pool_at(const struct sw_tpe_book *b, size_t group, size_t level)
{
	assert(group < b->n_groups && level < b->n_levels);
	return &b->pools[group * b->n_levels + level];
}

const struct sw_tpe_pool *sw_tpe_book_pool(const struct sw_tpe_book *b, size_t group, size_t level)
{
	return *pool_at(b, group, level);
}

static struct sw_tpe_pool *pool_get(struct sw_tpe_book *b, size_t group, size_t level)
{
	struct sw_tpe_pool **at = pool_at(b, group, level);

	if (*at != NULL)
		return *at;
	struct sw_tpe_pool *p = sw_calloc(1, sizeof *p);
	if (p == NULL)
		return NULL;
	p->stride = 1;
	*at = p;
	return p;
}

/* When the evenly spread ones fill their room, every other one goes. */
static void spread_add(struct sw_tpe_pool *p, struct sw_tpe_seen seen)
{
	if (seen.arrival % p->stride != 0)
		return;
	if (p->n_spread == TPE_SPREAD) {
		size_t kept = 0;

		p->stride *= 2;
		for (size_t i = 0; i < TPE_SPREAD; i++)
			/* What stays are still even steps of arrivals from 0 on, as if the stride
			 * had been this from the start. */
			if (p->spread[i].arrival % p->stride == 0)
				p->spread[kept++] = p->spread[i];
		p->n_spread = kept;
		if (seen.arrival % p->stride != 0)
			return;
	}
	p->spread[p->n_spread++] = seen;
}

static bool better(const struct sw_tpe_best *a, const struct sw_tpe_best *b)
{
	/* Values at different steps do not compare: a trial that ended goes before one that was
	 * pruned, and a higher rung before a lower one. */
	if (a->pruned != b->pruned)
		return b->pruned;
	if (a->level != b->level)
		return a->level > b->level;
	return a->y < b->y;
}

static void best_add(struct sw_tpe_pool *p, struct sw_tpe_best best)
{
	size_t at = p->n_best;

	if (at == TPE_GOOD) {
		if (!better(&best, &p->best[at - 1]))
			return;
		at--;
	} else
		p->n_best++;
	/* Equals stay behind those that came first, so a replay keeps the same ones. */
	for (; at > 0 && better(&best, &p->best[at - 1]); at--)
		p->best[at] = p->best[at - 1];
	p->best[at] = best;
}

static void best_drop(struct sw_tpe_pool *p, int64_t ref)
{
	size_t at = 0;

	while (at < p->n_best && p->best[at].seen.ref != ref)
		at++;
	if (at == p->n_best)
		return;
	p->n_best--;
	memmove(p->best + at, p->best + at + 1, (p->n_best - at) * sizeof *p->best);
}

/* News of one trial. y NULL: infeasible. */
struct news {
	int64_t ref;
	size_t level;
	bool pruned;
	bool again;    /* the trial is in its pools already, and is to move up */
	uint32_t rung; /* pruned: see struct sw_tpe_best */
	const double *y;
};

static void pool_add(struct sw_tpe_pool *p, const struct news *news)
{
	struct sw_tpe_seen seen = {news->ref, p->n};

	/* A trial that moves up, or has failed after all, no longer counts as what it was. */
	best_drop(p, news->ref);
	if (!news->again) {
		p->n++;
		p->recent[seen.arrival % TPE_RECENT] = seen;
		spread_add(p, seen);
		p->able += news->y != NULL;
	}
	if (news->y == NULL)
		return;
	best_add(p,
		 (struct sw_tpe_best){
			 .seen = seen, .pruned = news->pruned, .level = news->rung, .y = *news->y});
}

/* --- reading --- */

sw_status sw_tpe_book_init(struct sw_tpe_book *b, const struct sw_sampler *s,
			   const struct sw_tpe_config *config)
{
	*b = (struct sw_tpe_book){.space = s->space,
				  .config = *config,
				  .n_params = sw_space_size(s->space),
				  .pauses = s->config.pauses,
				  .n_levels = config->rungs ? s->config.n_levels + 1 : 1};
	find_groups(b);
	b->pools = sw_calloc(b->n_groups * b->n_levels + 1, sizeof(struct sw_tpe_pool *));
	return b->pools != NULL ? SW_OK : SW_NOMEM;
}

static void book_clear(struct sw_tpe_book *b)
{
	for (size_t i = 0; b->pools != NULL && i < b->n_groups * b->n_levels; i++) {
		free(b->pools[i]);
		b->pools[i] = NULL;
	}
	b->told = b->newest = b->trials = 0;
	b->n_obs = b->n_prior = 0;
}

void sw_tpe_book_fini(struct sw_tpe_book *b)
{
	book_clear(b);
	free(b->pools);
	free(b->trial);
	b->pools = NULL;
	b->trial = NULL;
	b->trial_cap = 0;
}

const struct sw_value *sw_tpe_values(const struct sw_history *h, int64_t ref)
{
	return ref > 0 ? h->values + ((uint64_t)ref - 1) * h->n_params
		       : h->prior_values + (uint64_t)(-1 - ref) * h->n_params;
}

/* To the pools of each group that is active in the trial: of one level, or (infeasible) of all. */
static sw_status add_news(struct sw_tpe_book *b, const struct sw_history *h,
			  const struct news *news)
{
	bool active[SW_SPACE_MAX_PARAMS], done[SW_SPACE_MAX_PARAMS] = {false};

	sw_space_active(b->space, sw_tpe_values(h, news->ref), active);
	for (size_t i = 0; i < b->n_params; i++) {
		const size_t g = b->group[i];

		/* All parameters of a group are active together, so the first that is met speaks
		 * for it. */
		if (!active[i] || done[g])
			continue;
		done[g] = true;
		for (size_t level = 0; level < b->n_levels; level++) {
			/* What failed is bad at each rung, whichever it had reached. */
			if (news->y != NULL && level != news->level)
				continue;
			struct sw_tpe_pool *p = pool_get(b, g, level);
			if (p == NULL)
				return SW_NOMEM;
			pool_add(p, news);
		}
	}
	return SW_OK;
}

static sw_status read_priors(struct sw_tpe_book *b, const struct sw_history *h)
{
	sw_status rc = SW_OK;

	for (; rc == SW_OK && b->n_prior < h->n_prior; b->n_prior++) {
		/* Priors ran to their ends elsewhere: they count at the top. Their refs are
		 * negative, so that a trial's number is its own. */
		const struct news news = {.ref = -1 - (int64_t)b->n_prior,
					  .level = b->n_levels - 1,
					  .y = h->prior_y + b->n_prior};

		rc = add_news(b, h, &news);
		b->told++;
	}
	return rc;
}

static void end_trial(struct sw_tpe_book *b, uint64_t number)
{
	struct sw_tpe_trial *t = &b->trial[number];

	if (t->ended)
		return;
	t->ended = true;
	/* The trials that run are a list, the newest first, so that one leaves it in O(1). */
	if (t->before != 0)
		b->trial[t->before].after = t->after;
	if (t->after != 0)
		b->trial[t->after].before = t->before;
	else
		b->newest = t->before;
}

static sw_status read_trials(struct sw_tpe_book *b, const struct sw_history *h)
{
	if (!sw_array_reserve(&b->trial, &b->trial_cap, h->trials + 1, sizeof *b->trial))
		return SW_NOMEM;
	/* Guesses were dropped again; none of them can have ended. */
	for (; b->trials > h->trials; b->trials--)
		end_trial(b, b->trials);
	while (b->trials < h->trials) {
		b->trial[++b->trials] = (struct sw_tpe_trial){.before = b->newest};
		if (b->newest != 0)
			b->trial[b->newest].after = b->trials;
		b->newest = b->trials;
	}
	return SW_OK;
}

/* Entry i of the log. False: it tells nothing. */
static bool news_of(const struct sw_tpe_book *b, const struct sw_history *h, size_t i,
		    struct news *news)
{
	const struct sw_obs *obs = &h->obs[i];
	const struct sw_tpe_trial *t = &b->trial[obs->trial];

	*news = (struct news){.ref = (int64_t)obs->trial, .level = b->n_levels - 1, .y = h->y + i};
	switch (obs->kind) {
	case SW_OBS_RUNG:
		/* bohb keeps a pool for each rung; the top one is fed by ends alone, hence the
		 * bound. */
		if (b->config.rungs) {
			news->level = obs->level;
			return obs->level + 1 < b->n_levels;
		}
		news->pruned = true;
		news->rung = 1 + obs->level;
		news->again = t->rung != 0;
		/* Where trials pause, many never end: their last rung must speak for them. Where
		 * they are stopped, the end follows at once and says it better. */
		return b->pauses;
	case SW_OBS_FINAL:
		news->again = !b->config.rungs && b->pauses && t->rung != 0;
		return true;
	case SW_OBS_PRUNED: /* where its rungs were told, they are all there is to tell */
		news->pruned = true;
		if (t->rung != 0) {
			news->rung = 1 + h->obs[t->rung - 1].level;
			news->y = h->y + (t->rung - 1);
		}
		return !b->config.rungs && !(b->pauses && t->rung != 0);
	case SW_OBS_INFEASIBLE:
	case SW_OBS_FAILED:
		news->y = NULL;
		return true;
	case SW_OBS_NONE:
		break;
	}
	return false;
}

static sw_status read_log(struct sw_tpe_book *b, const struct sw_history *h)
{
	sw_status rc = SW_OK;

	for (; rc == SW_OK && b->n_obs < h->n_obs; b->n_obs++) {
		const struct sw_obs *obs = &h->obs[b->n_obs];
		struct news news;

		if (news_of(b, h, b->n_obs, &news)) {
			rc = add_news(b, h, &news);
			b->told += !news.again;
		}
		if (obs->kind == SW_OBS_RUNG)
			/* After news_of(), which asks for the rung before this one. */
			b->trial[obs->trial].rung = b->n_obs + 1;
		else
			end_trial(b, obs->trial);
		b->last = *obs;
	}
	return rc;
}

/* True if h can be what was read, and more: the last entry read must still be there. */
static bool goes_on(const struct sw_tpe_book *b, const struct sw_history *h)
{
	if (h->n_obs < b->n_obs || h->n_prior != b->n_prior)
		return false;
	/* A cheap test, not a proof: it catches a sweep that was read again from an earlier
	 * point. */
	const struct sw_obs *last = b->n_obs > 0 ? &h->obs[b->n_obs - 1] : &b->last;
	return last->trial == b->last.trial && last->kind == b->last.kind &&
	       last->level == b->last.level;
}

sw_status sw_tpe_book_read(struct sw_tpe_book *b, const struct sw_history *h)
{
	assert(h->n_params == b->n_params && h->n_metrics == 1);
	if (!goes_on(b, h))
		book_clear(b);
	sw_status rc = read_priors(b, h);
	if (rc == SW_OK)
		rc = read_trials(b, h);
	if (rc == SW_OK)
		rc = read_log(b, h);
	if (rc != SW_OK)
		book_clear(b); /* half an entry may have been taken in */
	return rc;
}

/* --- good and bad --- */

size_t sw_tpe_good(const struct sw_tpe_pool *p, size_t n, struct sw_tpe_seen *out)
{
	size_t found = 0;

	assert(n <= TPE_GOOD);
	for (; found < p->n_best && found < n; found++)
		out[found] = p->best[found].seen;
	return found;
}

static bool is_among(const struct sw_tpe_seen *seen, size_t n, int64_t ref)
{
	for (size_t i = 0; i < n; i++)
		if (seen[i].ref == ref)
			return true;
	return false;
}

size_t sw_tpe_bad(const struct sw_tpe_book *b, const struct sw_history *h, size_t group,
		  const struct sw_tpe_pool *p, const struct sw_tpe_seen *good, size_t n_good,
		  int64_t *out, double *weight)
{
	/* The ring holds the latest; what arrived before is told by the spread ones, so no trial
	 * counts twice. */
	const uint64_t old = p->n > TPE_RECENT ? p->n - TPE_RECENT : 0;
	bool active[SW_SPACE_MAX_PARAMS];
	size_t n = 0, member = 0;

	for (size_t i = 0; i < p->n_spread; i++) {
		const struct sw_tpe_seen seen = p->spread[i];

		if (seen.arrival < old && !is_among(good, n_good, seen.ref)) {
			/* Each stands for its neighbours, and the older the less it counts. */
			weight[n] = (double)p->stride * (double)(seen.arrival + 1) / (double)p->n;
			out[n++] = seen.ref;
		}
	}
	for (uint64_t a = old; a < p->n; a++) {
		const int64_t ref = p->recent[a % TPE_RECENT].ref;

		if (!is_among(good, n_good, ref)) {
			/* Optuna's ramp: the latest 25 count in full, the ones before fade with
			 * their age. */
			weight[n] = a + TPE_FULL >= p->n ? 1.0 : (double)(a + 1) / (double)p->n;
			out[n++] = ref;
		}
	}
	while (b->group[member] != group)
		member++;
	/* Trials that run count as bad ones, so that suggestions made side by side keep apart. The
	 * walk is bounded even where few of them have this group. */
	size_t steps = 4 * (size_t)TPE_PENDING, room = TPE_PENDING;
	for (uint64_t t = b->newest; t != 0 && room > 0 && steps > 0; t = b->trial[t].before) {
		steps--;
		sw_space_active(b->space, sw_tpe_values(h, (int64_t)t), active);
		if (active[member]) {
			room--;
			weight[n] = 1.0;
			out[n++] = (int64_t)t;
		}
	}
	return n;
}
