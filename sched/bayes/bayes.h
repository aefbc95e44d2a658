/*
 * sched/bayes/bayes.h — the parts of the bayes sampler and how they stand to each other. Internal.
 *
 *   bayes_cube.c     the space as the model sees it: only coordinates that vary
 *   bayes_data.c     what was told, as rows of that cube, and what is pending
 *   bayes_accident.c failures that their points do not explain
 *   bayes_metrics.c  several metrics as the one number of this suggestion
 *   bayes_several.c  a model for each metric, in turn with one of that number
 *   bayes_memory.c   what one suggestion hands on to the next; to bytes and back
 *   bayes_model.c    a Gaussian process on one view of the outcomes
 *   bayes_rows.c     which rows a model sees; the draws of one suggestion
 *   bayes_climb.c    the log of the expected improvement, and its ascent
 *   bayes_search.c   the point of largest log EI in a box
 *   bayes_levels.c   the same for what has levels: integers, categories
 *   bayes_turn.c     the point for a level that has had few
 *   bayes_step.c     which model, which box
 *   bayes_rung*.c    with a pruner, instead of model, rows and step: see bayes_rung.h
 *   sampler_bayes.c  the table of the kind: the first points, then steps
 *
 * Pure     No I/O, clock, thread or global. All of it is a function of (configuration, prefix of
 *          the history, memory); the rest are caches that can be dropped at any time.
 * Units    x: double[d] in [0, 1], d coordinates of the cube. y: oriented, smaller is better.
 * Source   docs/search.md names the papers and what was measured; each file names its own.
 */
#ifndef SW_SCHED_BAYES_BAYES_H
#define SW_SCHED_BAYES_BAYES_H

#include "sched/bayes/gp.h"
#include "sched/bayes/outcome.h"
#include "sched/sampler/sampler_internal.h"

/* ---- bayes_cube.c ---- */

struct sw_bayes_cube {
	const struct sw_space *space;
	size_t n_params, d;
	/* The first d of each: */
	size_t of[SW_SPACE_MAX_PARAMS]; /* the parameter of a coordinate */
	bool category[SW_SPACE_MAX_PARAMS];
	bool smooth[SW_SPACE_MAX_PARAMS];     /* any number between two values is one as well */
	bool always[SW_SPACE_MAX_PARAMS];     /* of a parameter without a condition */
	uint64_t levels[SW_SPACE_MAX_PARAMS]; /* 0: continuous */
	bool plain;                           /* every point of the cube is one of the space */
	bool mixed;                           /* some coordinate has levels */
	bool resource; /* the last coordinate is no parameter: bayes_rung.h; 1 */
};

void sw_bayes_cube_init(struct sw_bayes_cube *c, const struct sw_space *space);
/* One coordinate more, behind the others: each point read or snapped has 1 there. d is below
 * SW_SPACE_MAX_PARAMS. */
void sw_bayes_cube_add_resource(struct sw_bayes_cube *c);
/* values[n_params] -> x[d]. */
void sw_bayes_cube_read(const struct sw_bayes_cube *c, const struct sw_value *values, double *x);
/* The same of subject i of the history: its priors, then its trials. */
void sw_bayes_cube_subject(const struct sw_bayes_cube *c, const struct sw_history *h, size_t i,
			   double *x);
/* x[d] -> values[n_params], canonical. False: they break a constraint. */
bool sw_bayes_cube_write(const struct sw_bayes_cube *c, const double *x, struct sw_value *values);
/* Where that choice of a category stands in coordinate k. */
double sw_bayes_cube_category(const struct sw_bayes_cube *c, size_t k, uint64_t choice);
/* Moves x to the point that its values stand for: levels, inactive coordinates. False as above. */
bool sw_bayes_cube_snap(const struct sw_bayes_cube *c, double *x);

/* ---- bayes_memory.c ---- */

enum sw_bayes_model_id {
	BAYES_A,       /* yj, Matern-5/2 + additive; this and all but C may warp coordinates */
	BAYES_B,       /* yj, Matern-5/2 */
	BAYES_C,       /* std, RBF + additive */
	BAYES_D,       /* log1, Matern-5/2 */
	BAYES_D_LOCAL, /* the same, on the rows around the best alone */
	BAYES_E,       /* C, in coordinates that may be warped */
	BAYES_KEPT_N,  /* those before: the memory hands on what they were fitted to */
	BAYES_LEVEL = BAYES_KEPT_N, /* A without warps, on the rows of one level alone */
	BAYES_MODEL_N
};

