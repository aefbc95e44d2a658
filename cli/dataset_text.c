#include "cli/dataset_text.h"
#include "base/text.h"
#include "cli/beside.h"
#include "cli/table.h"
#include "proto/frame.h"
#include <string.h>

int sw_dataset_text_find(struct sw_cli *c, const char *path, const cJSON *dataset,
			 const char *scale, cJSON **found)
{
	struct sw_buf options, said;
	struct sw_jw w;
	int status;

	*found = NULL;
	sw_buf_init(&options, SW_FRAME_MAX);
	sw_buf_init(&said, (size_t)64 << 20); /* a line for each of 65,536 columns */
	sw_jw_init(&w, &options);
	sw_jw_cjson(&w, dataset);
	if (options.failed != SW_OK) {
		sw_cli_say(c, "%s", sw_status_str(options.failed));
		status = SW_EXIT_REFUSED;
	} else {
		status = sw_beside_worker(
			c, (const char *const[]){"table", path, options.data, scale, NULL}, NULL,
			&said);
		/* Our own program's, of more columns than a stranger's JSON may have values. */
		*found = cJSON_ParseWithLength(said.data, said.len);
		if (sw_json_text(*found, "error", NULL) != NULL)
			sw_cli_say(c, "%s", sw_json_text(*found, "error", NULL));
		else if (status == SW_EXIT_DONE && *found == NULL)
			sw_cli_say(c, "no memory for what sweep-worker says of %s", path);
		if (*found == NULL)
			status = SW_EXIT_REFUSED;
	}
	sw_buf_fini(&said);
	sw_buf_fini(&options);
	return status;
}

/* "1,460 rows, 81 columns with ',' between them; SalePrice is a number" */
static void head_line(struct sw_buf *out, const char *path, const cJSON *found)
{
	const cJSON *target = sw_json_get(found, "target");
	const cJSON *classes = sw_json_get(target, "classes");
	const char *separator = sw_json_text(found, "separator", ",");
	char name[4096], rows[32], columns[32], how[32] = "a number", n[32];

	(void)snprintf(name, sizeof name, "%s: %s", path, sw_json_text(target, "column", "?"));
	sw_text_plain(name);
	if (strcmp(sw_json_text(target, "task", ""), "classes") == 0)
		(void)snprintf(how, sizeof how, "one of %s classes",
			       sw_text_count((uint64_t)cJSON_GetArraySize(classes), n));
	(void)sw_buf_addf(
		out, "%s is %s; %s rows, %s columns with %s%s%s between them\n", name, how,
		sw_text_count(sw_json_uint(found, "rows"), rows),
		sw_text_count((uint64_t)cJSON_GetArraySize(sw_json_get(found, "columns")), columns),
		*separator == '\t' ? "" : "\"", *separator == '\t' ? "tabs" : separator,
		*separator == '\t' ? "" : "\"");
}

void sw_dataset_text(const struct sw_cli *c, struct sw_buf *out, const char *path,
		     const cJSON *found)
{
	static const struct sw_grid_head heads[] = {{"column", false, 0},  {"kind", false, 0},
						    {"holes", true, 0},    {"values", true, 0},
						    {"becomes", false, 0}, {"warning", false, 0}};
	struct sw_look look = c->look;
	struct sw_grid g;
	const cJSON *column;

	look.width = 0; /* what becomes of a column is not cut: it is what the table is read for */
	head_line(out, path, found);
	sw_grid_heads(&g, look.utf8, heads, sizeof heads / sizeof heads[0]);
	cJSON_ArrayForEach (column, sw_json_get(found, "columns")) {
		sw_grid_row(&g);
		sw_grid_add_members(&g, column,
				    (const char *const[]){"name", "kind", "holes", NULL});
		/* "1024+": the trainer counts no further */
		sw_grid_addf(&g, "%llu%s", (unsigned long long)sw_json_uint(column, "values"),
			     cJSON_IsTrue(sw_json_get(column, "more")) ? "+" : "");
		sw_grid_add_member(&g, column, "becomes");
		sw_grid_add(&g, sw_json_text(column, "warning", NULL), SW_TINT_YELLOW);
	}
	sw_grid_drop_empty(&g, g.n_cols - 1);
	sw_table_print(out, &g, &look);
}
