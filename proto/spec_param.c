/* One parameter of the search space: W&B's forms, and the names that Ray and Optuna give them. */
#include "base/fault.h"
#include "proto/json.h"
#include "proto/nearest.h"
#include "proto/spec_internal.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const known[] = {
	"value", "values", "probabilities", "distribution", "min", "max",
	"q",     "mu",     "sigma",         "log"};

static const struct spec_hint hints[] = {
	{"parameters", NULL, "nested parameters must be written flat, as \"outer.inner\""},
	{"when", NULL, "leave it out; the parameter is then drawn for every trial"},
	{"low", "min", NULL},
	{"lower", "min", NULL},
	{"minimum", "min", NULL},
	{"high", "max", NULL},
	{"upper", "max", NULL},
	{"maximum", "max", NULL},
	{"step", "q", NULL},
	{"mean", "mu", NULL},
	{"sd", "sigma", NULL},
	{"std", "sigma", NULL},
	{"choices", "values", NULL},
	{"choice", "values", NULL},
	{"categories", "values", NULL},
	{"grid_search", "values", NULL},
	{"weights", "probabilities", NULL},
	{"type", "distribution", NULL},
	{"dist", "distribution", NULL},
	{"constant", "value", NULL},
	{"default", "value", NULL},
};

/* What a distribution takes; the bits are needed, those of `may` allowed. */
enum {
	VALUE = 1,
	VALUES = 2,
	PROBABILITIES = 4,
	MIN = 8,
	MAX = 16,
	RANGE = MIN | MAX,
	Q = 32,
	MU = 64,
	SIGMA = 128
};

static const struct field {
	const char *key;
	unsigned bit;
} fields[] = {
	{"value", VALUE}, {"values", VALUES}, {"probabilities", PROBABILITIES},
	{"min", MIN},     {"max", MAX},       {"q", Q},
	{"mu", MU},       {"sigma", SIGMA},
};

/* A name in a spec, what it means, and what goes with it. exponents: W&B's log_uniform and its
 * kin, whose min and max are exponents of e. */
static const struct dist {
	const char *name;
	const char *is;
	unsigned needs, may;
	bool exponents;
} dists[] = {
	{"constant", "constant", VALUE, 0, false},
	{"categorical", "categorical", VALUES, PROBABILITIES, false},
	{"categorical_w_probabilities", "categorical", VALUES | PROBABILITIES, 0, false},
	{"int_uniform", "int_uniform", RANGE, 0, false},
	{"uniform", "uniform", RANGE, 0, false},
	{"q_uniform", "q_uniform", RANGE, Q, false},
	{"log_uniform_values", "log_uniform_values", RANGE, 0, false},
	{"inv_log_uniform_values", "inv_log_uniform_values", RANGE, 0, false},
	{"q_log_uniform_values", "q_log_uniform_values", RANGE, Q, false},
	{"log_uniform", "log_uniform_values", RANGE, 0, true},
	{"inv_log_uniform", "inv_log_uniform_values", RANGE, 0, true},
	{"q_log_uniform", "q_log_uniform_values", RANGE, Q, true},
	{"pow2", "pow2", RANGE, 0, false},
	{"normal", "normal", 0, MU | SIGMA, false},
	{"q_normal", "q_normal", 0, MU | SIGMA | Q, false},
	{"log_normal", "log_normal", 0, MU | SIGMA, false},
	{"q_log_normal", "q_log_normal", 0, MU | SIGMA | Q, false},
	/* Ray's names */
	{"choice", "categorical", VALUES, PROBABILITIES, false},
	{"loguniform", "log_uniform_values", RANGE, 0, false},
	{"quniform", "q_uniform", RANGE, Q, false},
	{"qloguniform", "q_log_uniform_values", RANGE, Q, false},
	{"randn", "normal", 0, MU | SIGMA, false},
	{"qrandn", "q_normal", 0, MU | SIGMA | Q, false},
};

static const struct spec_hint refused[] = {
	{"beta", NULL, "use uniform"},
	{"q_beta", NULL, "use q_uniform"},
	{"randint", NULL, "use int_uniform, whose max is included (Ray's randint leaves it out)"},
	{"qrandint", NULL, "use q_uniform, whose max is included"},
	{"lograndint", NULL, "use q_log_uniform_values with \"q\": 1, or pow2"},
	{"qlograndint", NULL, "use q_log_uniform_values"},
	{"sample_from", NULL, "use values"},
	{"int", NULL, "use int_uniform"},
	{"float", NULL, "use uniform"},
};