/* Local suggestions that have not been told yet; beyond, the oldest no longer count. */
#define BAYES_LOCAL_MAX 128

struct sw_bayes_memory {
	uint64_t seen;      /* observations in what follows */
	uint64_t steps;     /* suggestions that a model made */
	uint64_t stall;     /* results since one beat the best by enough */
	double side;        /* of the trust region, before it is shaped */
	uint32_t won, lost; /* local suggestions in a row that beat the best, or did not */
	uint32_t n_local;
	uint64_t local[BAYES_LOCAL_MAX]; /* trials, rising */
	uint64_t fitted[BAYES_KEPT_N];   /* rows that theta was fitted to; 0: never fitted */
	size_t theta_n;                  /* room for each, 3d + 3 */
	double *theta;                   /* [BAYES_KEPT_N][theta_n] */
};

SW_NODISCARD sw_status sw_bayes_memory_init(struct sw_bayes_memory *m, size_t d);
void sw_bayes_memory_fini(struct sw_bayes_memory *m);
void sw_bayes_memory_reset(struct sw_bayes_memory *m);
void sw_bayes_memory_copy(struct sw_bayes_memory *to, const struct sw_bayes_memory *from);
double *sw_bayes_memory_theta(const struct sw_bayes_memory *m, enum sw_bayes_model_id id);
size_t sw_bayes_memory_size(const struct sw_bayes_memory *m); /* in bytes, as written */
void sw_bayes_memory_write(const struct sw_bayes_memory *m, unsigned char *out);
/* SW_INVALID: no bytes that sw_bayes_memory_write() made for this d; *m is as before. */
SW_NODISCARD sw_status sw_bayes_memory_read(struct sw_bayes_memory *m, const unsigned char *in,
					    size_t n);

/* A trial made by a local step. */
void sw_bayes_memory_add_local(struct sw_bayes_memory *m, uint64_t trial);
/* A result, as the trust region and the stall take it. y: the result (unless bad); best, median: of
 * the results before it (unless first). d: of the cube. */
struct sw_bayes_told {
	uint64_t trial; /* 0: of an earlier sweep */
	bool bad, first;
	double y, best, median;
};
void sw_bayes_memory_tell(struct sw_bayes_memory *m, size_t d, const struct sw_bayes_told *t);
void sw_bayes_memory_forget(struct sw_bayes_memory *m, uint64_t trial); /* cancelled */

/* ---- bayes_data.c ---- */

struct sw_bayes_data {
	const struct sw_bayes_cube *cube;
	size_t n_metrics;
	size_t n, cap;   /* rows told: priors, then in the order of the observations */
	double *x;       /* [n][d] */
	double *y;       /* [n]; bad rows: 0. Several metrics: sw_bayes_data_weigh() */
	double *metrics; /* [n][n_metrics]; bad rows: 0. NULL when there is one */
	bool *bad;       /* [n]: infeasible, or failed */
	uint64_t *trial; /* [n]; 0: of an earlier sweep */
	double *sorted;  /* [n_good], rising */
	size_t n_good;
	size_t best;  /* row of the lowest y; n_good > 0 */
	size_t n_obs; /* observations absorbed */
	bool started; /* the priors are in */
	bool *ended;  /* [ended_cap]: trial t at t - 1 */
	size_t ended_cap;
	size_t n_pending, pending_cap;
	double *pending;         /* [n_pending][d], by trial */
	uint64_t *pending_trial; /* [n_pending] */
	/* Not NULL: these are some of its rows; sorted and what is pending are borrowed from it. */
	const struct sw_bayes_data *all;
};

void sw_bayes_data_init(struct sw_bayes_data *b, const struct sw_bayes_cube *cube,
			size_t n_metrics);
void sw_bayes_data_fini(struct sw_bayes_data *b);
/* Takes in what the history has beyond n_obs, and the trials pending in it; results from m->seen on
 * are told to m, if there is one metric: with several no result is simply the best. A history that
 * is not a longer one than the last is read from its start. */
SW_NODISCARD sw_status sw_bayes_data_absorb(struct sw_bayes_data *b, const struct sw_history *h,
					    struct sw_bayes_memory *m);
bool sw_bayes_is_bad(enum sw_obs_kind kind); /* an end that makes a bad row */
/* Is x within 1e-9 (max norm) of a row, of b->all if that is set, or of a pending point? */
bool sw_bayes_data_has(const struct sw_bayes_data *b, const double *x);

