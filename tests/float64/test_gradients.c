/*
 * tests/float64/test_gradients.c — the gradient of each parameter of whole nets, in double, beside
 * central differences of the loss: lists that hold every layer and every combination that shares
 * buffers, and lists made by chance.
 */
#include "tests/float64/net_case.h"
#include "tests/run.h"

#define RANDOM_N 300

#define FLAT   .kind = SW_SHAPE_FLAT
#define IMAGE  .kind = SW_SHAPE_IMAGE
#define TOKENS .kind = SW_SHAPE_TOKENS
#define TAIL   ", \"flatten\", {\"linear\": 4}]"
#define MEAN   ", \"mean_tokens\", {\"linear\": 4}]"

static const struct net_case cases[] = {
	/* products and activations */
	{FLAT, .list = "[{\"linear\": 6}, \"relu\", {\"linear\": 5}, \"relu\", {\"linear\": 4}]"},
	{FLAT,
	 .list = "[{\"linear\": 6}, \"tanh\", {\"linear\": 5}, \"sigmoid\", {\"linear\": 5}, "
		 "\"silu\", {\"linear\": 5}, \"gelu\", {\"linear\": {\"out\": 4, \"bias\": "
		 "false}}]",
	 .smooth = 0.1},
	{FLAT, .list = "[{\"linear\": 6}, \"relu\", {\"linear\": 1}]", .numbers = true, .micro = 4},
	/* in place: several of them over one value, and where that must not be */
	{FLAT,
	 .list = "[{\"linear\": 6}, \"gelu\", \"relu\", \"tanh\", {\"dropout\": 0.3}, "
		 "\"sigmoid\", \"flatten\", \"relu\", {\"linear\": 4}]",
	 .micro = 4},
	{FLAT,
	 .list = "[{\"linear\": 6}, {\"dropout\": 0.3}, \"relu\", {\"dropout\": 0.3}, "
		 "{\"linear\": 4}]",
	 .micro = 2},
	{FLAT, .list = "[{\"linear\": 6}, \"batchnorm1d\", \"relu\", {\"linear\": 5}, \"tanh\", "
		       "\"layernorm\", \"gelu\", {\"linear\": 4}]"},
	{FLAT, .list = "[\"layernorm\", \"batchnorm\", {\"linear\": 4}]", .micro = 3},
	/* residuals: identity, projection, in each other; a value with two readers */
	{FLAT, .list = "[{\"linear\": 6}, {\"residual\": [{\"linear\": 6}, \"relu\"]}, \"relu\", "
		       "{\"linear\": 4}]"},
	{FLAT,
	 .list = "[{\"linear\": 6}, \"relu\", {\"residual\": [\"relu\", {\"linear\": 3}]}, "
		 "\"relu\", {\"linear\": 4}]",
	 .smooth = 0.2},
	{FLAT,
	 .list = "[{\"linear\": 6}, {\"residual\": [\"tanh\", {\"residual\": [{\"linear\": 6}, "
		 "\"relu\"]}]}, {\"linear\": 1}]",
	 .numbers = true},
	{FLAT,
	 .list = "[{\"linear\": 6}, {\"residual\": [{\"residual\": [{\"residual\": [\"relu\"]}, "
		 "\"gelu\"]}, {\"dropout\": 0.4}]}, \"relu\", {\"residual\": [{\"dropout\": "
		 "0.2}]}, {\"linear\": 4}]",
	 .micro = 5},
	{FLAT,
	 .list = "[{\"residual\": [\"tanh\"]}, {\"residual\": [{\"linear\": 7}]}, "
		 "{\"residual\": [\"batchnorm\", \"relu\", {\"linear\": 7}]}, {\"linear\": 4}]"},
	{FLAT,
	 .list = "[{\"linear\": 6}, \"flatten\", {\"residual\": [\"flatten\", \"tanh\"]}, "
		 "{\"residual\": [\"layernorm\", {\"linear\": 6}, \"relu\", {\"linear\": 6}]}, "
		 "{\"linear\": 4}]"},
	/* images */
	{IMAGE,
	 .list = "[{\"conv2d\": {\"out\": 3, \"kernel\": 3, \"padding\": 1}}, \"relu\", "
		 "{\"maxpool2d\": 2}, {\"conv2d\": {\"out\": 2, \"kernel\": 2, \"stride\": 2, "
		 "\"padding\": 1}}, \"relu\"" TAIL,
	 .micro = 4},
	{IMAGE,
	 .list = "[{\"conv2d\": {\"out\": 3, \"kernel\": 2, \"stride\": 2, \"bias\": false}}, "
		 "\"batchnorm2d\", \"relu\", {\"avgpool2d\": {\"kernel\": 2, \"stride\": 1, "
		 "\"padding\": 1}}, \"global_avgpool\"" TAIL},
	{IMAGE,
	 .list = "[{\"conv2d\": {\"out\": 4, \"kernel\": 5, \"padding\": 2}}, {\"maxpool2d\": "
		 "{\"kernel\": 3, \"stride\": 2, \"padding\": 1}}, \"relu\", {\"conv2d\": "
		 "{\"out\": 2, \"kernel\": 1}}, \"layernorm\"" TAIL},
	{IMAGE,
	 .list = "[{\"conv2d\": {\"out\": 3, \"kernel\": 3, \"padding\": 1, \"bias\": false}}, "
		 "\"batchnorm\", \"relu\", {\"residual\": [{\"conv2d\": {\"out\": 3, "
		 "\"kernel\": 3, \"padding\": 1, \"bias\": false}}, \"batchnorm\", \"relu\", "
		 "{\"conv2d\": {\"out\": 3, \"kernel\": 3, \"padding\": 1, \"bias\": false}}, "
		 "\"batchnorm\"]}, \"relu\", {\"residual\": [{\"conv2d\": {\"out\": 4, "
		 "\"kernel\": 3, \"stride\": 2, \"padding\": 1, \"bias\": false}}, "
		 "\"batchnorm\"]}, \"relu\", \"global_avgpool\"" TAIL,
	 .smooth = 0.1},
	{IMAGE,
	 .list = "[{\"conv2d\": {\"out\": 17, \"kernel\": 3, \"padding\": 1}}, \"relu\", "
		 "{\"conv2d\": {\"out\": 2, \"kernel\": 3, \"padding\": 2}}, {\"dropout\": 0.2}, "
		 "{\"maxpool2d\": 2}" TAIL},
	{IMAGE,
	 .list = "[{\"residual\": [{\"avgpool2d\": {\"kernel\": 3, \"stride\": 1, "
		 "\"padding\": 1}}]}, {\"conv2d\": {\"out\": 1, \"kernel\": 3}}, \"flatten\", "
		 "{\"linear\": 1}]",
	 .numbers = true, .micro = 1},
	{IMAGE,
	 .list = "[{\"conv2d\": {\"out\": 6, \"kernel\": 5}}, \"relu\", {\"maxpool2d\": 2}, "
		 "{\"conv2d\": {\"out\": 16, \"kernel\": 5}}, \"relu\", {\"maxpool2d\": 2}, "
		 "\"flatten\", {\"linear\": 12}, \"relu\"" TAIL,
	 .c = 3, .h = 32, .w = 32, .most = 4, .micro = 4},
	/* tokens */
	{TOKENS, .list = "[{\"embedding\": 6}, \"positional\", {\"attention\": 2}" MEAN,
	 .micro = 4},
	{TOKENS,
	 .list = "[{\"embedding\": 6}, {\"attention\": {\"heads\": 3, \"causal\": true}}" MEAN,
	 .whole = true},
	{TOKENS,
	 .list = "[{\"embedding\": 6}, {\"linear\": 8}, {\"positional\": 7}, {\"attention\": "
		 "{\"heads\": 1, \"causal\": true}}, \"gelu\"" MEAN,
	 .smooth = 0.1},
	{TOKENS,
	 .list = "[{\"embedding\": 6}, \"positional\", {\"residual\": [\"layernorm\", "
		 "{\"attention\": 2}, {\"dropout\": 0.2}]}, {\"residual\": [\"layernorm\", "
		 "{\"linear\": 9}, \"gelu\", {\"linear\": 6}, {\"dropout\": 0.2}]}, "
		 "\"layernorm\"" MEAN,
	 .micro = 2},
	{TOKENS,
	 .list = "[{\"embedding\": 6}, {\"residual\": [\"positional\", {\"linear\": 8}]}, "
		 "{\"residual\": [\"positional\"]}, {\"linear\": 4}]",
	 .each = true, .micro = 4},
	{TOKENS,
	 .list = "[{\"embedding\": 6}, \"positional\", {\"residual\": [\"layernorm\", "
		 "{\"attention\": {\"heads\": 2, \"causal\": true}}]}, {\"linear\": 4}]",
	 .each = true, .whole = true, .smooth = 0.1},
	{TOKENS,
	 .list = "[{\"embedding\": 6}, \"relu\", \"mean_tokens\", {\"residual\": [{\"linear\": "
		 "6}, \"relu\"]}, {\"linear\": 1}]",
	 .numbers = true, .micro = 4},
};
#define CASES_N ROWS(cases)