/* "/key": the keys of a parameter need no escaping. */
static const char *pointer_to(const char *key, char ptr[32])
{
	(void)snprintf(ptr, 32, "/%s", key);
	return ptr;
}

/* SW_INVALID at a key of the parameter, with a formatted line. */
#define AT_KEY(err, key, ...)                                                                      \
	sw_err_at(err, SW_INVALID, pointer_to(key, (char[32]){""}), __VA_ARGS__)

static const struct dist *dist_by_name(const char *name)
{
	for (size_t i = 0; i < SPEC_N(dists); i++)
		if (strcmp(dists[i].name, name) == 0)
			return &dists[i];
	return NULL;
}

/* The same for a name that stands in the table. */
static const struct dist *dist_known(const char *name)
{
	const struct dist *d = dist_by_name(name);

	assert(d != NULL);
	return d;
}

static sw_status unknown_dist(const char *name, struct sw_err *err)
{
	const char *names[SPEC_N(dists)];

	for (size_t i = 0; i < SPEC_N(refused); i++)
		if (strcmp(refused[i].key, name) == 0)
			return AT_KEY(err, "distribution",
				      "distribution \"%s\" is not supported by this version: %s",
				      name, refused[i].line);
	for (size_t i = 0; i < SPEC_N(dists); i++)
		names[i] = dists[i].name;
	const char *near = sw_nearest(name, names, SPEC_N(dists));
	if (near != NULL)
		return AT_KEY(err, "distribution",
			      "unknown distribution \"%s\"; did you mean \"%s\"?", name, near);
	return AT_KEY(err, "distribution",
		      "unknown distribution \"%.64s\": uniform, log_uniform_values, int_uniform, "
		      "q_uniform, categorical, pow2, normal, log_normal and others are known",
		      name);
}

/* {"log": true, "min", "max"}: Optuna's way to say log_uniform_values. */
static sw_status dist_of_log(const cJSON *v, const struct dist **out, struct sw_err *err)
{
	const cJSON *min = sw_json_get(v, "min"), *max = sw_json_get(v, "max");
	const bool quantised = sw_json_get(v, "q") != NULL;

	if (!quantised && sw_json_is_integer(min) && sw_json_is_integer(max))
		return AT_KEY(err, "log",
			      "\"log\" with an integer min and max is ambiguous: for integers use "
			      "pow2 or q_log_uniform_values, for reals write the bounds as 1.0");
	*out = dist_known(quantised ? "q_log_uniform_values" : "log_uniform_values");
	return SW_OK;
}

/* W&B's defaults. *by: the words that the error for a key out of place uses. */
static sw_status dist_find(const cJSON *v, const struct dist **out, char by[64], struct sw_err *err)
{
	const cJSON *given = sw_json_get(v, "distribution"), *log = sw_json_get(v, "log");
	const cJSON *min = sw_json_get(v, "min"), *max = sw_json_get(v, "max");
	const char *key = "min";

	if (log != NULL && !cJSON_IsBool(log))
		return AT_KEY(err, "log", "\"log\" must be true or false, not %s", spec_kind(log));
	if (given != NULL) {
		if (!cJSON_IsString(given))
			return AT_KEY(err, "distribution",
				      "\"distribution\" must be a string, not %s",
				      spec_kind(given));
		if (log != NULL)
			return AT_KEY(err, "log", "\"log\" does not go with \"distribution\"");
		*out = dist_known(given->valuestring); /* spec_param_read() has looked */
		(void)snprintf(by, 64, "distribution \"%s\"", given->valuestring);
		return SW_OK;
	}
	if (sw_json_get(v, "value") != NULL) {
		key = "value";
		*out = dist_known("constant");
	} else if (sw_json_get(v, "values") != NULL) {
		key = "values";
		*out = dist_known("categorical");
	} else if (min == NULL && max == NULL) {
		return sw_err_set(err, SW_INVALID,
				  "a parameter needs \"value\", \"values\", \"min\" and \"max\", "
				  "or a \"distribution\"");
	} else if (cJSON_IsTrue(log)) {
		const sw_status rc = dist_of_log(v, out, err);
		if (rc != SW_OK)
			return rc;
	} else if (sw_json_get(v, "q") != NULL) {
		*out = dist_known("q_uniform");
	} else {
		*out = dist_known(sw_json_is_integer(min) && sw_json_is_integer(max) ? "int_uniform"
										     : "uniform");
	}
	assert(*out != NULL);
	if (log != NULL && (*out)->needs != RANGE)
		return AT_KEY(err, "log", "\"log\" does not go with \"%s\"", key);
	(void)snprintf(by, 64, "\"%s\"", key);
	return SW_OK;
}

