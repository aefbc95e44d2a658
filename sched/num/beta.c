#include "sched/num/beta.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

#define LN_SQRT_2PI 0.91893853320467274178
#define TINY        1e-300 /* Lentz: in place of a denominator of 0 */
#define TERMS       3000   /* of the fraction: some 300 are needed at SW_BETA_MOST */
#define STEPS       200    /* of the inverse: at most some 30 are needed */
#define STEP_LAST   1e-11  /* in ln x: as Newton's steps go, the next is below a rounding */
#define LN_LEAST    (-700.0)

/* Values of a and b that are the same for every x. */
struct shape {
	double a, b, sum;
	double ln_at_mean; /* ln of x^a (1-x)^b / B(a, b) at the mean, a / (a + b) */
};

/* A point from both ends: y = 1 - x, each with all its digits. */
struct point {
	double x, y;
};

/* ln of one of the two tails, with the digits of its own; the other's is 1 less it. */
struct tail {
	double ln;
	bool lower;
};

/* ln Gamma(z) less Stirling's (z - 1/2) ln z - z + ln sqrt(2 pi). DLMF 5.11.1. */
static double stirling_rest(double z)
{
	const double w = 1.0 / (z * z);

	if (z < 10.0)
		return log(tgamma(z)) - ((z - 0.5) * log(z) - z + LN_SQRT_2PI);
	return (1.0 / 12 -
		w * (1.0 / 360 -
		     w * (1.0 / 1260 -
			  w * (1.0 / 1680 -
			       w * (1.0 / 1188 - w * (691.0 / 360360 - w * (1.0 / 156))))))) /
	       z;
}

/* ln(ratio) - z where ratio = 1 + z. For a small z by the series of ln in r = z / (2 + z). */
static double ln_less(double ratio, double z)
{
	if (fabs(z) > 0.5)
		return log(ratio) - z;
	const double r = z / (2.0 + z), rr = r * r;
	double sum = 0.0;

	for (int k = 37; k >= 3; k -= 2) /* |r| <= 1/3 */
		sum = sum * rr + 1.0 / k;
	return 2.0 * r * rr * sum - z * r;
}

static struct shape shape_of(double a, double b)
{
	assert(a >= SW_BETA_LEAST && a <= SW_BETA_MOST);
	assert(b >= SW_BETA_LEAST && b <= SW_BETA_MOST);
	return (struct shape){
		.a = a,
		.b = b,
		.sum = a + b,
		.ln_at_mean = 0.5 * (log(a) + log(b / (a + b))) - LN_SQRT_2PI +
			      stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b),
	};
}

static struct shape mirrored(struct shape s)
{
	return (struct shape){s.b, s.a, s.sum, s.ln_at_mean};
}

/* ln of x^a y^b / B(a, b). Both terms that depend on x are 0 at the mean and negative elsewhere. */
static double ln_factor(const struct shape *s, struct point p)
{
	const double off = p.x * s->b - p.y * s->a;

	return s->ln_at_mean + s->a * ln_less(p.x * (s->sum / s->a), off / s->a) +
	       s->b * ln_less(p.y * (s->sum / s->b), -off / s->b);
}

static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The fraction under which ln_factor() stands, beta_1 + alpha_2 / (beta_2 + alpha_3 / ...), for x
 * below (a + 1) / (a + b + 2). */
static double fraction(const struct shape *s, struct point p)
{
	const double a = s->a, b = s->b, x = p.x, below = p.y * a - x * b;
	double value = a / (a + 1.0) * (below + 1.0), c = value, d = 0.0;

	for (int n = 1; n <= TERMS; n++) {
		const double at = a + 2.0 * n - 1.0, part = n * (b - n) * x / at;
		const double alpha = (a + n - 1.0) * (s->sum + n - 1.0) * x / at * part;
		const double beta =
			n + part + (a + n) / (at + 2.0) * (below + 1.0 + n * (1.0 + p.y));

		d = 1.0 / not_zero(beta + alpha * d);
		c = not_zero(beta + alpha / c);
		value *= c * d;
		if (fabs(c * d - 1.0) < DBL_EPSILON)
			break;
	}
	return value;
}

/* The tail on whose side of the mean x is. ln_x: ln_factor() there. */
static struct tail tail_at(const struct shape *s, struct point p, double ln_x)
{
	const bool lower = p.x < (s->a + 1.0) / (s->sum + 2.0);
	const struct shape mirror = mirrored(*s);
	const double under = lower ? fraction(s, p)
				   : fraction(&mirror, (struct point){.x = p.y, .y = p.x});

	return (struct tail){fmin(ln_x - log(under), 0.0), lower};
}

double sw_beta_cdf(double x, double a, double b)
{
	const struct shape s = shape_of(a, b);

	if (!(x > 0.0))
		return 0.0;
	if (x >= 1.0)
		return 1.0;
	const struct point p = {x, 1.0 - x};
	const struct tail t = tail_at(&s, p, ln_factor(&s, p));
	return t.lower ? exp(t.ln) : -expm1(t.ln);
}

/* The x where the first term of the power series alone would reach chance p: x^a / (a B(a, b)). */
static double ln_x_of_first_term(const struct shape *s, double p)
{
	const double ln_beta =
		-s->a * log1p(s->b / s->a) - s->b * log1p(s->a / s->b) - s->ln_at_mean;

	return (log(p) + log(s->a) + ln_beta) / s->a;
}

/* x in (0, 1/2] with chance p below it and q = 1 - p above it. */
static double root(const struct shape *s, double p, double q)
{
	const bool lower = p <= q; /* the smaller has the digits */
	const double want = log(lower ? p : q), first = ln_x_of_first_term(s, p);
	double lo = DBL_MIN, hi = 0.5;

	if (first < LN_LEAST) /* the second term is x times b: nothing */
		return exp(first);
	double x = exp(fmin(first, log(hi)));
	for (int i = 0; i < STEPS; i++) {
		const struct point at = {x, 1.0 - x};
		const double ln_x = ln_factor(s, at);
		const struct tail t = tail_at(s, at, ln_x);
		const double have = t.lower == lower ? t.ln : log(-expm1(t.ln));
		const double over = lower ? have - want : want - have;
		const double step = over * at.y * exp(have - ln_x); /* over the slope */
		const double next = x * exp(-step);

		if (fabs(step) < STEP_LAST)
			return fmin(next, 0.5);
		if (over > 0.0)
			hi = x;
		else
			lo = x;
		x = next > lo && next < hi ? next : sqrt(lo) * sqrt(hi);
	}
	return x;
}

double sw_beta_quantile(double u, double a, double b)
{
	const struct shape s = shape_of(a, b);
	const struct point middle = {0.5, 0.5};

	assert(u >= 0.0 && u < 1.0);
	if (u == 0.0)
		return 0.0;
	const struct tail t = tail_at(&s, middle, ln_factor(&s, middle));
	const double upto = t.lower ? exp(t.ln) : -expm1(t.ln);
	if (u <= upto)
		return root(&s, u, 1.0 - u);
	const struct shape other = mirrored(s);
	return 1.0 - root(&other, 1.0 - u, u);
}
