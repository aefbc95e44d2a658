#include "cli/block.h"
#include "cli/header.h"
#include "cli/live.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "proto/json.h"

static void print_header(struct sw_buf *out, const struct sw_view *v, const struct sw_look *look,
			 int64_t now_us)
{
	for (int line = 0; line < SW_HEADER_LINES; line++)
		sw_header_print(out, v, line, look, now_us);
}

/* now_us: the trials are the view's first, now; 0: others, so that there are no bars. */
static void print_table(struct sw_buf *out, const struct sw_view *v, const cJSON *const *trials,
			size_t n, int64_t now_us, const struct sw_look *look)
{
	struct sw_trial_grid how = sw_trial_grid_of(v, now_us);
	struct sw_grid g;

	if (now_us == 0) {
		how.max_t = 0.0;
		how.rows = NULL;
	}
	sw_grid_init(&g, look->utf8);
	sw_trial_grid_fill(&g, &how, trials, n);
	sw_table_print(out, &g, look);
}

sw_status sw_block_print(struct sw_buf *out, const struct sw_view *v, const struct sw_look *look,
			 int64_t now_us)
{
	const cJSON *trials[SW_BLOCK_ROWS] = {NULL};
	size_t n = 0;

	print_header(out, v, look, now_us);
	while (n < v->n && n < SW_BLOCK_ROWS) {
		trials[n] = v->rows[n].json;
		n++;
	}
	print_table(out, v, trials, n, now_us, look);
	const size_t before = out->len;
	sw_live_more(out, v, trials, n);
	(void)sw_buf_adds(out, out->len > before ? "\n\n" : "\n");
	return out->failed;
}

sw_status sw_block_final(struct sw_buf *out, const struct sw_view *v, const cJSON *const *trials,
			 size_t n, const struct sw_look *look, int64_t now_us)
{
	/* a row of the best is of its best step, which says nothing of how far the trial came */
	print_table(out, v, trials, n, 0, look);
	if (n > 0 && sw_view_ended_n(v) > n)
		(void)sw_buf_addf(out, "the best %zu of %llu trials\n", n,
				  (unsigned long long)sw_view_ended_n(v));
	if (n > 0)
		(void)sw_buf_adds(out, "\n");
	print_header(out, v, look, now_us);
	return out->failed;
}