/* Every key that the distribution needs, none that it does not take. */
static sw_status check_fields(const cJSON *v, const struct dist *d, const char *by,
			      struct sw_err *err)
{
	assert(d != NULL);
	for (size_t i = 0; i < SPEC_N(fields); i++) {
		const char *key = fields[i].key;
		const bool given = sw_json_get(v, key) != NULL;
		if (given && ((d->needs | d->may) & fields[i].bit) == 0)
			return AT_KEY(err, key, "\"%s\" does not go with %s", key, by);
		if (!given && (d->needs & fields[i].bit) != 0)
			return AT_KEY(err, key, "\"%s\" is missing (%s needs it)", key, by);
	}
	return SW_OK;
}

static sw_status read_number(const cJSON *v, const char *key, double *out, bool *has,
			     struct sw_err *err)
{
	const cJSON *number = sw_json_get(v, key);

	if (number == NULL)
		return SW_OK;
	if (!cJSON_IsNumber(number))
		return AT_KEY(err, key, "\"%s\" must be a number, not %s", key, spec_kind(number));
	*out = number->valuedouble;
	if (has != NULL)
		*has = true;
	return SW_OK;
}

/* exp() of the bounds, and a word of warning where they look like values. */
static sw_status from_exponents(struct sw_spec_param *p, const struct dist *d,
				struct sw_err *warning, struct sw_err *err)
{
	const double low = p->min, high = p->max;

	p->min = exp(low);
	p->max = exp(high);
	if (!isfinite(p->max) || !isfinite(p->min))
		return AT_KEY(err, isfinite(p->max) ? "min" : "max",
			      "min and max of %s are exponents of e, and e^%g is not finite; %s "
			      "takes the values themselves",
			      d->name, isfinite(p->max) ? low : high, d->is);
	if (p->min == 0 || p->max == 0)
		return AT_KEY(err, p->min == 0 ? "min" : "max",
			      "min and max of %s are exponents of e, and e^%g is 0; %s takes the "
			      "values themselves",
			      d->name, p->min == 0 ? low : high, d->is);
	if (low > 0 && low < 1 && high <= 1)
		(void)!sw_err_set(warning, SW_INVALID,
				  "min and max of %s are exponents of e: values go from %.6g to "
				  "%.6g; %s takes the values themselves",
				  d->name, p->min, p->max, d->is);
	return SW_OK;
}

static sw_status read_range(struct sw_spec_param *p, const cJSON *v, const struct dist *d,
			    struct sw_err *warning, struct sw_err *err)
{
	static const struct {
		const char *key;
		bool max;
	} ends[] = {{"min", false}, {"max", true}};

	if ((d->needs & RANGE) == 0)
		return SW_OK;
	for (size_t i = 0; i < SPEC_N(ends); i++) {
		const sw_status rc = read_number(v, ends[i].key, ends[i].max ? &p->max : &p->min,
						 ends[i].max ? &p->has_max : &p->has_min, err);
		const double end = ends[i].max ? p->max : p->min;
		if (rc != SW_OK)
			return rc;
		if (strcmp(d->is, "int_uniform") == 0 &&
		    (end != floor(end) || fabs(end) > SW_JSON_MAX_INT))
			return AT_KEY(err, ends[i].key,
				      "\"%s\" of int_uniform must be an integer below 2^53",
				      ends[i].key);
	}
	return d->exponents ? from_exponents(p, d, warning, err) : SW_OK;
}

/* Kind first, then the value itself. */
static int scalar_compare(const cJSON *a, const cJSON *b)
{
	const int ka = a->type & 0xff, kb = b->type & 0xff;

	if (ka != kb)
		return ka < kb ? -1 : 1;
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring);
	if (cJSON_IsNumber(a))
		return (a->valuedouble > b->valuedouble) - (a->valuedouble < b->valuedouble);
	return 0;
}

struct place {
	const cJSON *v;
	size_t i;
};

static int by_value(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;
	const int d = scalar_compare(a->v, b->v);

	return d != 0 ? d : (a->i > b->i) - (a->i < b->i);
}

