#include "cli/block.h"
#include "cli/header.h"
#include "cli/live.h"
#include "cli/table.h"
#include "cli/trial_grid.h"
#include "proto/json.h"

static void print_header(struct sw_buf *out, const struct sw_view *v, const struct sw_look *look,
			 int64_t now_us)
{
	struct sw_buf b;

	sw_buf_init(&b, (size_t)1 << 20);
	for (int line = 0; line < SW_HEADER_LINES; line++) {
		const bool there = sw_header_line(&b, v, line, look->utf8, now_us);

		if (b.failed != SW_OK)
			out->failed = b.failed;
		else if (there)
			sw_header_mark_print(out, b.data, look);
		sw_buf_clear(&b);
	}
	sw_buf_fini(&b);
}

/* now_us: the trials are the view's first, now; 0: others, so that there are no bars. */
static sw_status print_table(struct sw_buf *out, const struct sw_view *v,
			     const cJSON *const *trials, size_t n, int64_t now_us,
			     const struct sw_look *look)
{
	struct sw_trial_grid how = sw_trial_grid_of(v, look->utf8, now_us);
	struct sw_grid g;
	sw_status rc = SW_OK;

	if (n == 0)
		return out->failed;
	if (now_us == 0) {
		how.max_t = 0.0;
		how.rows = NULL;
	}
	sw_grid_init(&g);
	sw_trial_grid_fill(&g, &how, trials, n);
	rc = sw_table_print(out, &g, look);
	sw_grid_fini(&g);
	return rc;
}

sw_status sw_block_print(struct sw_buf *out, const struct sw_view *v, const struct sw_look *look,
			 int64_t now_us)
{
	const cJSON *trials[SW_BLOCK_ROWS] = {NULL};
	size_t n = 0;
	sw_status rc;

	print_header(out, v, look, now_us);
	while (n < v->n && n < SW_BLOCK_ROWS) {
		trials[n] = v->rows[n].json;
		n++;
	}
	rc = print_table(out, v, trials, n, now_us, look);
	const size_t before = out->len;
	sw_live_more(out, v, trials, n);
	(void)sw_buf_adds(out, out->len > before ? "\n\n" : "\n");
	return rc != SW_OK ? rc : out->failed;
}

sw_status sw_block_final(struct sw_buf *out, const struct sw_view *v, const cJSON *const *trials,
			 size_t n, const struct sw_look *look, int64_t now_us)
{
	/* a row of the best is of its best step, which says nothing of how far the trial came */
	const sw_status rc = print_table(out, v, trials, n, 0, look);

	if (rc == SW_OK && n > 0 && sw_view_ended_n(v) > n)
		(void)sw_buf_addf(out, "the best %zu of %llu trials\n", n,
				  (unsigned long long)sw_view_ended_n(v));
	if (n > 0)
		(void)sw_buf_adds(out, "\n");
	print_header(out, v, look, now_us);
	return rc != SW_OK ? rc : out->failed;
}
