/* One parameter of the search space: W&B's forms, and the names that Ray and Optuna give them. */
#include "proto/json.h"
#include "spec/dist_keys.h"
#include "spec/forms.h"
#include "spec/read/read.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The key under which the spec gives it: ours, or Ray's name for it. */
static const char *key_of(const cJSON *v, const char *key)
{
	for (size_t i = 0; sw_json_get(v, key) == NULL && i < SW_SPEC_DIST_ALIAS_N; i++)
		if (strcmp(sw_spec_dist_aliases[i].key, key) == 0 &&
		    sw_json_get(v, sw_spec_dist_aliases[i].ray) != NULL)
			return sw_spec_dist_aliases[i].ray;
	return key;
}

static const cJSON *get_key(const cJSON *v, const char *key)
{
	return sw_json_get(v, key_of(v, key));
}

static const struct sw_spec_dist *dist_by_name(const char *name)
{
	for (size_t i = 0; i < SW_SPEC_DIST_N; i++)
		if (strcmp(sw_spec_dists[i].name, name) == 0)
			return &sw_spec_dists[i];
	return NULL;
}

/* The row of a distribution under its own name. */
static const struct sw_spec_dist *dist_own(enum sw_dist dist)
{
	const struct sw_spec_dist *d = dist_by_name(sw_dist_name(dist));

	assert(d != NULL);
	return d;
}

/* Are both bounds written as integers? One that a double does not hold is, too: it is refused then,
 * not drawn between as a real. */
static bool has_integer_bounds(const cJSON *v)
{
	const cJSON *min = get_key(v, "min"), *max = get_key(v, "max");

	return cJSON_IsNumber(min) && (min->type & SW_JSON_REAL) == 0 && cJSON_IsNumber(max) &&
	       (max->type & SW_JSON_REAL) == 0;
}

/* {"log": true, "min", "max"}: Optuna's way to say so; its suggest_int() has integers. */
static const struct sw_spec_dist *dist_of_log(const cJSON *v)
{
	if (get_key(v, "q") != NULL)
		return dist_own(SW_DIST_Q_LOG_UNIFORM);
	return dist_own(has_integer_bounds(v) ? SW_DIST_INT_LOG_UNIFORM : SW_DIST_LOG_UNIFORM);
}

/* Finds the distribution, by W&B's defaults where none is named. *by: what implied it, for the
 * error of a key that does not go with it. */
static sw_status dist_find(const cJSON *v, const struct sw_spec_dist **out, char by[64],
			   struct sw_err *err)
{
	const cJSON *given = sw_json_get(v, "distribution"), *log = sw_json_get(v, "log");
	const char *key = "min";

	if (given != NULL) {
		if (log != NULL)
			return sw_spec_at_key(err, "log",
					      "\"log\" does not go with \"distribution\"");
		*out = dist_by_name(given->valuestring);
		(void)snprintf(by, 64, "distribution \"%s\"", given->valuestring);
		return SW_OK;
	}
	/* The first key that settles it wins; check_fields() then refuses what does not go with
	 * that. */
	if (sw_json_get(v, "value") != NULL) {
		key = "value";
		*out = dist_own(SW_DIST_CONSTANT);
	} else if (get_key(v, "values") != NULL) {
		key = key_of(v, "values");
		*out = dist_own(SW_DIST_CATEGORICAL);
	} else if (sw_json_get(v, "min") == NULL && sw_json_get(v, "max") == NULL) {
		return sw_err_set(err, SW_INVALID,
				  "a parameter needs \"value\", \"values\", \"min\" and \"max\", "
				  "or a \"distribution\"");
	} else if (cJSON_IsTrue(log)) {
		*out = dist_of_log(v);
	} else if (sw_json_get(v, "q") != NULL) {
		*out = dist_own(SW_DIST_Q_UNIFORM);
	} else {
		*out = dist_own(has_integer_bounds(v) ? SW_DIST_INT_UNIFORM : SW_DIST_UNIFORM);
	}
	assert(*out != NULL);
	if (log != NULL && (*out)->needs != RANGE)
		return sw_spec_at_key(err, "log", "\"log\" does not go with \"%s\"", key);
	(void)snprintf(by, 64, "\"%s\"", key);
	return SW_OK;
}

/* Every key that the distribution needs, none that it does not take. */
static sw_status check_fields(const cJSON *v, const struct sw_spec_dist *d, const char *by,
			      struct sw_err *err)
{
	assert(d != NULL);
	for (size_t i = 0; i < SW_SPEC_DIST_FIELD_N; i++) {
		const char *key = key_of(v, sw_spec_dist_fields[i].key);
		const bool given = sw_json_get(v, key) != NULL;
		if (given && ((d->needs | d->may) & sw_spec_dist_fields[i].bit) == 0)
			return sw_spec_at_key(err, key, "\"%s\" does not go with %s", key, by);
		if (!given && (d->needs & sw_spec_dist_fields[i].bit) != 0)
			return sw_spec_at_key(err, key, "\"%s\" is missing (%s needs it)", key, by);
	}
	return SW_OK;
}

