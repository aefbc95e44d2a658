#include "sched/num/bfgs.h"
#include "base/memory.h"
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ARMIJO    1e-4
#define MAX_TRIES 12

struct bfgs {
	size_t n;
	const double *lo, *hi;
	const struct sw_bfgs_options *opt;
	sw_bfgs_fn fn;
	void *arg;
	unsigned evals;
	bool scaled;      /* H has seen curvature: it is not the identity */
	double f, f_next; /* at x, at x_next */
	double *H;        /* [n][n], symmetric */
	double *x, *g, *x_next, *g_next, *p, *Hy;
	double *y; /* g_next - g; the search for a direction uses it for the free part of g */
};

static double dot(size_t n, const double *a, const double *b)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static double clip(double x, double lo, double hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

static void identity(struct bfgs *b)
{
	memset(b->H, 0, b->n * b->n * sizeof *b->H);
	for (size_t i = 0; i < b->n; i++)
		b->H[i * b->n + i] = 1;
	b->scaled = false;
}

/* p = -H g over the coordinates that do not press on a bound, 0 on those that do. False: no
 * direction goes down, x is a stationary point of the box (or H is of no use, see scaled). */
static bool direction(struct bfgs *b)
{
	const size_t n = b->n;
	double slope = 0;

	for (size_t i = 0; i < n; i++) {
		/* Against a bound and pushed further: projecting a step along it would only shorten
		 * the others. */
		const bool frozen = (b->x[i] <= b->lo[i] && b->g[i] > 0) ||
				    (b->x[i] >= b->hi[i] && b->g[i] < 0);

		b->y[i] = frozen ? 0 : b->g[i];
	}
	for (size_t i = 0; i < n; i++) {
		/* The product mixes coordinates, so it must not move one that was frozen above. */
		b->p[i] = b->y[i] != 0 ? -dot(n, b->H + i * n, b->y) : 0;
		slope += b->p[i] * b->g[i];
	}
	return slope < 0;
}

static double first_length(const struct bfgs *b)
{
	double most = 0;

	for (size_t i = 0; i < b->n; i++)
		most = fmax(most, fabs(b->p[i]));
	/* The identity says nothing of the function's scale, so the first step has a length of its
	 * own. Later 1 is the step of Newton. */
	return b->scaled ? fmin(1, b->opt->max_step / most) : b->opt->first_step / most;
}

/* A step along p, projected and shortened until the function falls enough. */
static bool search(struct bfgs *b)
{
	double t = first_length(b);

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		double slope = 0;

		if (!isfinite(t) || (b->opt->max_evals != 0 && b->evals >= b->opt->max_evals))
			return false;
		for (size_t i = 0; i < b->n; i++) {
			b->x_next[i] = clip(b->x[i] + t * b->p[i], b->lo[i], b->hi[i]);
			slope += b->g[i] * (b->x_next[i] - b->x[i]);
		}
		if (!(slope < 0)) /* below the last digit of x */
			return false;
		b->f_next = b->fn(b->x_next, b->g_next, b->arg);
		b->evals++;
		/* The slope is that of the projected step, so the rule holds where bounds cut it
		 * short. A NaN fails it too, and the step shrinks. */
		if (b->f_next <= b->f + ARMIJO * slope)
			return true;
		/* The parabola through f, its slope and f_next; far from it, a fixed share. */
		t *= clip(-0.5 * slope / (b->f_next - b->f - slope), 0.1, 0.5);
	}
	return false;
}

/* H takes the curvature along the last step in. A coordinate that did not move (frozen, or stopped
 * at once by its bound) has shown none: its y counts as 0, so that H stays the inverse of the
 * Hessian of the free ones. */
static void update(struct bfgs *b)
{
	const size_t n = b->n;
	double *s = b->p, sy = 0, yy = 0, ss = 0;

	for (size_t i = 0; i < n; i++) {
		s[i] = b->x_next[i] - b->x[i];
		b->y[i] = s[i] != 0 ? b->g_next[i] - b->g[i] : 0;
		sy += s[i] * b->y[i];
		ss += s[i] * s[i];
		yy += b->y[i] * b->y[i];
	}
	/* Without positive curvature along the step, H would stop being positive definite: it stays
	 * as it was. */
	if (!(sy > 1e-10 * sqrt(ss * yy)))
		return;
	if (!b->scaled)
		for (size_t i = 0; i < n; i++)
			b->H[i * n + i] = sy / yy;
	b->scaled = true;
	for (size_t i = 0; i < n; i++)
		b->Hy[i] = dot(n, b->H + i * n, b->y);
	/* The BFGS formula for the inverse, multiplied out: H stays symmetric but for rounding, and
	 * no matrix is needed besides. */
	const double c = (1 + dot(n, b->y, b->Hy) / sy) / sy;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			b->H[i * n + j] +=
				c * s[i] * s[j] - (b->Hy[i] * s[j] + s[i] * b->Hy[j]) / sy;
}

static void iterate(struct bfgs *b)
{
	unsigned small = 0;

	for (unsigned it = 0; it < b->opt->max_iters && small < 2;) {
		if (!direction(b) || !search(b)) {
			if (!b->scaled)
				return;
			identity(b); /* once more, straight down */
			continue;
		}
		update(b);
		/* One small fall may be a short step on the way round a bend. Two in a row end
		 * it. */
		small = b->f - b->f_next < b->opt->ftol * (1 + fabs(b->f_next)) ? small + 1 : 0;
		memcpy(b->x, b->x_next, b->n * sizeof *b->x);
		memcpy(b->g, b->g_next, b->n * sizeof *b->g);
		b->f = b->f_next;
		it++;
	}
}

sw_status sw_bfgs_minimise(size_t n, const double *lo, const double *hi,
			   const struct sw_bfgs_options *opt, sw_bfgs_fn fn, void *arg, double *x,
			   double *f)
{
	assert(n > 0);
	double *block = sw_malloc((n * n + 6 * n) * sizeof *block);
	if (block == NULL)
		return SW_NOMEM;
	double *v = block + n * n;
	struct bfgs b = {
		.n = n,
		.lo = lo,
		.hi = hi,
		.opt = opt,
		.fn = fn,
		.arg = arg,
		.evals = 1,
		.H = block,
		.x = x,
		.g = v,
		.x_next = v + n,
		.g_next = v + 2 * n,
		.p = v + 3 * n,
		.y = v + 4 * n,
		.Hy = v + 5 * n,
	};

	for (size_t i = 0; i < n; i++)
		x[i] = clip(x[i], lo[i], hi[i]);
	identity(&b);
	b.f = fn(x, b.g, arg);
	iterate(&b);
	*f = b.f;
	free(block);
	return SW_OK;
}
