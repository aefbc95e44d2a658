/* A Parzen estimator over the unit cube. A kernel is a product over the axes: a normal cut to
 * [0, 1] where values are ordered (its integral over a level's interval where they are levels), and
 * for categories a chance to keep the centre's, else a draw of the prior. One bandwidth an axis.
 * The prior, uniform in the cube, is one more component, so that nothing is ever impossible. */
#include "base/memory.h"
#include "base/normal.h"
#include "sched/num/rng.h"
#include "sched/space/space_internal.h"
#include "sched/tpe/tpe.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define LN_SQRT_2PI 0.91893853320467274178
#define FAR_OFF     8.0    /* deviations beyond which a normal has no mass */
#define NOTHING     1e-300 /* in place of a chance that rounds to 0 */
#define LN_NOTHING  (-690.77552789821370521)
#define LEVEL_WIDTH 0.7 /* of a level, times n^(-1/5): a kernel's deviation, at least */

double sw_tpe_rng(struct sw_tpe_rng *r)
{
	return sw_rng_unit(r->seed, SW_RNG_SUGGEST, r->trial, r->draw++);
}

size_t sw_tpe_axes(const struct sw_tpe_book *b, size_t group, struct sw_tpe_axis *axes)
{
	size_t d = 0;

	for (size_t i = 0; i < b->n_params; i++) {
		const enum sw_dist dist = sw_space_param(b->space, i)->dist;
		const uint64_t levels = sw_space_levels(b->space, i);

		/* One level multiplies both densities by the same number: it cancels in their
		 * ratio. */
		if (b->group[i] != group || levels == 1)
			continue;
		struct sw_tpe_axis *a = &axes[d++];
		*a = (struct sw_tpe_axis){.param = i, .kind = TPE_UNEVEN, .levels = (double)levels};
		if (dist == SW_DIST_CATEGORICAL)
			a->kind = TPE_CATEGORY;
		else if (sw_space_is_continuous(&b->space->v[i]))
			a->kind = TPE_SMOOTH;
		else if (dist == SW_DIST_INT_UNIFORM || dist == SW_DIST_Q_UNIFORM ||
			 dist == SW_DIST_POW2)
			/* Where levels are finer than any kernel, the density in the middle stands
			 * for the integral. */
			a->kind = levels == 0 || levels > TPE_EVEN_MAX ? TPE_SMOOTH : TPE_EVEN;
	}
	return d;
}

sw_status sw_tpe_mix_init(struct sw_tpe_mix *m, const struct sw_space *space, size_t d, size_t cap)
{
	assert(cap <= TPE_KERNELS);
	*m = (struct sw_tpe_mix){.space = space, .cap = cap};
	d = d != 0 ? d : 1;
	m->mu = sw_malloc(d * cap * sizeof *m->mu);
	m->twin = sw_malloc(d * cap * sizeof *m->twin);
	m->table = sw_malloc(d * TPE_EVEN_MAX * sizeof *m->table);
	if (m->mu != NULL && m->twin != NULL && m->table != NULL)
		return SW_OK;
	sw_tpe_mix_fini(m);
	return SW_NOMEM;
}

void sw_tpe_mix_fini(struct sw_tpe_mix *m)
{
	free(m->mu);
	free(m->twin);
	free(m->table);
	*m = (struct sw_tpe_mix){.n = 0};
}

/* --- the kernels' parameters --- */

/* levels: of the axis; 0: it has none. */
static double sigma_of(const struct sw_tpe_mix *m, const struct sw_tpe_config *config,
		       double levels)
{
	const double n = m->n > 0 ? (double)m->n : 1.0;
	/* Kernels narrow with more trials as in Scott's rule. */
	const double sigma = config->width * pow(n, -1.0 / (4.0 + (double)m->d));
	/* Of three levels a kernel so narrow would leave its own once in a thousand draws, and
	 * searches would end there. The rule of one axis: a level is learned by itself. */
	const double level = levels > 0.0 ? LEVEL_WIDTH / levels * pow(n, -0.2) : 0.0;

	return fmin(fmax(fmax(sigma, level), config->width_min), 1.0);
}

/* The normal's mass between a and b. */
static double mass(double mu, double sigma, double a, double b)
{
	const double lo = (a - mu) / sigma, hi = (b - mu) / sigma;

	if (lo > 0.0) /* the tail that has its digits */
		return sw_normal_cdf(-lo) - sw_normal_cdf(-hi);
	return sw_normal_cdf(hi) - sw_normal_cdf(lo);
}

static double mass_in_cube(double mu, double sigma)
{
	if (mu > FAR_OFF * sigma && 1.0 - mu > FAR_OFF * sigma)
		return 1.0;
	return mass(mu, sigma, 0.0, 1.0);
}