static sw_status twice(const cJSON *values, size_t n, struct sw_err *err)
{
	struct place *sorted = sw_calloc(n, sizeof *sorted);
	size_t i = 0, found = 0; /* 0: none, since the first of its kind is never the second */
	const cJSON *v;
	char ptr[48];

	if (sorted == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (v, values) {
		sorted[i] = (struct place){v, i};
		i++;
	}
	qsort(sorted, n, sizeof *sorted, by_value);
	for (i = 1; i < n; i++)
		if (scalar_compare(sorted[i - 1].v, sorted[i].v) == 0 &&
		    (found == 0 || sorted[i].i < found))
			found = sorted[i].i;
	free(sorted);
	if (found == 0)
		return SW_OK;
	(void)snprintf(ptr, sizeof ptr, "/values/%zu", found);
	return sw_err_at(err, SW_INVALID, ptr,
			 "a value that stands twice; to favour it use \"probabilities\"");
}

static sw_status read_values(struct sw_spec_param *p, const cJSON *v, struct sw_err *err)
{
	const cJSON *values = sw_json_get(v, "values"), *value;
	char ptr[48];
	size_t i = 0;

	if (values == NULL)
		return SW_OK;
	if (!cJSON_IsArray(values))
		return AT_KEY(err, "values", "\"values\" must be an array, not %s",
			      spec_kind(values));
	p->n_values = (size_t)cJSON_GetArraySize(values);
	if (p->n_values == 0)
		return AT_KEY(err, "values", "values is empty");
	if (p->n_values > SW_SPEC_MAX_VALUES)
		return AT_KEY(err, "values", "more than %d values", SW_SPEC_MAX_VALUES);
	cJSON_ArrayForEach (value, values) {
		(void)snprintf(ptr, sizeof ptr, "/values/%zu", i++);
		if (cJSON_IsObject(value) || cJSON_IsArray(value))
			return sw_err_at(err, SW_INVALID, ptr,
					 "a value must be a number, a string, true, false or null, "
					 "not %s",
					 spec_kind(value));
	}
	p->values = values;
	return twice(values, p->n_values, err);
}

static sw_status read_weights(struct sw_spec_param *p, const cJSON *v, struct sw_err *err)
{
	const cJSON *list = sw_json_get(v, "probabilities"), *one;
	double *weights, sum = 0;
	char ptr[48];
	size_t i = 0;

	if (list == NULL)
		return SW_OK;
	if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != p->n_values)
		return AT_KEY(err, "probabilities",
			      "\"probabilities\" must be an array of %zu numbers, one for each of "
			      "the values",
			      p->n_values);
	weights = sw_calloc(p->n_values, sizeof *weights);
	p->weights = weights;
	if (weights == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (one, list) {
		(void)snprintf(ptr, sizeof ptr, "/probabilities/%zu", i);
		if (!cJSON_IsNumber(one) || one->valuedouble < 0)
			return sw_err_at(err, SW_INVALID, ptr,
					 "a probability must be a number, 0 or more");
		sum += weights[i++] = one->valuedouble;
	}
	if (!(sum > 0) || !isfinite(sum))
		return AT_KEY(err, "probabilities", "the probabilities must have a sum above 0");
	return SW_OK;
}

static sw_status not_an_object(const cJSON *v, struct sw_err *err)
{
	if (cJSON_IsArray(v))
		return sw_err_set(err, SW_INVALID,
				  "a parameter must be an object; for a choice write {\"values\": "
				  "[...]}");
	return sw_err_set(err, SW_INVALID,
			  "a parameter must be an object; for a constant write {\"value\": ...}");
}

sw_status spec_param_read(struct sw_spec_param *p, const cJSON *v, struct sw_err *warning,
			  struct sw_err *err)
{
	static const struct spec_keys keys = {known, SPEC_N(known), hints, SPEC_N(hints)};
	const struct dist *d = NULL;
	char by[64] = "";
	sw_status rc;

	p->q = 1;
	p->sigma = 1;
	if (!cJSON_IsObject(v))
		return not_an_object(v, err);
	/* A distribution that is not known comes first: its own keys are no mistakes. */
	const cJSON *named = sw_json_get(v, "distribution");
	if (cJSON_IsString(named) && dist_by_name(named->valuestring) == NULL)
		return unknown_dist(named->valuestring, err);
	if ((rc = spec_check_keys(v, &keys, err)) != SW_OK ||
	    (rc = dist_find(v, &d, by, err)) != SW_OK ||
	    (rc = check_fields(v, d, by, err)) != SW_OK)
		return rc;
	assert(d != NULL);
	p->dist = d->is;
	p->value = sw_json_get(v, "value");
	if ((rc = read_number(v, "q", &p->q, &p->has_q, err)) != SW_OK ||
	    (rc = read_number(v, "mu", &p->mu, NULL, err)) != SW_OK ||
	    (rc = read_number(v, "sigma", &p->sigma, NULL, err)) != SW_OK ||
	    (rc = read_range(p, v, d, warning, err)) != SW_OK ||
	    (rc = read_values(p, v, err)) != SW_OK)
		return rc;
	return read_weights(p, v, err);
}
