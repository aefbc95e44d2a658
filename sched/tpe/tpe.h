/*
 * sched/tpe/tpe.h — the parts of the samplers tpe and bohb. Internal.
 *
 *   tpe_book.c      the history as pools of good and bad trials, kept up to date entry by entry
 *   tpe_mix.c       a Parzen estimator: a mixture of kernels over the unit cube
 *   tpe_suggest.c   draws from the good mixture, and takes where it most exceeds the bad one
 *   sampler_tpe.c, sampler_bohb.c   the kinds' tables: they differ in their options
 *
 * Several metrics are refused: the number of trials that dominate one (Ozaki, Tanigaki, Watanabe,
 * Onishi, GECCO 2020) led nowhere near a front on bench/pareto, where bayes comes close.
 *
 * Pure     No I/O, clock, thread or global. An answer is a function of (configuration, number,
 *          prefix of the history); all that is kept here is a cache of it.
 * Source   Bergstra, Bardenet, Bengio, Kegl, "Algorithms for hyper-parameter optimization", NeurIPS
 *          24 (2011), section 4. Falkner, Klein, Hutter, "BOHB", ICML (2018), section 3. Watanabe,
 *          "Tree-structured Parzen estimator", arXiv:2304.11127 (2023), for what each part is
 *          worth.
 * Cost     Reading an entry of the history O(groups); a suggestion O(candidates * kernels *
 *          parameters) with bounded numbers of both, whatever the history's length.
 */
#ifndef SW_SCHED_TPE_TPE_H
#define SW_SCHED_TPE_TPE_H

#include "sched/sampler/sampler_internal.h"

#define TPE_GOOD    64  /* kernels of the good mixture, at most */
#define TPE_RECENT  192 /* of the bad one: the last that were told */
#define TPE_SPREAD  96  /* and some of all those before, evenly */
#define TPE_PENDING 64  /* and the last that were not told yet */
#define TPE_KERNELS (TPE_RECENT + TPE_SPREAD + TPE_PENDING)
#define TPE_NEW     2000 /* a candidate is new if none of so many trials before had it */
#define TPE_FULL    25   /* of the bad ones told count fully; those before the less, the older */
/* config.startup at most, without rungs: over the functions of bench/search
 * the median regret of the first quarter is .90 of that with 10, later .96 and .99. */
#define TPE_STARTUP_ALONE 8

struct sw_tpe_config {
	bool rungs;          /* a model for each rung; else one of the ends */
	uint64_t startup;    /* ends told before the first model is made */
	bool startup_d;      /* a model needs 2 + d feasible trials, d its parameters */
	double good_share;   /* of the trials in a pool are good, */
	size_t good_min;     /* at least these */
	size_t good_max;     /* and at most; up to TPE_GOOD */
	unsigned candidates; /* draws per suggestion */
	double width;        /* standard deviation of a kernel = width * n^(-1/(4+d)), */
	double width_min;    /* at least this */
	double random_share; /* of the suggestions are random points */
};

/* ---- tpe_book.c ---- */

/* A trial, or (below 0) prior -1 - ref. arrival: its number in the pool, from 0. */
struct sw_tpe_seen {
	int64_t ref;
	uint64_t arrival;
};

struct sw_tpe_best {
	struct sw_tpe_seen seen;
	bool pruned;    /* after all that were not */
	uint32_t level; /* pruned: 1 + the highest rung; higher is better */
	double y;       /* lower is better */
};

/* The trials in which a group's parameters were active, (with config.rungs) at one rung. */
struct sw_tpe_pool {
	uint64_t n;    /* arrivals */
	uint64_t able; /* feasible ones */
	size_t n_best;
	struct sw_tpe_best best[TPE_GOOD];     /* rising */
	struct sw_tpe_seen recent[TPE_RECENT]; /* arrival a at a % TPE_RECENT */
	struct sw_tpe_seen spread[TPE_SPREAD]; /* the arrivals divisible by stride */
	uint64_t stride;
	size_t n_spread;
};

/* A trial as the book knows it. Pending ones are a list by number. */
struct sw_tpe_trial {
	uint64_t before, after; /* pending neighbours; 0: none */
	size_t rung;            /* 1 + the index of its last RUNG observation; 0: none */
	bool ended;
};

struct sw_tpe_book {
	const struct sw_space *space;
	struct sw_tpe_config config;
	size_t n_params, n_groups;
	/* A trial waits at its rung and may never end: what it had there ranks it at once, as if it
	 * had been pruned, until it gets further. It counts as pending, too, so that draws do not
	 * crowd round the few that lead: on bench/asha both tpe and bohb end worse without that. */
	bool pauses;
	uint16_t group[SW_SPACE_MAX_PARAMS]; /* of each parameter: those active together */
	size_t n_levels;                     /* pools of a group; without rungs 1 */
	struct sw_tpe_pool **pools;          /* [n_groups][n_levels]; NULL: empty */
	uint64_t told;                       /* ends that tell something, and priors */
	struct sw_tpe_trial *trial;          /* [trial_cap]: trial t at t */
	size_t trial_cap;
	uint64_t newest; /* pending; 0: none */
	uint64_t trials; /* read */
	size_t n_obs, n_prior;
	struct sw_obs last;
};