/* The first kernel with the same centre, for each. */
static void find_twins(const double *mu, size_t n, uint16_t *twin)
{
	for (size_t i = 0; i < n; i++) {
		size_t first = 0;

		while (mu[first] != mu[i])
			first++;
		twin[i] = (uint16_t)first;
	}
}

static void set_axis(struct sw_tpe_mix *m, const struct sw_tpe_config *config, size_t k)
{
	const double *mu = m->mu + k * m->cap, levels = m->axes[k].levels;

	if (m->axes[k].kind == TPE_CATEGORY) {
		/* Few trials say little of a category: the prior holds until they outnumber the
		 * levels. */
		m->smooth[k] = levels / (levels + (double)m->n + 1.0);
		return;
	}
	const double sigma = m->sigma[k] = sigma_of(m, config, levels);
	/* A normal that is cut to [0, 1] is divided by its mass there. */
	for (size_t i = 0; i < m->n; i++)
		m->base[i] -= log(mass_in_cube(mu[i], sigma));
	if (m->axes[k].kind == TPE_UNEVEN)
		find_twins(mu, m->n, m->twin + k * m->cap);
	/* On even levels a chance depends on the distance alone: one row of logarithms serves all
	 * kernels. */
	if (m->axes[k].kind == TPE_EVEN)
		for (size_t i = 0; i < (size_t)levels; i++)
			m->table[k * TPE_EVEN_MAX + i] =
				log(fmax(mass(0.0, sigma, ((double)i - 0.5) / levels,
					      ((double)i + 0.5) / levels),
					 NOTHING));
}

void sw_tpe_mix_set(struct sw_tpe_mix *m, const struct sw_tpe_config *config, const double *weight)
{
	double total = 0.0;

	assert(m->n <= m->cap);
	for (size_t i = 0; i <= m->n; i++) {
		/* Component n is the prior, which always weighs as one trial. */
		const double w = i < m->n && weight != NULL ? weight[i] : 1.0;

		total += w;
		m->share[i] = total;
		m->base[i] = log(w);
	}
	for (size_t i = 0; i <= m->n; i++) {
		m->share[i] /= total;
		m->base[i] -= log(total);
	}
	for (size_t k = 0; k < m->d; k++)
		set_axis(m, config, k);
}

/* --- draws --- */

/* Of a normal cut to [0, 1], by inversion. */
static double draw_normal(double mu, double sigma, double u)
{
	const double lo = sw_normal_cdf(-mu / sigma), hi = sw_normal_cdf((1.0 - mu) / sigma);
	const double p = lo + u * (hi - lo);
	/* Far from its centre a normal's p rounds to 0 or 1, whose quantile is infinite. */
	const double x = p > 0.0 && p < 1.0 ? mu + sigma * sw_normal_quantile(p) : mu;

	return fmin(fmax(x, 0.0), SW_BELOW_ONE);
}

void sw_tpe_mix_draw(const struct sw_tpe_mix *m, struct sw_tpe_rng *r, double *unit)
{
	const double u = sw_tpe_rng(r);
	size_t i = 0;

	while (i < m->n && m->share[i] <= u)
		i++;
	for (size_t k = 0; k < m->d; k++) {
		double *x = &unit[m->axes[k].param];

		*x = sw_tpe_rng(r);
		/* The draw itself is the prior's: uniform in the cube. */
		if (i == m->n)
			continue;
		if (m->axes[k].kind != TPE_CATEGORY)
			*x = draw_normal(m->mu[k * m->cap + i], m->sigma[k], *x);
		else if (sw_tpe_rng(r) >= m->smooth[k])
			*x = m->mu[k * m->cap + i];
	}
}

/* --- the density --- */

/* The coordinate of a number, for the kinds whose levels are not even. */
static double unit_of(const struct sw_space_entry *e, double number)
{
	const double ln = number > 0.0 ? log(number) : -INFINITY;

	switch (e->p.dist) {
	case SW_DIST_Q_NORMAL:
		return sw_normal_cdf((number - e->p.mu) / e->p.sigma);
	case SW_DIST_Q_LOG_NORMAL:
		return sw_normal_cdf((ln - e->p.mu) / e->p.sigma);
	default: /* Q_LOG_UNIFORM, INT_LOG_UNIFORM */
		return fmin(fmax((ln - e->u_lo) / (e->u_hi - e->u_lo), 0.0), 1.0);
	}
}

/* The interval of the level that x stands in: sched/space/space.h says what rounds to it. Returns
 * its width, which is the level's chance under the prior. */
