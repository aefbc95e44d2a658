/* cli/verb_ls.c — the sweeps as a table, the newest last: where the eye is after a long list. */
#include "cli/sweep_grid.h"
#include "cli/verb.h"
#include "proto/json.h"

#define PAGE  100
#define LINES 4 /* of a terminal that are not sweeps: what is not shown, the heading, the prompt */

/* How many are wanted: -n, or what a terminal has room for. A file has room for all, and a reader
 * of --json means all. */
static uint64_t wanted(const struct sw_cli *c)
{
	if (c->args.given & SW_OPT_N)
		return c->args.n;
	if ((c->args.given & (SW_OPT_ALL | SW_OPT_JSON)) || c->look.height == 0)
		return UINT64_MAX;
	return c->look.height > LINES + 5 ? (uint64_t)(c->look.height - LINES) : 5;
}

/* The page of at most `most` sweeps below *next (0: the newest ones); *next is 0 after the last
 * one, *older is how many would follow. */
static int fetch_page(struct sw_cli *c, uint64_t *next, uint64_t most, uint64_t *older,
		      struct sw_reply *r)
{
	const uint64_t after = *next;
	struct sw_buf b;
	struct sw_jw w;

	sw_cli_begin(c, &b, &w);
	if (after > 0)
		sw_jw_kint(&w, "after", (int64_t)after);
	sw_jw_kint(&w, "limit", most < PAGE ? (int64_t)most : PAGE);
	sw_cli_state(c, &w);
	sw_jw_obj_end(&w);
	const int status = sw_cli_call_written(c, "sweep.list", &b, r);
	*older = sw_json_uint(r->result, "older");
	*next = sw_json_uint(r->result, "next");
	if (after > 0 && *next >= after)
		*next = 0; /* a next that does not fall would never end */
	return status;
}

static void print_list(struct sw_cli *c, struct sw_grid *g, uint64_t older)
{
	if (g->n_rows == 0) {
		(void)sw_buf_adds(&c->out,
				  c->args.state != NULL
					  ? "no sweep is in that state\n"
					  : "no sweeps yet; `sweep submit FILE` starts one\n");
		return;
	}
	if (older > 0)
		(void)sw_buf_addf(&c->out, "%llu older %s; `sweep ls --all` shows all\n",
				  (unsigned long long)older,
				  older == 1 ? "sweep is not shown" : "sweeps are not shown");
	/* They come newest first, so that the newest are had even if not all are asked for. */
	sw_grid_reverse(g);
	sw_sweep_grid_print(c, g);
}

int sw_verb_ls(struct sw_cli *c)
{
	uint64_t next = 0, older = 0, most = wanted(c);
	struct sw_grid g;
	int status;

	sw_sweep_grid_init(&g, c->look.utf8);
	do {
		struct sw_reply r = SW_REPLY_INIT;
		const cJSON *s;

		status = fetch_page(c, &next, most, &older, &r);
		cJSON_ArrayForEach (s, sw_json_get(r.result, "sweeps")) {
			sw_sweep_grid_add(&g, s);
			most--;
		}
		sw_client_reply_fini(&r);
	} while (status == SW_EXIT_DONE && next != 0 && most > 0);
	/* With --json the pages stand there. */
	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON))
		print_list(c, &g, older);
	sw_grid_fini(&g);
	return status;
}
