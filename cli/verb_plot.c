/* cli/verb_plot.c — plot, importance, compare: sweeps as pictures, which the daemon draws. */
#include "base/term.h"
#include "cli/out_file.h"
#include "cli/sweep_grid.h"
#include "cli/table.h"
#include "cli/verb.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_LEAST 40 /* of sweep.plot */
#define NOT_SHOWN     (SW_OPT_OUT | SW_OPT_CSV | SW_OPT_JSON)

static int call_plot(struct sw_cli *c, const char *plot, const char *format, const uint64_t *with,
		     size_t n, struct sw_reply *r)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_cli_begin(c, &b, &w);
	sw_jw_kstr(&w, "plot", plot);
	if (with == NULL && c->args.n_words > 2) {
		sw_jw_karr(&w, "params");
		for (size_t i = 2; i < c->args.n_words; i++)
			sw_jw_str(&w, c->args.word[i]);
		sw_jw_arr_end(&w);
	}
	if (n > 0) {
		sw_jw_karr(&w, "with");
		for (size_t i = 0; i < n; i++)
			sw_jw_int(&w, (int64_t)with[i]);
		sw_jw_arr_end(&w);
	}
	sw_cli_state(c, &w);
	if (c->args.given & SW_OPT_BY)
		sw_jw_kstr(&w, "by", "name");
	if (c->args.given & SW_OPT_LOG)
		sw_jw_kbool(&w, "log", true);
	if (c->args.given & SW_OPT_N)
		sw_jw_kint(&w, "n", (int64_t)c->args.n);
	sw_jw_kstr(&w, "format", format);
	if (c->look.width > 0)
		sw_jw_kint(&w, "columns",
			   c->look.width < COLUMNS_LEAST ? COLUMNS_LEAST
			   : c->look.width > 400         ? 400
							 : c->look.width);
	sw_jw_kbool(&w, "color", c->look.color);
	sw_jw_kbool(&w, "ascii", !c->look.utf8);
	sw_jw_obj_end(&w);
	return sw_cli_call_written(c, "sweep.plot", &b, r);
}

static int save(struct sw_cli *c, const char *path, const char *text)
{
	struct sw_out_file file;
	const size_t n = strlen(text);
	bool good = sw_out_file_open(&file, path);

	if (good) {
		const bool whole = fwrite(text, 1, n, file.to) == n && fflush(file.to) == 0;
		const int why = errno;

		good = sw_out_file_close(&file, whole) && whole;
		if (!whole)
			errno = why;
	}
	if (!good)
		sw_cli_say(c, "%s: %s", path, strerror(errno));
	return good ? SW_EXIT_DONE : SW_EXIT_REFUSED;
}

/* The plot of c->sweep and the n sweeps `with`; NULL: of parameters, the words behind its name. */
static int show(struct sw_cli *c, const char *plot, const uint64_t *with, size_t n)
{
	struct sw_reply r = SW_REPLY_INIT;

	if (c->look.width > 0 && c->look.width < COLUMNS_LEAST && !(c->args.given & NOT_SHOWN)) {
		sw_cli_say(c, "a plot needs %d columns, and here are %d; --out x.svg draws it",
			   COLUMNS_LEAST, c->look.width);
		return SW_EXIT_REFUSED;
	}
	const char *format = c->args.given & SW_OPT_JSON  ? "marks"
			     : c->args.given & SW_OPT_OUT ? "svg"
			     : c->args.given & SW_OPT_CSV ? "csv"
							  : "text";
	int status = call_plot(c, plot, format, with, n, &r);
	const char *text = sw_json_text(r.result, "text", "");

	if (status == SW_EXIT_DONE && (c->args.given & SW_OPT_OUT))
		status = save(c, c->args.out, text);
	else if (status == SW_EXIT_DONE && (c->args.given & SW_OPT_CSV) && c->look.width > 0)
		sw_term_add_lines(&c->out, text, c->look.utf8);
	else if (status == SW_EXIT_DONE)
		(void)sw_buf_adds(&c->out, text);
	sw_client_reply_fini(&r);
	return status;
}

/* --out is for SVG alone: a name that ends otherwise is a mistake. */
static int check_out(struct sw_cli *c)
{
	const char *dot = c->args.out != NULL ? strrchr(c->args.out, '.') : NULL;

	if (!(c->args.given & SW_OPT_OUT))
		return SW_EXIT_DONE;
	if (c->args.given & (SW_OPT_CSV | SW_OPT_JSON))
		return sw_cli_usage(c, "%s: --out writes a drawing: no --csv or --json with it",
				    c->args.verb);
	if (dot != NULL && strcmp(dot, ".svg") == 0)
		return SW_EXIT_DONE;
	return sw_cli_usage(c, "%s: --out writes SVG, so FILE must end in .svg, not '%s'",
			    c->args.verb, c->args.out);
}

