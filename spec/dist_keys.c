#include "spec/dist_keys.h"
#include <stddef.h>

const struct sw_spec_dist_field sw_spec_dist_fields[SW_SPEC_DIST_FIELD_N] = {
	{"value", VALUE}, {"values", VALUES}, {"probabilities", PROBABILITIES},
	{"min", MIN},     {"max", MAX},       {"q", Q},
	{"mu", MU},       {"sigma", SIGMA},
};

const struct sw_spec_dist_alias sw_spec_dist_aliases[SW_SPEC_DIST_ALIAS_N] = {
	{"min", "lower"}, {"max", "upper"},         {"mu", "mean"},
	{"sigma", "sd"},  {"values", "categories"}, {"values", "grid_search"},
};

const struct sw_spec_dist sw_spec_dists[SW_SPEC_DIST_N] = {
	{NULL, SW_DIST_CONSTANT, VALUE, 0, 0},
	{NULL, SW_DIST_CATEGORICAL, VALUES, PROBABILITIES, 0},
	{"categorical_w_probabilities", SW_DIST_CATEGORICAL, VALUES | PROBABILITIES, 0, 0},
	{NULL, SW_DIST_INT_UNIFORM, RANGE, 0, INTEGERS},
	{NULL, SW_DIST_INT_LOG_UNIFORM, RANGE, 0, INTEGERS},
	{NULL, SW_DIST_UNIFORM, RANGE, 0, RAYS},
	{NULL, SW_DIST_Q_UNIFORM, RANGE, Q, 0},
	{NULL, SW_DIST_LOG_UNIFORM, RANGE, 0, 0},
	{NULL, SW_DIST_INV_LOG_UNIFORM, RANGE, 0, 0},
	{NULL, SW_DIST_Q_LOG_UNIFORM, RANGE, Q, 0},
	{"log_uniform", SW_DIST_LOG_UNIFORM, RANGE, 0, EXPONENTS},
	{"inv_log_uniform", SW_DIST_INV_LOG_UNIFORM, RANGE, 0, EXPONENTS},
	{"q_log_uniform", SW_DIST_Q_LOG_UNIFORM, RANGE, Q, EXPONENTS},
	{NULL, SW_DIST_POW2, RANGE, 0, 0},
	{NULL, SW_DIST_NORMAL, 0, MU | SIGMA, 0},
	{NULL, SW_DIST_Q_NORMAL, 0, MU | SIGMA | Q, 0},
	{NULL, SW_DIST_LOG_NORMAL, 0, MU | SIGMA, 0},
	{NULL, SW_DIST_Q_LOG_NORMAL, 0, MU | SIGMA | Q, 0},
	/* Ray's names */
	{"choice", SW_DIST_CATEGORICAL, VALUES, PROBABILITIES, RAYS},
	{"grid_search", SW_DIST_CATEGORICAL, VALUES, 0, RAYS},
	{"quniform", SW_DIST_Q_UNIFORM, RANGE, Q, RAYS},
	{"loguniform", SW_DIST_LOG_UNIFORM, RANGE, 0, RAYS},
	{"qloguniform", SW_DIST_Q_LOG_UNIFORM, RANGE, Q, RAYS},
	{"randint", SW_DIST_INT_UNIFORM, RANGE, 0, RAYS | INTEGERS | OPEN},
	{"qrandint", SW_DIST_Q_UNIFORM, RANGE, Q, RAYS | INTEGERS},
	{"lograndint", SW_DIST_INT_LOG_UNIFORM, RANGE, 0, RAYS | INTEGERS | OPEN},
	{"qlograndint", SW_DIST_Q_LOG_UNIFORM, RANGE, Q, RAYS | INTEGERS},
	{"randn", SW_DIST_NORMAL, 0, MU | SIGMA, RAYS},
	{"qrandn", SW_DIST_Q_NORMAL, 0, MU | SIGMA | Q, RAYS},
};

const char *sw_spec_dist_name(const struct sw_spec_dist *d)
{
	return d->alias != NULL ? d->alias : sw_dist_name(d->is);
}
