/* The values of a categorical parameter, and what they weigh. */
#include "base/memory.h"
#include "proto/json.h"
#include "spec/read/read.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int value_compare(const cJSON *a, const cJSON *b);

/* Of two lists, or of two objects, whose members' names count, and their order. */
static int list_compare(const cJSON *a, const cJSON *b)
{
	const cJSON *x = a->child, *y = b->child;

	for (; x != NULL && y != NULL; x = x->next, y = y->next) {
		const bool named = x->string != NULL && y->string != NULL;
		int d = named ? strcmp(x->string, y->string) : 0;

		if (d == 0)
			d = value_compare(x, y);

		if (d != 0)
			return d;
	}
	return (x != NULL) - (y != NULL);
}

/* Kind first, then the value itself. */
static int value_compare(const cJSON *a, const cJSON *b)
{
	/* Bits above the low byte are marks of the parser: 1 and 1.0 are one value. */
	const int ka = a->type & 0xff, kb = b->type & 0xff;

	if (ka != kb)
		return ka < kb ? -1 : 1;
	/* Of the same kind, so both are lists or both are objects, though one may be empty. */
	if (a->child != NULL || b->child != NULL)
		return list_compare(a, b);
	if (cJSON_IsString(a))
		return strcmp(a->valuestring, b->valuestring);
	if (cJSON_IsNumber(a))
		return (a->valuedouble > b->valuedouble) - (a->valuedouble < b->valuedouble);
	return 0;
}

static int by_value(const void *pa, const void *pb)
{
	const struct sw_spec_value *a = pa, *b = pb;
	const int d = value_compare(a->v, b->v);

	/* qsort() keeps no order among equals, and find_firsts() needs the spec's. */
	return d != 0 ? d : (a->i > b->i) - (a->i < b->i);
}

size_t sw_spec_value_find(const struct sw_spec_param *p, const cJSON *v)
{
	size_t low = 0, high = p->n_values;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const int d = value_compare(v, p->sorted[mid].v);

		if (d == 0)
			return p->sorted[mid].i;
		if (d < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return p->n_values;
}

/* Sorts p->values, those that are equal in the order of the spec. */
static sw_status sort_values(struct sw_spec_param *p, struct sw_err *err)
{
	struct sw_spec_value *sorted = sw_calloc(p->n_values, sizeof *sorted);
	size_t i = 0;
	const cJSON *v;

	p->sorted = sorted;
	if (sorted == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (v, p->values) {
		sorted[i] = (struct sw_spec_value){v, i};
		i++;
	}
	qsort(sorted, p->n_values, sizeof *sorted, by_value);
	return SW_OK;
}

sw_status sw_spec_check_exact(const cJSON *v, const char *ptr, struct sw_err *err)
{
	sw_status rc = SW_OK;
	const cJSON *child;

	if (cJSON_IsNumber(v) && (v->type & SW_JSON_REAL) == 0 &&
	    fabs(v->valuedouble) > SW_JSON_MAX_INT)
		return sw_err_at(err, SW_INVALID, ptr,
				 "a whole number of 2^53 or more would lose digits: put quotes "
				 "around it, or write it as a real (1.0e18)");
	cJSON_ArrayForEach (child, v)
		rc = rc == SW_OK ? sw_spec_check_exact(child, ptr, err) : rc;
	return rc;
}

sw_status sw_spec_values_read(struct sw_spec_param *p, const cJSON *v, const char *key,
			      struct sw_err *err)
{
	const cJSON *values = sw_json_get(v, key);
	char ptr[48];

	/* The distribution takes no list. */
	if (values == NULL)
		return SW_OK;
	(void)snprintf(ptr, sizeof ptr, "/%s", key);
	p->n_values = (size_t)cJSON_GetArraySize(values);
	p->values = values;
	const sw_status rc = sw_spec_check_exact(values, ptr, err);
	return rc == SW_OK ? sort_values(p, err) : rc;
}

sw_status sw_spec_weights_read(struct sw_spec_param *p, const cJSON *v, struct sw_err *err)
{
	const cJSON *list = sw_json_get(v, "probabilities"), *one;
	double *weights, sum = 0;
	size_t i = 0;

	/* All values weigh the same. */
	if (list == NULL)
		return SW_OK;
	if ((size_t)cJSON_GetArraySize(list) != p->n_values)
		return sw_err_at(
			err, SW_INVALID, "/probabilities",
			"\"probabilities\" must be an array of %zu numbers, one for each of "
			"the values",
			p->n_values);
	weights = sw_calloc(p->n_values, sizeof *weights);
	p->weights = weights;
	if (weights == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	cJSON_ArrayForEach (one, list)
		sum += weights[i++] = one->valuedouble;
	/* The numbers need no sum of 1, but all 0 would leave nothing to draw, and an endless sum
	 * nothing to divide by. */
	if (!(sum > 0) || !isfinite(sum))
		return sw_err_at(err, SW_INVALID, "/probabilities",
				 "the probabilities must have a sum above 0");
	return SW_OK;
}

/* of: for each value the place of the first that equals it, which is its own if it is that one.
 * The result is the place of the first that is not; n_values: no value repeats. */
static size_t find_firsts(const struct sw_spec_param *p, size_t *of)
{
	size_t repeat = p->n_values;

	for (size_t k = 0; k < p->n_values; k++) {
		const struct sw_spec_value *one = &p->sorted[k];
		const bool again = k > 0 && value_compare(one[-1].v, one->v) == 0;
		of[one->i] = again ? of[one[-1].i] : one->i;
		if (again && one->i < repeat)
			repeat = one->i;
	}
	return repeat;
}

/* The firsts into p->merged, and what each weighs with those that equal it. */
static sw_status merge(struct sw_spec_param *p, size_t *of, double *weights)
{
	const cJSON *v;
	size_t kept = 0, i = 0;

	if ((p->merged = cJSON_CreateArray()) == NULL)
		return SW_NOMEM;
	cJSON_ArrayForEach (v, p->values) {
		const bool first = of[i] == i;

		if (first && !cJSON_AddItemToArray(p->merged, cJSON_Duplicate(v, 1)))
			return SW_NOMEM;
		/* From here on its place in p->merged; that of its first is known by now. */
		of[i] = first ? kept++ : of[of[i]];
		weights[of[i]] += p->weights != NULL ? p->weights[i] : 1;
		i++;
	}
	p->values = p->merged;
	p->n_values = kept;
	return SW_OK;
}

sw_status sw_spec_values_merge(struct sw_spec_param *p, struct sw_err *warning, struct sw_err *err)
{
	size_t *of = sw_calloc(p->n_values, sizeof *of);
	double *weights = sw_calloc(p->n_values, sizeof *weights);
	sw_status rc = of != NULL && weights != NULL ? SW_OK : SW_NOMEM;
	const size_t repeat = rc == SW_OK ? find_firsts(p, of) : 0;

	/* The spec stays as it was given: read again, it must weigh the same. */
	if (rc == SW_OK && repeat < p->n_values && (rc = merge(p, of, weights)) == SW_OK) {
		(void)!sw_err_set(warning, SW_INVALID,
				  "value %zu is listed before: they are one, as likely as both "
				  "together",
				  repeat + 1);
		free((void *)p->weights);
		p->weights = weights;
		weights = NULL;
		/* Its entries point to the values that were given; sort_values() sets it anew, to
		 * NULL if that fails. */
		free(p->sorted);
		rc = sort_values(p, err);
	}
	free(of);
	free(weights);
	return rc == SW_OK ? rc : sw_err_set(err, rc, "out of memory");
}