int sw_verb_plot(struct sw_cli *c)
{
	const bool named = c->args.n_words > 1;
	int status = check_out(c);

	if (status == SW_EXIT_DONE)
		status = show(c, named ? c->args.word[1] : "history", NULL, 0);
	if (named || status != SW_EXIT_DONE || (c->args.given & NOT_SHOWN))
		return status;
	(void)sw_buf_adds(&c->out, "\n");
	return show(c, "curves", NULL, 0);
}

int sw_verb_importance(struct sw_cli *c)
{
	const int status = check_out(c);

	return status == SW_EXIT_DONE ? show(c, "importance", NULL, 0) : status;
}

/* --- several sweeps --- */

static int print_sweeps(struct sw_cli *c, const uint64_t *sweeps, size_t n)
{
	struct sw_grid g;
	int status = SW_EXIT_DONE;

	sw_sweep_grid_init(&g, c->look.utf8);
	for (size_t i = 0; i < n && status == SW_EXIT_DONE; i++) {
		struct sw_reply r = SW_REPLY_INIT;
		c->sweep = sweeps[i];
		status = sw_cli_fetch_ref(c, "sweep.get", 0, &r);
		if (status == SW_EXIT_DONE)
			sw_sweep_grid_add(&g, r.result);
		sw_client_reply_fini(&r);
	}
	c->sweep = sweeps[0];
	if (status == SW_EXIT_DONE) {
		sw_sweep_grid_print(c, &g);
		(void)sw_buf_adds(&c->out, "\n");
	}
	sw_grid_fini(&g);
	return status;
}

static const cJSON *last_of(const cJSON *series, const char *column)
{
	const cJSON *all = sw_json_get(series, column);

	return all != NULL && all->child != NULL ? all->child->prev : NULL;
}

/* By name: the last marks of what is drawn of each (plot/by_name.c), a band and the line in it. */
static int print_names(struct sw_cli *c, const uint64_t *with, size_t n)
{
	static const struct sw_grid_head heads[] = {
		{"name", false, 0}, {"median", true, 0}, {"lowest", true, 0}, {"highest", true, 0}};
	struct sw_reply r = SW_REPLY_INIT;
	const int status = call_plot(c, "history", "marks", with, n, &r);
	const cJSON *panel = sw_json_get(r.result, "panels"), *band, *line;
	struct sw_grid g;

	sw_grid_heads(&g, c->look.utf8, heads, sizeof heads / sizeof heads[0]);
	band = sw_json_get(panel != NULL ? panel->child : NULL, "series");
	for (band = band != NULL ? band->child : NULL; band != NULL; band = line->next) {
		static const char *const keys[] = {"y", "y2"};
		line = band->next;
		if (line == NULL)
			break;
		sw_grid_row(&g);
		sw_grid_add_member(&g, line, "name");
		sw_grid_add_value(&g, last_of(line, "y"), SW_TINT_BOLD);
		for (size_t i = 0; i < 2; i++)
			sw_grid_add_value(&g, last_of(band, keys[i]), SW_TINT_NONE);
	}
	if (status == SW_EXIT_DONE) {
		sw_table_print(&c->out, &g, &c->look);
		(void)sw_buf_adds(&c->out, "\n");
	}
	sw_grid_fini(&g);
	sw_client_reply_fini(&r);
	return status;
}

int sw_verb_compare(struct sw_cli *c)
{
	const bool by_name = (c->args.given & SW_OPT_BY) != 0;
	uint64_t sweeps[SW_ARGS_MAX] = {0};
	size_t n = 0;
	int status = check_out(c);

	if (status == SW_EXIT_DONE && by_name && strcmp(c->args.by, "name") != 0)
		status = sw_cli_usage(c, "compare: --by name, not '%s'", c->args.by);
	if (status == SW_EXIT_DONE)
		status = sw_cli_sweeps(c, sweeps, &n);
	if (status == SW_EXIT_DONE && n < 2)
		status = sw_cli_usage(c, "compare: there is one sweep, %llu",
				      (unsigned long long)sweeps[0]);
	/* The plot is of the first, with the others beside it. */
	c->sweep = sweeps[0];
	if (status == SW_EXIT_DONE && !(c->args.given & NOT_SHOWN))
		status = by_name ? print_names(c, sweeps + 1, n - 1) : print_sweeps(c, sweeps, n);
	return status == SW_EXIT_DONE ? show(c, "history", sweeps + 1, n - 1) : status;
}