/* _i / 2: the case; by one of the three builds of the loops, and by BLAS */
TEST_LOOP(gradients_of_each_layer_and_combination_are_slopes, 0, 2 * (int)CASES_N)
{
	struct net_case c = cases[_i / 2];

	c.seed = (unsigned)_i;
	c.isa = _i % 2 == 0 ? _i / 2 % 3 : 0;
	c.blas = _i % 2 == 0 ? 0 : 2;
	case_check(&c);
}

/* --- lists made by chance --- */

static char list[8192];

static void say(const char *text)
{
	ck_assert_uint_lt(strlen(list) + strlen(text) + 1, sizeof list);
	strcat(list, text);
}

static const char *const any[] = {"\"tanh\"",      "\"gelu\"", "\"sigmoid\"", "\"silu\"",
				  "\"layernorm\"", "\"relu\"", "\"relu\"",    "{\"dropout\": 0.2}"};
static const char *const own[][10] = {
	[SW_SHAPE_FLAT] = {"{\"linear\": 7}", "{\"linear\": 5}", "{\"linear\": 3}", "\"batchnorm\"",
			   "\"flatten\"", "{\"linear\": {\"out\": 6, \"bias\": false}}"},
	[SW_SHAPE_IMAGE] =
		{"{\"conv2d\": {\"out\": 3, \"kernel\": 3, \"padding\": 1}}",
		 "{\"conv2d\": {\"out\": 2, \"kernel\": 1}}",
		 "{\"conv2d\": {\"out\": 4, \"kernel\": 2, \"stride\": 2, \"padding\": 1}}",
		 "{\"conv2d\": {\"out\": 5, \"kernel\": 2, \"padding\": 2, \"bias\": false}}",
		 "\"batchnorm\"", "{\"avgpool2d\": {\"kernel\": 3, \"stride\": 1, \"padding\": 1}}",
		 "{\"maxpool2d\": 2}",
		 "{\"maxpool2d\": {\"kernel\": 3, \"stride\": 2, \"padding\": 1}}",
		 "\"global_avgpool\"", "{\"avgpool2d\": 2}"},
	[SW_SHAPE_TOKENS] = {"{\"linear\": 6}", "{\"linear\": 4}", "{\"attention\": 2}",
			     "{\"attention\": {\"heads\": 1, \"causal\": true}}", "\"positional\"",
			     "{\"attention\": {\"heads\": 2, \"causal\": true}}"},
};