SW_NODISCARD sw_status sw_tpe_book_init(struct sw_tpe_book *b, const struct sw_sampler *s,
					const struct sw_tpe_config *config);
void sw_tpe_book_fini(struct sw_tpe_book *b);
/* Takes in what the history has beyond what was read. The logs are prefixes of one; a shorter one
 * is read from its start. Trials that are pending may change or go. SW_NOMEM leaves an empty
 * book. */
SW_NODISCARD sw_status sw_tpe_book_read(struct sw_tpe_book *b, const struct sw_history *h);
const struct sw_value *sw_tpe_values(const struct sw_history *h, int64_t ref);
/* NULL: nothing there. */
const struct sw_tpe_pool *sw_tpe_book_pool(const struct sw_tpe_book *b, size_t group, size_t level);
/* The pool's n best, best first, n at most TPE_GOOD; how many there were. */
size_t sw_tpe_good(const struct sw_tpe_pool *p, size_t n, struct sw_tpe_seen *out);
/* The bad ones: told (but the n_good of good[]), then pending where the group is active.
 * out[TPE_KERNELS], each with its weight; how many. */
size_t sw_tpe_bad(const struct sw_tpe_book *b, const struct sw_history *h, size_t group,
		  const struct sw_tpe_pool *p, const struct sw_tpe_seen *good, size_t n_good,
		  int64_t *out, double *weight);

/* ---- tpe_mix.c ---- */

enum sw_tpe_axis_kind {
	TPE_SMOOTH,   /* a density */
	TPE_EVEN,     /* levels of equal width: chances, from a table */
	TPE_UNEVEN,   /* other levels: chances */
	TPE_CATEGORY, /* chances */
};

#define TPE_EVEN_MAX 64 /* levels */

struct sw_tpe_axis {
	size_t param;
	enum sw_tpe_axis_kind kind;
	double levels; /* EVEN, CATEGORY */
};

/* A group's parameters but the constants; which kind of kernel each needs. Returns how many. */
size_t sw_tpe_axes(const struct sw_tpe_book *b, size_t group, struct sw_tpe_axis *axes);

struct sw_tpe_mix {
	const struct sw_space *space;
	const struct sw_tpe_axis *axes;
	size_t d, n, cap; /* axes, kernels (the prior is one more), room */
	double *mu;       /* [d][cap]: unit coordinates of the kernels' centres */
	/* [n + 1], the prior last: weights, cumulated up to 1; ln weight - sum of ln (mass of the
	 * kernel in the cube); scratch. */
	double share[TPE_KERNELS + 1], base[TPE_KERNELS + 1], sum[TPE_KERNELS + 1];
	double chance[TPE_KERNELS]; /* [n]: scratch */
	uint16_t *twin;             /* [d][cap] UNEVEN: the first kernel with the same centre */
	double sigma[SW_SPACE_MAX_PARAMS]; /* [d] */
	/* [d] CATEGORY: chance that a kernel forgets its centre. */
	double smooth[SW_SPACE_MAX_PARAMS];
	double *table; /* [d][TPE_EVEN_MAX]: EVEN: ln chance at so many levels' distance */
};

/* Room for mixtures of up to cap kernels, TPE_KERNELS at most, over up to d axes. */
SW_NODISCARD sw_status sw_tpe_mix_init(struct sw_tpe_mix *m, const struct sw_space *space, size_t d,
				       size_t cap);
void sw_tpe_mix_fini(struct sw_tpe_mix *m);
/* n kernels at mu (filled by the caller, with m->axes, m->d, m->n), of these weights (NULL: equal;
 * the prior's is 1). */
void sw_tpe_mix_set(struct sw_tpe_mix *m, const struct sw_tpe_config *config, const double *weight);

struct sw_tpe_rng {
	uint64_t seed, trial;
	uint32_t draw;
};
double sw_tpe_rng(struct sw_tpe_rng *r); /* [0, 1) */

/* A draw of the mixture: unit[param] of its axes. */
void sw_tpe_mix_draw(const struct sw_tpe_mix *m, struct sw_tpe_rng *r, double *unit);
/* ln of the mixture at unit[], which stands for values of the space (encoded). */
double sw_tpe_mix_at(struct sw_tpe_mix *m, const double *unit);

/* ---- tpe_suggest.c ---- */

struct sw_tpe {
	struct sw_tpe_book book;
	struct sw_tpe_mix good, bad;
	struct sw_tpe_axis *axes;   /* [n_params] */
	double *unit;               /* [candidates][n_params] */
	struct sw_tpe_scored *pick; /* [n_groups][candidates] */
};

struct sw_tpe_scored {
	double score; /* ln good - ln bad */
	unsigned candidate;
};

/* The functions of both kinds' tables; s->ops->options is a struct sw_tpe_config, s->self a struct
 * tpe. */
SW_NODISCARD sw_status sw_tpe_start(struct sw_sampler *s, struct sw_err *err);
void sw_tpe_stop(struct sw_sampler *s);
SW_NODISCARD sw_status sw_tpe_suggest(struct sw_sampler *s, const struct sw_history *h,
				      uint64_t made, struct sw_suggestion *out, struct sw_err *err);

#endif
