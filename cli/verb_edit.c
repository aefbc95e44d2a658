/* cli/verb_edit.c — `edit 3 --run-cap 80 --range lr=1e-4..1e-2`: what is to change as one call;
 * what did change, old -> new. */
#include "cli/verb.h"
#include "proto/json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number as people write it ("1e-4", "0.98", ".5"), up to `end`. */
static bool word_number(const char *s, const char *end, double *out)
{
	char text[64], *rest;
	const size_t n = (size_t)(end - s);

	/* strtod() alone would take "inf", "nan" and hexadecimal, too */
	if (n == 0 || n >= sizeof text || strspn(s, "0123456789+-.eE") < n)
		return false;
	memcpy(text, s, n);
	text[n] = '\0';
	*out = strtod(text, &rest);
	return *rest == '\0' && isfinite(*out);
}

/* A setting; of a limit, which may be taken away, the word "none" is the daemon's 0. */
static int add_setting(struct sw_cli *c, struct sw_jw *w, const char *key, const char *option,
		       const char *text, bool limit)
{
	double v = 0;

	if (text == NULL)
		return SW_EXIT_DONE;
	if (!(limit && strcmp(text, "none") == 0) && !word_number(text, text + strlen(text), &v))
		return sw_cli_usage(c, "--%s: expected a number%s, not '%s'", option,
				    limit ? " or none" : "", text);
	sw_jw_knum(w, key, v);
	return SW_EXIT_DONE;
}

/* "lr=1e-4..1e-2" as a member of the object "ranges". */
static int add_range(struct sw_cli *c, struct sw_jw *w, const char *text)
{
	/* The last one: a parameter's name may hold "=", a range cannot. */
	const char *eq = strrchr(text, '='), *dots = eq != NULL ? strstr(eq, "..") : NULL;
	char name[256];
	double min, max;

	/* "1...5" is from 1 to .5; "1.." followed by a digit is the usual case. */
	if (eq == NULL || eq == text || (size_t)(eq - text) >= sizeof name || dots == NULL ||
	    !word_number(eq + 1, dots, &min) || !word_number(dots + 2, text + strlen(text), &max))
		return sw_cli_usage(c, "--range: expected NAME=MIN..MAX, not '%s'", text);
	memcpy(name, text, (size_t)(eq - text));
	name[eq - text] = '\0';
	sw_jw_kobj(w, name);
	sw_jw_knum(w, "min", min);
	sw_jw_knum(w, "max", max);
	sw_jw_obj_end(w);
	return SW_EXIT_DONE;
}

static bool is_twice(const struct sw_args *a, size_t i)
{
	const char *eq = strrchr(a->range[i], '=');
	const size_t n = eq != NULL ? (size_t)(eq - a->range[i]) + 1 : 0;

	for (size_t k = 0; n > 0 && k < i; k++)
		if (strncmp(a->range[k], a->range[i], n) == 0)
			return true;
	return false;
}

static int add_ranges(struct sw_cli *c, struct sw_jw *w)
{
	int status = SW_EXIT_DONE;

	if (c->args.n_ranges == 0)
		return SW_EXIT_DONE;
	sw_jw_kobj(w, "ranges");
	for (size_t i = 0; status == SW_EXIT_DONE && i < c->args.n_ranges; i++) {
		if (is_twice(&c->args, i))
			return sw_cli_usage(c, "--range: one range a parameter, not '%s' too",
					    c->args.range[i]);
		status = add_range(c, w, c->args.range[i]);
	}
	sw_jw_obj_end(w);
	return status;
}

static int write_params(struct sw_cli *c, struct sw_jw *w)
{
	const struct sw_args *a = &c->args;
	const struct {
		const char *key, *option, *text;
		bool limit;
	} settings[] = {
		{"max_concurrent", "max-concurrent", a->max_concurrent, true},
		{"weight", "weight", a->weight, false},
		{"time_budget_s", "time-budget", a->time_budget, true},
		{"gpu_hours", "gpu-hours", a->gpu_hours, true},
		{"lease_s", "lease", a->lease, true},
		{"target", "target", a->target, false},
	};
	int status = SW_EXIT_DONE;

	if (a->given & SW_OPT_RUN_CAP)
		sw_jw_kint(w, "run_cap", (int64_t)a->run_cap);
	for (size_t i = 0; i < sizeof settings / sizeof *settings && status == SW_EXIT_DONE; i++)
		status = add_setting(c, w, settings[i].key, settings[i].option, settings[i].text,
				     settings[i].limit);
	return status == SW_EXIT_DONE ? add_ranges(c, w) : status;
}

/* "0.0001..0.01", "none", "80" */
static void write_setting(struct sw_cli *c, const cJSON *v)
{
	if (sw_json_get(v, "min") != NULL) {
		sw_cli_put(c, "", sw_json_get(v, "min"), "..");
		sw_cli_put(c, "", sw_json_get(v, "max"), "");
	} else {
		sw_cli_put(c, v == NULL || cJSON_IsNull(v) ? "none" : "", v, "");
	}
}

void sw_verb_edit_text(struct sw_cli *c, const cJSON *changes, const char *indent)
{
	const cJSON *change;

	cJSON_ArrayForEach (change, changes) {
		sw_cli_put(c, indent, sw_json_get(change, "key"), ": ");
		write_setting(c, sw_json_get(change, "from"));
		(void)sw_buf_adds(&c->out, " -> ");
		write_setting(c, sw_json_get(change, "to"));
		(void)sw_buf_adds(&c->out, "\n");
	}
}

static void print_edit(struct sw_cli *c, const cJSON *result)
{
	sw_cli_subject(c);
	sw_cli_put(c, " ", sw_json_get(result, "state"), "\n");
	sw_verb_edit_text(c, sw_json_get(result, "changes"), "  ");
}

int sw_verb_edit(struct sw_cli *c)
{
	struct sw_buf params;
	struct sw_jw w;

	if (!(c->args.given & SW_OPT_EDIT))
		return sw_cli_usage(c, "edit: nothing to change is named");
	sw_cli_begin(c, &params, &w);
	const int status = write_params(c, &w);
	sw_jw_obj_end(&w);
	if (status == SW_EXIT_DONE)
		return sw_cli_answer(c, "sweep.edit", &params, print_edit);
	sw_buf_fini(&params);
	return status;
}