static void layers(enum sw_shape_kind kind, unsigned most, int depth);

static void layer(enum sw_shape_kind kind, int depth)
{
	const unsigned pick = case_draw(12), own_n = kind == SW_SHAPE_IMAGE ? 10 : 6;

	if (pick < 4 && depth < 3) {
		say("{\"residual\": [");
		layers(kind, 3, depth + 1);
		say("]}");
	} else if (pick < 8) {
		say(own[kind][case_draw(own_n)]);
	} else {
		say(any[case_draw(ROWS(any))]);
	}
}

static void layers(enum sw_shape_kind kind, unsigned most, int depth)
{
	const unsigned n = 1 + case_draw(most);

	for (unsigned i = 0; i < n; i++) {
		say(i ? ", " : "");
		layer(kind, depth);
	}
}

static void list_make(const struct net_case *c)
{
	list[0] = '\0';
	say(c->kind == SW_SHAPE_TOKENS ? "[{\"embedding\": 6}, " : "[");
	layers(c->kind, 5, 0);
	say(c->kind == SW_SHAPE_IMAGE             ? ", \"flatten\", "
	    : c->kind == SW_SHAPE_FLAT || c->each ? ", "
						  : ", \"mean_tokens\", ");
	say(c->numbers ? "{\"linear\": 1}]" : "{\"linear\": 4}]");
}