/* ---- bayes_accident.c ---- */

struct sw_bayes_accidents {
	struct sw_gp *gp;     /* of the labels */
	size_t judged;        /* observations that the verdicts rest on; they are a cache */
	size_t n;             /* accidents */
	bool *is, *was;       /* [trials]: trial t at t - 1; was: before the last verdicts */
	unsigned char *label; /* [trials] */
	size_t *subject;      /* [subjects]: priors, then trials */
	double *x;            /* scratch, of one size */
	size_t trials, subjects, rows; /* for how many there is room */
	struct sw_bayes_data known;    /* the rows without accidents */
};

SW_NODISCARD sw_status sw_bayes_accidents_init(struct sw_bayes_accidents *a,
					       const struct sw_bayes_cube *cube);
void sw_bayes_accidents_fini(struct sw_bayes_accidents *a);
void sw_bayes_accidents_drop(struct sw_bayes_accidents *a); /* the cache */
/* Decides which of the trials that FAILED were accidents, by what the history has. *changed: some
 * verdict differs from the last call, so what was made of the rows known then is void. A function
 * of (cube, history): a sampler that starts afresh judges as one that went on. O(r^3 + f r^2), r <=
 * 200, of f failures, where one or a tenth of the observations came; else O(observations).
 * SW_INVALID: no factor could be had. */
SW_NODISCARD sw_status sw_bayes_accidents_judge(struct sw_bayes_accidents *a,
						const struct sw_bayes_cube *cube,
						const struct sw_history *h, bool *changed);
bool sw_bayes_accidents_has(const struct sw_bayes_accidents *a, uint64_t trial); /* 0: never */
/* Leaves those rows out of b: *known is b itself if there were no accidents, else good until the
 * next call. O(n d). */
SW_NODISCARD sw_status sw_bayes_accidents_known(struct sw_bayes_accidents *a,
						struct sw_bayes_data *b,
						struct sw_bayes_data **known);

/* ---- draws of one suggestion ---- */

struct sw_bayes_rng {
	uint64_t seed, trial;
	uint32_t draw;
};
double sw_bayes_rng_unit(struct sw_bayes_rng *r); /* (0, 1) */
double sw_bayes_rng_normal(struct sw_bayes_rng *r);
size_t sw_bayes_rng_below(struct sw_bayes_rng *r, size_t n);

/* ---- bayes_metrics.c ---- */

struct sw_scalar;
struct sw_bayes_found;

/* y, sorted and best by the weights that rng draws, for this suggestion alone: whatever was made
 * from them before is void. n_metrics > 1, n_good > 0. */
SW_NODISCARD sw_status sw_bayes_data_weigh(struct sw_bayes_data *b, struct sw_scalar *s,
					   struct sw_bayes_rng *rng);

/* ---- bayes_several.c ---- */

struct sw_bayes_several;
struct sw_bayes_model;
SW_NODISCARD sw_status sw_bayes_several_create(struct sw_bayes_several **out,
					       const struct sw_bayes_cube *cube, size_t n_metrics);
void sw_bayes_several_destroy(struct sw_bayes_several *s); /* NULL is allowed */
/* Weighs the data. *model: that whose largest log EI, of the weighted maximum, is next; NULL: it is
 * the turn of a model of the whole. */
SW_NODISCARD sw_status sw_bayes_several_prepare(struct sw_bayes_several *s, struct sw_bayes_data *b,
						struct sw_bayes_memory *memory,
						struct sw_bayes_rng *rng,
						const struct sw_bayes_model **model);
/* By what the point of the last step was chosen: acquisition, weights, and what is each
 * metric's. */
void sw_bayes_several_explain(struct sw_bayes_several *s, const struct sw_bayes_found *f,
			      struct sw_suggestion *out);
/* The first as sw_bayes_rate(); the second the value at one x, and its gradient unless NULL. */
SW_NODISCARD sw_status sw_bayes_several_rate(struct sw_bayes_several *s, const double *x, size_t n,
					     double *mean, double *var, double *value);
double sw_bayes_several_slope(struct sw_bayes_several *s, const double *x, double *grad);

/* ---- bayes_rows.c ---- */

/* Which rows a model sees: all while they are few, else the best, the nearest to the best and the
 * latest in turn, so that each beginning of the list is a good sample as well. */