/* The default stays where it is not given. */
static void read_number(const cJSON *v, const char *name, double *out, bool *has)
{
	const cJSON *number = get_key(v, name);

	*has = number != NULL;
	if (number != NULL)
		*out = number->valuedouble;
}

/* Turns exponents into bounds; warns where they look like values already. */
static sw_status from_exponents(struct sw_spec_param *p, const struct sw_spec_dist *d,
				struct sw_err *warning, struct sw_err *err)
{
	const double low = p->min, high = p->max;

	p->min = exp(low);
	p->max = exp(high);
	if (!isfinite(p->max) || !isfinite(p->min))
		return sw_spec_at_key(
			err, isfinite(p->max) ? "min" : "max",
			"min and max of %s are exponents of e, and e^%g is not finite; %s "
			"takes the values themselves",
			d->name, isfinite(p->max) ? low : high, sw_dist_name(d->is));
	/* e^-800 is 0 in a double, and the space takes the logarithm of its bounds. */
	if (p->min == 0 || p->max == 0)
		return sw_spec_at_key(
			err, p->min == 0 ? "min" : "max",
			"min and max of %s are exponents of e, and e^%g is 0; %s takes the "
			"values themselves",
			d->name, p->min == 0 ? low : high, sw_dist_name(d->is));
	if (low > 0 && low < 1 && high <= 1)
		(void)!sw_err_set(warning, SW_INVALID,
				  "min and max of %s are exponents of e: values go from %.6g to "
				  "%.6g; %s takes the values themselves",
				  d->name, p->min, p->max, sw_dist_name(d->is));
	return SW_OK;
}

static sw_status check_integer(const cJSON *v, const char *name, double x,
			       const struct sw_spec_dist *d, struct sw_err *err)
{
	const char *key = key_of(v, name);

	/* Beyond 2^53 a double does not hold every integer. */
	if (x == floor(x) && fabs(x) <= SW_JSON_MAX_INT)
		return SW_OK;
	return sw_spec_at_key(err, key, "\"%s\" of %s must be an integer below 2^53%s", key,
			      d->name,
			      sw_json_get(v, "distribution") != NULL
				      ? ""
				      : "; for reals write it with a point or an exponent");
}

/* Ray's randint(lower, upper) ends at upper - 1. */
static sw_status leave_out_max(struct sw_spec_param *p, const cJSON *v,
			       const struct sw_spec_dist *d, struct sw_err *err)
{
	if (!(p->min < p->max))
		return sw_spec_at_key(
			err, key_of(v, "max"),
			"%s leaves \"%s\" out: it must be above \"%s\" (int_uniform and "
			"int_log_uniform include it)",
			d->name, key_of(v, "max"), key_of(v, "min"));
	/* Exact: check_integer() has passed it. */
	p->max -= 1;
	return SW_OK;
}

/* JavaScript writes -5.0 as "-5", so reals can look like integers. Warns where integers are
 * unlikely: below 0, and from 0 to 1, for which there are values and booleans. */
static void warn_of_integers(const struct sw_spec_param *p, const cJSON *v,
			     const struct sw_spec_dist *d, struct sw_err *warning)
{
	if (sw_json_get(v, "distribution") != NULL || (p->min >= 0 && (p->min != 0 || p->max != 1)))
		return;
	(void)!sw_err_set(warning, SW_INVALID,
			  "whole numbers from %.0f to %.0f are drawn; for reals write %.0f.0, or "
			  "\"distribution\": \"uniform\"; for whole numbers \"%s\" says so",
			  p->min, p->max, p->min, sw_dist_name(d->is));
}

/* Optuna counts steps from the lower bound, W&B and this from 0. */
static void warn_of_steps(const struct sw_spec_param *p, struct sw_err *warning)
{
	/* 2.1 / 0.3 is 7.000000000000001 in a double: a millionth of a step is no distance. */
	const double first = p->q * ceil(p->min / p->q - 1e-6);

	if (p->q > 0 && first - p->min > 1e-6 * p->q)
		(void)!sw_err_set(warning, SW_INVALID,
				  "min %.10g is no multiple of q %.10g: the first value is %.10g",
				  p->min, p->q, first);
}

static sw_status read_range(struct sw_spec_param *p, const cJSON *v, const struct sw_spec_dist *d,
			    struct sw_err *warning, struct sw_err *err)
{
	sw_status rc;