/* A list whose windows, heads and projections fit, and few numbers. */
static struct sw_model *random_make(struct net_case *c, unsigned i)
{
	static const size_t micros[] = {0, 4, 0, 3, 1, 0, 2};
	struct sw_err err = SW_ERR_INIT;
	struct sw_model *m = NULL;

	*c = (struct net_case){.kind = (enum sw_shape_kind)(i % 3),
			       .numbers = i / 3 % 4 == 3,
			       .list = list,
			       .micro = micros[i % 7],
			       .smooth = i % 5 == 4 ? 0.1 : 0,
			       .isa = (int)(i / 3 % 3),
			       .blas = i % 8 == 7 ? 2 : 0,
			       .most = 40};
	c->each = c->kind == SW_SHAPE_TOKENS && !c->numbers && i % 2;
	c->whole = i % 4 == 2;
	for (unsigned turn = 0; !m; turn++) {
		ck_assert_uint_lt(turn, 200);
		case_seed(1000 * i + turn);
		c->seed = 1000 * i + turn;
		list_make(c);
		if (case_compiles(c, &m, &err) && m->parameters > 1200) {
			free(m);
			m = NULL;
		}
	}
	return m;
}

TEST_LOOP(gradients_of_a_random_net_are_slopes, 0, 10)
{
	struct net_case c;

	for (unsigned i = 0; i < RANDOM_N / 10; i++) {
		free(random_make(&c, (unsigned)_i + 10 * i));
		case_check(&c);
	}
}

/* Every operation, in the lists by hand and in those by chance. */
TEST(nets_that_are_checked_hold_every_operation)
{
	size_t by_hand[SW_OP_KINDS_N] = {0}, by_chance[SW_OP_KINDS_N] = {0};
	struct sw_err err = SW_ERR_INIT;
	struct net_case c;
	struct sw_model *m;

	for (size_t i = 0; i < CASES_N; i++) {
		ck_assert_msg(case_compiles(&cases[i], &m, &err), "%s: %s", cases[i].list, err.msg);
		for (size_t k = 0; k < m->ops_n; k++)
			by_hand[m->op[k].kind]++;
		free(m);
	}
	for (unsigned i = 0; i < RANDOM_N; i++) {
		m = random_make(&c, i);
		for (size_t k = 0; k < m->ops_n; k++)
			by_chance[m->op[k].kind]++;
		free(m);
	}
	for (int k = 0; k < SW_OP_KINDS_N; k++) {
		ck_assert_msg(by_hand[k] >= 1, "no %s by hand", sw_op_name((enum sw_op_kind)k));
		ck_assert_msg(by_chance[k] >= 20, "%zu times %s by chance", by_chance[k],
			      sw_op_name((enum sw_op_kind)k));
	}
}

RUN_TESTS(NULL, NULL)