struct sw_bayes_pick {
	size_t n, cap;
	uint32_t *row; /* [n] */
	struct bayes_key *key;
	size_t key_cap;
	bool *taken;
};

void sw_bayes_pick_fini(struct sw_bayes_pick *p);
/* Of the first `rows` rows: all, as they came, up to `whole` of them, else at most `most`. w[d]:
 * how far apart the coordinates count. */
SW_NODISCARD sw_status sw_bayes_pick_mixed(struct sw_bayes_pick *p, const struct sw_bayes_data *b,
					   size_t rows, size_t whole, size_t most, const double *w);
/* The last `most` rows that stand at `at` in coordinate k. */
SW_NODISCARD sw_status sw_bayes_pick_level(struct sw_bayes_pick *p, const struct sw_bayes_data *b,
					   size_t most, size_t k, double at);
/* The `most` rows nearest to the best. */
SW_NODISCARD sw_status sw_bayes_pick_near(struct sw_bayes_pick *p, const struct sw_bayes_data *b,
					  size_t most, const double *w);

/* ---- bayes_model.c ---- */

struct sw_bayes_model {
	enum sw_bayes_model_id id;
	enum sw_outcome_view view;
	const struct sw_bayes_cube *cube;
	struct sw_gp *gp;
	bool warped;         /* its process may be */
	bool inward;         /* its best is not believed to be at the ends: bayes_climb.c */
	struct sw_outcome o; /* of the rows that it knows */
	double best;         /* z to improve on: the least mean at a row, told or believed */
	size_t n, told, cap; /* rows: told, then pending */
	double *x, *z;       /* [n][d], [n]; a believed row's z is the mean there */
	double length[SW_SPACE_MAX_PARAMS]; /* [d]: the fit's, in x beside the best */
	struct sw_bayes_pick pick;
	struct sw_bayes_several
		*several;    /* NULL; else this is the first metric's, and those know all */
	const double *elite; /* [n]: by what rows are the best; NULL: by z */
	/* What the factor was made from; a cache. */
	bool valid;
	size_t base, rows, n_pending, pending_cap; /* rows: all told; BAYES_LEVEL: its own */
	uint64_t *pending;                         /* [n_pending] */
};

SW_NODISCARD sw_status sw_bayes_model_init(struct sw_bayes_model *m, enum sw_bayes_model_id id,
					   const struct sw_bayes_cube *cube);
void sw_bayes_model_fini(struct sw_bayes_model *m);
/* Fits if that is due (m_->fitted and theta move on), and conditions on what is told and believes
 * what is pending. w: D_LOCAL alone, see sw_bayes_pick_near(). Needs a row that is not bad.
 * SW_INVALID: no factor could be had. */
SW_NODISCARD sw_status sw_bayes_model_prepare(struct sw_bayes_model *m,
					      const struct sw_bayes_data *b,
					      struct sw_bayes_memory *memory, const double *w,
					      struct sw_bayes_rng *rng);

/* BAYES_LEVEL alone: fits to the rows that stand at `at` in coordinate k, a category, and believes
 * what is pending, wherever it is. It is to improve on the best of all rows, but on no less than
 * three deviations below the best of its own. SW_NOT_FOUND: none of its rows is good. SW_INVALID:
 * as above. O(r^3) for r of them, at most 300, and what is pending. */
SW_NODISCARD sw_status sw_bayes_model_of_level(struct sw_bayes_model *m,
					       const struct sw_bayes_data *b, size_t k, double at,
					       struct sw_bayes_rng *rng);

/* ---- bayes_search.c ---- */

#define BAYES_SPREAD ((size_t)512) /* candidates all over the box */
#define BAYES_NEAR   ((size_t)512) /* candidates around the best */
#define BAYES_STARTS 8
#define BAYES_LEVELS ((size_t)512) /* neighbours of one point */

/* Where the acquisition is maximised; arrays of the sampler's, made once. */
struct sw_bayes_search {
	const struct sw_bayes_cube *cube;
	double *net;                /* [BAYES_SPREAD][d]: a fixed Sobol set */
	double *x;                  /* [BAYES_SPREAD + BAYES_NEAR][d] */
	double *mean, *var, *value; /* [BAYES_SPREAD + BAYES_NEAR]; value: -log EI */
	/* [d]: the box; a category is in it whole, or one level of it. */
	double lo[SW_SPACE_MAX_PARAMS], hi[SW_SPACE_MAX_PARAMS];
	double *end; /* [BAYES_STARTS][d] */
	/* Neighbours in the search over levels: [BAYES_LEVELS][d], and their numbers. */
	double *near, *near_mean, *near_var, *near_value;
};

