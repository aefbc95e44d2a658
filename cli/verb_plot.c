/* cli/verb_plot.c — plot, importance, compare: sweeps as pictures, which the daemon draws. */
#include "base/term.h"
#include "cli/out_file.h"
#include "cli/sweep_grid.h"
#include "cli/verb.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_LEAST 40 /* of sweep.plot */
#define NOT_SHOWN     (SW_OPT_OUT | SW_OPT_CSV | SW_OPT_JSON)

/* What is asked for. */
struct plot_ask {
	const char *plot;
	const char *const *params;
	size_t n_params;
	uint64_t sweeps[SW_ARGS_MAX];
	size_t n_sweeps;
};

static int call_plot(struct sw_cli *c, const struct plot_ask *ask, struct sw_reply *r)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 64 * 1024);
	sw_jw_init_obj(&w, &b);
	sw_jw_kint(&w, "sweep", (int64_t)ask->sweeps[0]);
	sw_jw_kstr(&w, "plot", ask->plot);
	if (ask->n_params > 0) {
		sw_jw_karr(&w, "params");
		for (size_t i = 0; i < ask->n_params; i++)
			sw_jw_str(&w, ask->params[i]);
		sw_jw_arr_end(&w);
	}
	if (ask->n_sweeps > 1) {
		sw_jw_karr(&w, "with");
		for (size_t i = 1; i < ask->n_sweeps; i++)
			sw_jw_int(&w, (int64_t)ask->sweeps[i]);
		sw_jw_arr_end(&w);
	}
	sw_cli_state(c, &w);
	if (c->args.given & SW_OPT_N)
		sw_jw_kint(&w, "n", (int64_t)c->args.n);
	if (!(c->args.given & SW_OPT_JSON))
		sw_jw_kstr(&w, "format",
			   c->args.given & SW_OPT_OUT   ? "svg"
			   : c->args.given & SW_OPT_CSV ? "csv"
							: "text");
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

static int show(struct sw_cli *c, const struct plot_ask *ask)
{
	struct sw_reply r = SW_REPLY_INIT;

	if (c->look.width > 0 && c->look.width < COLUMNS_LEAST && !(c->args.given & NOT_SHOWN)) {
		sw_cli_say(c, "a plot needs %d columns, and here are %d; --out x.svg draws it",
			   COLUMNS_LEAST, c->look.width);
		return SW_EXIT_REFUSED;
	}
	int status = call_plot(c, ask, &r);
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
	struct plot_ask ask = {.plot = named ? c->args.word[1] : "history",
			       .params = c->args.word + 2,
			       .n_params = c->args.n_words > 2 ? c->args.n_words - 2 : 0,
			       .sweeps = {c->sweep},
			       .n_sweeps = 1};
	int status = check_out(c);

	if (status == SW_EXIT_DONE)
		status = show(c, &ask);
	if (named || status != SW_EXIT_DONE || (c->args.given & NOT_SHOWN))
		return status;
	(void)sw_buf_adds(&c->out, "\n");
	ask.plot = "curves";
	return show(c, &ask);
}

int sw_verb_importance(struct sw_cli *c)
{
	const struct plot_ask ask = {.plot = "importance", .sweeps = {c->sweep}, .n_sweeps = 1};
	const int status = check_out(c);

	return status == SW_EXIT_DONE ? show(c, &ask) : status;
}

/* --- several sweeps --- */

static int take_sweeps(struct sw_cli *c, struct plot_ask *ask)
{
	uint64_t trial = 0;

	for (size_t i = 1; i < c->args.n_words; i++) {
		const int status =
			sw_cli_ref(c, c->args.word[i], &ask->sweeps[ask->n_sweeps], &trial);
		if (status != SW_EXIT_DONE)
			return status;
		if (trial != 0)
			return sw_cli_usage(c, "compare: expected a sweep such as 1, not '%s'",
					    c->args.word[i]);
		ask->n_sweeps++;
	}
	return SW_EXIT_DONE;
}

static int print_sweeps(struct sw_cli *c, const struct plot_ask *ask)
{
	const uint64_t own = c->sweep;
	struct sw_grid g;
	int status = SW_EXIT_DONE;

	sw_sweep_grid_init(&g, c->look.utf8);
	for (size_t i = 0; i < ask->n_sweeps && status == SW_EXIT_DONE; i++) {
		struct sw_reply r = SW_REPLY_INIT;
		c->sweep = ask->sweeps[i];
		status = sw_cli_fetch_ref(c, "sweep.get", 0, &r);
		if (status == SW_EXIT_DONE)
			sw_sweep_grid_add(&g, r.result);
		sw_client_reply_fini(&r);
	}
	c->sweep = own;
	if (status == SW_EXIT_DONE)
		sw_sweep_grid_print(c, &g);
	sw_grid_fini(&g);
	return status;
}

int sw_verb_compare(struct sw_cli *c)
{
	struct plot_ask ask = {.plot = "history", .sweeps = {c->sweep}, .n_sweeps = 1};
	int status = check_out(c);

	if (status == SW_EXIT_DONE)
		status = take_sweeps(c, &ask);
	if (status == SW_EXIT_DONE && !(c->args.given & NOT_SHOWN)) {
		status = print_sweeps(c, &ask);
		if (status == SW_EXIT_DONE)
			(void)sw_buf_adds(&c->out, "\n");
	}
	return status == SW_EXIT_DONE ? show(c, &ask) : status;
}
