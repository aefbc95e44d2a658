/* tests/spec/test_trainer_options.c — docs/spec.md says each option's default and range as the
 * table has them. */
#include "spec/trainer_options.h"
#include "tests/run.h"
#include <math.h>
#include <stdio.h>

/* A number as the page writes it: 1e9, not 1e+09. */
static const char *written(double v, char to[32])
{
	int digits, exponent;

	(void)snprintf(to, 32, "%g", v);
	if (sscanf(to, "%de%d", &digits, &exponent) == 2)
		(void)snprintf(to, 32, "%de%d", digits, exponent);
	return to;
}

static void default_cell(const struct sw_form_key *o, char to[64])
{
	char a[32], b[32];

	if (o->kind == SW_KEY_CHOICE)
		(void)snprintf(to, 64, "`\"%s\"`", o->choices[0]);
	else if (o->kind == SW_KEY_BOOLEAN)
		(void)snprintf(to, 64, "`%s`", o->fallback != 0 ? "true" : "false");
	else if (o->other.optimizer != NULL)
		(void)snprintf(to, 64, "`%s`; with `\"%s\"` `%s`", written(o->fallback, a),
			       o->other.optimizer, written(o->other.fallback, b));
	else if (strcmp(o->name, "epochs") == 0)
		(void)snprintf(to, 64, "`early_terminate.max_t`, else `%s`",
			       written(o->fallback, a));
	else if (isnan(o->fallback))
		(void)snprintf(to, 64, "the sweep's seed");
	else
		(void)snprintf(to, 64, "`%s`", written(o->fallback, a));
}

static void range_cell(const struct sw_form_key *o, char to[64])
{
	char a[32], b[32];
	size_t n = 0;

	to[0] = '\0';
	for (size_t i = 0; o->choices != NULL && o->choices[i] != NULL; i++)
		n += (size_t)snprintf(to + n, 64 - n, "%s`\"%s\"`", i > 0 ? ", " : "",
				      o->choices[i]);
	if (o->choices != NULL || o->kind == SW_KEY_BOOLEAN)
		return;
	(void)snprintf(to, 64,
		       o->min_open   ? "above %s, at most %s"
		       : o->max_open ? "%s up to, not including, %s"
				     : "%s to %s",
		       written(o->min, a), written(o->max, b));
}

/* The row of an option in the page: "| `name` | ... |". */
static void find_row(const char *name, char row[512])
{
	FILE *page = fopen("docs/spec.md", "r");
	char start[64];
	bool there = false;

	ck_assert_ptr_nonnull(page);
	(void)snprintf(start, sizeof start, "| `%s` |", name);
	while (fgets(row, 512, page) != NULL && strncmp(row, "## trainer", 10) != 0)
		;
	while (!there && fgets(row, 512, page) != NULL && strncmp(row, "## ", 3) != 0)
		there = strncmp(row, start, strlen(start)) == 0;
	ck_assert_msg(there, "docs/spec.md has no row for %s", name);
	(void)fclose(page);
}

/* _i: the option */
TEST_LOOP(trainer_option_has_its_default_and_its_range_in_the_page, 0, (int)sw_trainer_options.n)
{
	static const char *const type[] = {[SW_KEY_REAL] = "number",
					   [SW_KEY_INTEGER] = "integer",
					   [SW_KEY_BOOLEAN] = "boolean",
					   [SW_KEY_CHOICE] = "string"};
	const struct sw_form_key *o = &sw_trainer_options.keys[_i];
	char row[512], want[256], fallback[64], range[64];

	find_row(o->name, row);
	default_cell(o, fallback);
	range_cell(o, range);
	if (o->searched)
		(void)snprintf(want, sizeof want, "| `%s` | %s | %s |%s%s |", o->name,
			       type[o->kind], fallback, range[0] != '\0' ? " " : "", range);
	else
		(void)snprintf(want, sizeof want, "| `%s` | %s | %s |", o->name, type[o->kind],
			       fallback);
	ck_assert_msg(strncmp(row, want, strlen(want)) == 0, "the row is\n%s, not\n%s", row, want);
}

TEST_LOOP(trainer_option_default_is_a_value_of_its_own, 0, (int)sw_trainer_options.n)
{
	const struct sw_form_key *o = &sw_trainer_options.keys[_i];

	ck_assert_ptr_eq(sw_trainer_option_find(o->name), o);
	ck_assert_int_eq(o->kind == SW_KEY_CHOICE, o->choices != NULL);
	if (isnan(o->fallback) || o->kind == SW_KEY_BOOLEAN || o->kind == SW_KEY_CHOICE)
		return;
	ck_assert(o->min_open ? o->fallback > o->min : o->fallback >= o->min);
	ck_assert(o->max_open ? o->fallback < o->max : o->fallback <= o->max);
}

TEST(trainer_option_unknown_name_is_none)
{
	ck_assert_ptr_null(sw_trainer_option_find("none"));
}

RUN_TESTS(NULL, NULL)