struct sw_bayes_found {
	const struct sw_bayes_model *model; /* whose numbers these are; set by step and turn */
	double x[SW_SPACE_MAX_PARAMS];
	double mean, var, log_ei;
};

SW_NODISCARD sw_status sw_bayes_search_init(struct sw_bayes_search *s,
					    const struct sw_bayes_cube *cube, uint64_t seed);
void sw_bayes_search_fini(struct sw_bayes_search *s);
/* The point of the box (s->lo, s->hi) with the largest log EI under m that is neither told nor
 * pending. SW_NOT_FOUND: no such point was met. */
SW_NODISCARD sw_status sw_bayes_search_run(struct sw_bayes_search *s,
					   const struct sw_bayes_model *m,
					   const struct sw_bayes_data *b, struct sw_bayes_rng *rng,
					   struct sw_bayes_found *out);

/* A posterior in the metric's own units. */
void sw_bayes_posterior(const struct sw_outcome *o, double z, double var, double *mean, double *sd);
/* ---- bayes_climb.c ---- */

/* Adds -log EI at x: double[n][d], and what m->inward takes from it, to value[n]; mean[n], var[n]
 * are for scratch. */
SW_NODISCARD sw_status sw_bayes_rate(const struct sw_bayes_model *m, const double *x, size_t n,
				     double *mean, double *var, double *value);
/* Ascends from x, whose value is *value, over the smooth coordinates (relaxed: over all that are no
 * categories) to a point of the space that is no worse. */
SW_NODISCARD sw_status sw_bayes_climb(const struct sw_bayes_search *s,
				      const struct sw_bayes_model *m, bool relaxed, double *x,
				      double *value);
/* -log EI alone at x, and its gradient unless that is NULL. */
double sw_bayes_minus_log_ei(const struct sw_bayes_model *m, const double *x, double *grad);

/* ---- bayes_levels.c ---- */

/* From x, a point of the space, over neighbouring levels to one that no single change betters. */
SW_NODISCARD sw_status sw_bayes_levels(struct sw_bayes_search *s, const struct sw_bayes_model *m,
				       struct sw_bayes_rng *rng, double *x, double *value);

/* ---- bayes_turn.c ---- */

/* The point for the level of a category that has had fewest beside those that random draws would
 * have given it, if less than `least` of them; in the box, which is the whole cube. On entry
 * out->model is the model of all rows, which chooses where a level has no good row; NULL: then it
 * is the next level's turn. of_level: BAYES_LEVEL. SW_NOT_FOUND: no level is due one, or none has
 * any. */
SW_NODISCARD sw_status sw_bayes_turn(struct sw_bayes_search *s, struct sw_bayes_model *of_level,
				     const struct sw_bayes_data *b, struct sw_bayes_rng *rng,
				     double least, struct sw_bayes_found *out);

/* ---- bayes_step.c ---- */

struct sw_bayes_step {
	struct sw_bayes_model model[BAYES_MODEL_N];
	struct sw_bayes_search search;
	bool several; /* metrics */
};

/* several: metrics, whose best compromises may well lie at the ends, and with any level. */
SW_NODISCARD sw_status sw_bayes_step_init(struct sw_bayes_step *s, const struct sw_bayes_cube *cube,
					  uint64_t seed, bool several);
void sw_bayes_step_fini(struct sw_bayes_step *s);
void sw_bayes_step_drop(struct sw_bayes_step *s); /* the caches */
/* The point for trial `trial`; memory moves on, also when it fails. Needs a row that is not bad.
 * SW_NOT_FOUND, SW_INVALID: the model has nothing to say here. */
SW_NODISCARD sw_status sw_bayes_step(struct sw_bayes_step *s, const struct sw_bayes_data *b,
				     struct sw_bayes_memory *memory, struct sw_bayes_rng *rng,
				     uint64_t trial, struct sw_bayes_found *out);
/* The same for several metrics. */
SW_NODISCARD sw_status sw_bayes_step_several(struct sw_bayes_step *s,
					     struct sw_bayes_several *several,
					     struct sw_bayes_data *b,
					     struct sw_bayes_memory *memory,
					     struct sw_bayes_rng *rng, uint64_t trial,
					     struct sw_bayes_found *out);

#endif