	/* The others have no bounds: they are a list, or a shape such as mu and sigma. */
	if ((d->needs & RANGE) == 0)
		return SW_OK;
	read_number(v, "min", &p->min, &p->has_min);
	read_number(v, "max", &p->max, &p->has_max);
	if ((d->flags & INTEGERS) != 0 &&
	    ((rc = check_integer(v, "min", p->min, d, err)) != SW_OK ||
	     (rc = check_integer(v, "max", p->max, d, err)) != SW_OK ||
	     (rc = check_integer(v, "q", p->q, d, err)) != SW_OK))
		return rc;
	if ((d->flags & INTEGERS) != 0)
		warn_of_integers(p, v, d, warning);
	if ((d->may & Q) != 0 && (d->flags & EXPONENTS) == 0)
		warn_of_steps(p, warning);
	if ((d->flags & OPEN) != 0)
		return leave_out_max(p, v, d, err);
	return (d->flags & EXPONENTS) != 0 ? from_exponents(p, d, warning, err) : SW_OK;
}

static bool is_whole(const cJSON *number)
{
	return number == NULL || sw_json_is_integer(number);
}

/* Integers of a range, and what lies on a grid whose numbers are all written as integers. A bound
 * that is an exponent says nothing of the values, and Ray's quniform has a qrandint beside it. */
static bool draws_integers(const cJSON *v, const struct sw_spec_dist *d)
{
	const bool grid = d->is == SW_DIST_POW2 || ((d->needs | d->may) & Q) != 0;

	return (d->flags & INTEGERS) != 0 ||
	       (grid && (d->flags & RAYS) == 0 && is_whole(get_key(v, "q")) &&
		((d->flags & EXPONENTS) != 0 ||
		 (is_whole(get_key(v, "min")) && is_whole(get_key(v, "max")))));
}

/* "lower" is a word of Ray's distributions; elsewhere it is a mistake for "min". */
static const struct sw_form *form_of(const cJSON *v)
{
	const char *name = cJSON_GetStringValue(sw_json_get(v, "distribution"));
	const struct sw_spec_dist *d = name != NULL ? dist_by_name(name) : NULL;
	const bool rays = (d != NULL && (d->flags & RAYS) != 0) ||
			  (name == NULL && sw_json_get(v, "grid_search") != NULL);

	return rays ? &sw_form_rays : &sw_form_parameter;
}

void sw_spec_param_check(const cJSON *v, const char *ptr, struct sw_faults *f)
{
	const cJSON *named = sw_json_get(v, "distribution");
	const size_t before = f->n;
	char place[sizeof f->list->ptr];

	if (!cJSON_IsObject(v)) {
		sw_fault_note(f, ptr, "a parameter must be an object; for a %s",
			      cJSON_IsArray(v) ? "choice write {\"values\": [...]}"
					       : "constant write {\"value\": ...}");
		return;
	}
	/* A distribution that is not known comes first: its own keys are no mistakes. */
	(void)snprintf(place, sizeof place, "%s/distribution", ptr);
	if (named != NULL)
		sw_key_check(sw_form_find(&sw_form_parameter, "distribution"), named, place, f);
	if (f->n == before)
		sw_form_check(form_of(v), v, ptr, f);
}

sw_status sw_spec_param_read(struct sw_spec_param *p, const cJSON *v, struct sw_err *warning,
			     struct sw_err *err)
{
	const struct sw_spec_dist *d = NULL;
	char by[64] = "";
	bool has;
	sw_status rc;

	p->q = 1;
	p->sigma = 1;
	if ((rc = dist_find(v, &d, by, err)) != SW_OK ||
	    (rc = check_fields(v, d, by, err)) != SW_OK)
		return rc;
	assert(d != NULL);
	p->dist = d->is;
	p->integers = draws_integers(v, d);
	p->value = sw_json_get(v, "value");
	/* q comes before the range, which checks that it is an integer where the bounds are. */
	read_number(v, "q", &p->q, &p->has_q);
	read_number(v, "mu", &p->mu, &has);
	read_number(v, "sigma", &p->sigma, &has);
	/* Weights come after values, whose number they must have. */
	if ((rc = sw_spec_check_exact(p->value, "/value", err)) != SW_OK ||
	    (rc = read_range(p, v, d, warning, err)) != SW_OK ||
	    (rc = sw_spec_values_read(p, v, key_of(v, "values"), err)) != SW_OK ||
	    (rc = sw_spec_weights_read(p, v, err)) != SW_OK)
		return rc;
	return p->values != NULL ? sw_spec_values_merge(p, warning, err) : SW_OK;
}