static double level_at(const struct sw_space_entry *e, double x, double *lo, double *hi)
{
	const double at = sw_space_decode_one(e, x).number;
	const bool whole = e->p.dist == SW_DIST_INT_LOG_UNIFORM;
	const double q = whole ? 1.0 : e->p.q;
	const bool bounded = whole || e->p.dist == SW_DIST_Q_LOG_UNIFORM;

	/* The first and last level take what is cut off beyond the bounds, as decoding does. */
	*lo = bounded && at - q < e->p.min ? 0.0 : unit_of(e, whole ? at : at - 0.5 * q);
	*hi = bounded && at + q > e->p.max ? 1.0 : unit_of(e, whole ? at + 1.0 : at + 0.5 * q);
	return fmax(*hi - *lo, NOTHING);
}

static void add_smooth(struct sw_tpe_mix *m, const double *mu, double sigma, double x,
		       double ln_width)
{
	const double scale = 1.0 / sigma, shift = ln_width - log(sigma) - LN_SQRT_2PI;

	for (size_t i = 0; i < m->n; i++) {
		const double z = (x - mu[i]) * scale;

		m->sum[i] += shift - 0.5 * z * z;
	}
	m->sum[m->n] += ln_width;
}

static void add_even(struct sw_tpe_mix *m, const double *mu, const double *table, double x,
		     double levels)
{
	for (size_t i = 0; i < m->n; i++)
		m->sum[i] += table[(size_t)(fabs(x - mu[i]) * levels + 0.5)];
	m->sum[m->n] -= log(levels);
}

/* Kernels that share a centre share the chance, and many do. */
static void add_uneven(struct sw_tpe_mix *m, size_t k, double x, const struct sw_space_entry *e)
{
	const double *mu = m->mu + k * m->cap, sigma = m->sigma[k];
	const uint16_t *twin = m->twin + k * m->cap;
	double lo, hi;
	const double width = level_at(e, x, &lo, &hi);

	if (width < 0.5 * sigma) { /* flat enough: off by less than 1% */
		add_smooth(m, mu, sigma, x, log(width));
		return;
	}
	for (size_t i = 0; i < m->n; i++) {
		if (twin[i] != i)
			/* twin[i] <= i, so its chance is there already. */
			m->chance[i] = m->chance[twin[i]];
		else if (hi < mu[i] - FAR_OFF * sigma || lo > mu[i] + FAR_OFF * sigma)
			m->chance[i] = LN_NOTHING;
		else
			m->chance[i] = log(fmax(mass(mu[i], sigma, lo, hi), NOTHING));
		m->sum[i] += m->chance[i];
	}
	m->sum[m->n] += log(width);
}

static void add_category(struct sw_tpe_mix *m, const double *mu, double smooth, double x,
			 const struct sw_space_entry *e)
{
	const double chance = sw_space_chance(e, sw_space_decode_one(e, x).choice);
	const double prior = fmax(chance, NOTHING);
	const double hit = log(1.0 - smooth + smooth * prior), miss = log(smooth * prior);

	for (size_t i = 0; i < m->n; i++)
		/* Both are middles of a choice's interval, made by one function, so equality is
		 * exact. */
		m->sum[i] += mu[i] == x ? hit : miss;
	m->sum[m->n] += log(prior);
}

double sw_tpe_mix_at(struct sw_tpe_mix *m, const double *unit)
{
	double most = -INFINITY, sum = 0.0;

	for (size_t i = 0; i <= m->n; i++)
		m->sum[i] = m->base[i];
	for (size_t k = 0; k < m->d; k++) {
		const struct sw_tpe_axis *a = &m->axes[k];
		const double *mu = m->mu + k * m->cap, x = unit[a->param];
		const struct sw_space_entry *e = &m->space->v[a->param];

		switch (a->kind) {
		case TPE_SMOOTH:
			add_smooth(m, mu, m->sigma[k], x, 0.0);
			break;
		case TPE_EVEN:
			add_even(m, mu, m->table + k * TPE_EVEN_MAX, x, a->levels);
			break;
		case TPE_UNEVEN:
			add_uneven(m, k, x, e);
			break;
		case TPE_CATEGORY:
			add_category(m, mu, m->smooth[k], x, e);
			break;
		}
	}
	/* The largest term is taken out because a density over many axes underflows. A term below
	 * e^-40 of it does not reach its last digit. */
	for (size_t i = 0; i <= m->n; i++)
		most = fmax(most, m->sum[i]);
	for (size_t i = 0; i <= m->n; i++)
		sum += m->sum[i] > most - 40.0 ? exp(m->sum[i] - most) : 0.0;
	return most + log(sum);
}
