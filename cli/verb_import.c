/* cli/verb_import.c — a study of another tool as a sweep, with all its trials that have ended. */
#include "cli/import.h"
#include "cli/verb.h"
#include <stdio.h>
#include <string.h>

static sw_status read_optuna(struct sw_import *im, const struct sw_args *a, struct sw_err *err)
{
	return sw_import_optuna(im, a->n_words > 1 ? a->word[1] : NULL, a->metric, err);
}

static sw_status read_nni(struct sw_import *im, const struct sw_args *a, struct sw_err *err)
{
	return sw_import_nni(im, a->metric, err);
}

static sw_status read_ray(struct sw_import *im, const struct sw_args *a, struct sw_err *err)
{
	return sw_import_ray(im, a->metric, a->goal, err);
}

static const struct tool {
	const char *name, *title;
	size_t most; /* words */
	bool goal;   /* takes --goal */
	sw_status (*read)(struct sw_import *im, const struct sw_args *a, struct sw_err *err);
} tools[] = {
	{"optuna", "Optuna", 2, false, read_optuna},
	{"nni", "NNI", 1, false, read_nni},
	{"ray", "Ray Tune", 1, true, read_ray},
};

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof tools / sizeof tools[0]; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

static void say_left_out(const struct sw_cli *c, const struct sw_import *im)
{
	if (im->n_open > 0)
		sw_cli_say(c, "warning: %zu trials are left out: they had not ended", im->n_open);
	if (im->n_unfit > 0)
		sw_cli_say(c,
			   "warning: %zu trials are left out: they lack a parameter, and no other "
			   "one's value says when it is needed",
			   im->n_unfit);
}

int sw_verb_import(struct sw_cli *c)
{
	const struct tool *tool = find_tool(c->args.from);
	struct sw_err err = SW_ERR_INIT;
	struct sw_import im;
	int status;

	if (tool == NULL)
		return sw_cli_usage(c, "import: --from optuna, nni or ray says which tool's it is");
	if (c->args.n_words > tool->most)
		return sw_cli_usage(c, "import: one word too many: '%s'", c->args.word[tool->most]);
	if ((c->args.given & SW_OPT_GOAL) && !tool->goal)
		return sw_cli_usage(c, "import: --from %s takes no --goal: the study says it",
				    tool->name);
	sw_import_init(&im, tool->title, c->args.word[0]);
	sw_status rc = tool->read(&im, &c->args, &err);
	if (rc == SW_OK)
		rc = sw_import_fit(&im, &err);
	if (rc == SW_OK) {
		say_left_out(c, &im);
		status = sw_import_send(c, &im);
	} else {
		sw_cli_say(c, "%s", err.msg[0] != '\0' ? err.msg : sw_status_str(rc));
		status = SW_EXIT_REFUSED;
	}
	sw_import_fini(&im);
	return status;
}
