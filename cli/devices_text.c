#include "cli/devices_text.h"
#include "base/term.h"
#include "cli/table.h"
#include "proto/json.h"

/* --- GPUs --- */

/* "1", or "1m0" of a part, as --devices names them. */
static void add_card_number(struct sw_grid *g, const cJSON *card)
{
	const unsigned long long gpu = sw_json_uint(card, "gpu");
	uint64_t part;

	if (sw_json_u64(sw_json_get(card, "part"), &part))
		sw_grid_addf(g, "%llum%llu", gpu, (unsigned long long)part);
	else
		sw_grid_addf(g, "%llu", gpu);
}

static const struct sw_column cards[] = {
	{NULL, "gpu", SW_FORM_NUMBER, .drop = 0, .put = add_card_number},
	{"name", "name", SW_FORM_TEXT, .drop = 4},
	{"bus", "bus", SW_FORM_TEXT, .drop = 6},
	{NULL, "state", SW_FORM_TEXT, .drop = 0, .put = sw_grid_add_state},
	{"memory_used", "memory", SW_FORM_MIB, .drop = 0, .of = "memory_total", .unit = " MiB"},
	{"utilisation", "util", SW_FORM_AMOUNT, .drop = 0, .unit = "%"},
	{"temperature", "temp", SW_FORM_AMOUNT, .drop = 2, .unit = " C"},
	{"power", "power", SW_FORM_AMOUNT, .drop = 3, .of = "power_limit", .unit = " W"},
	{"ecc", "ecc", SW_FORM_AMOUNT, .drop = 5, .unit = ""},
	{"cause", "cause", SW_FORM_TEXT, .drop = 1}};

static void add_kind(struct sw_grid *g, const cJSON *process)
{
	sw_grid_addf(g, "%s", cJSON_IsTrue(sw_json_get(process, "compute")) ? "C" : "G");
}

static void add_whose(struct sw_grid *g, const cJSON *process)
{
	const bool ours = cJSON_IsTrue(sw_json_get(process, "ours"));

	sw_grid_add(g, ours ? "ours" : "other", ours ? SW_TINT_NONE : SW_TINT_YELLOW);
}

static const struct sw_column processes[] = {
	{NULL, "gpu", SW_FORM_NUMBER, .drop = 0}, /* of the card, not of the process */
	{"pid", "pid", SW_FORM_NUMBER, .drop = 0},
	{NULL, "type", SW_FORM_TEXT, .drop = 2, .put = add_kind},
	{NULL, "whose", SW_FORM_TEXT, .drop = 0, .put = add_whose},
	{"bytes", "memory", SW_FORM_MIB, .drop = 0, .unit = " MiB"},
	{"name", "process", SW_FORM_TEXT, .drop = 1}};

/* --- slots --- */

/* A trial of another slot, the holder, has this one, too. */
static void add_slot_state(struct sw_grid *g, const cJSON *slot)
{
	if (cJSON_IsNumber(sw_json_get(slot, "holder")))
		sw_grid_add(g, "BUSY", sw_grid_tint("BUSY"));
	else
		sw_grid_add_state(g, slot);
}

static void add_slot_trial(struct sw_grid *g, const cJSON *slot)
{
	const unsigned long long trial = sw_json_uint(slot, "trial");
	uint64_t holder;

	if (trial > 0)
		sw_grid_addf(g, "%llu/%llu", (unsigned long long)sw_json_uint(slot, "sweep"),
			     trial);
	else if (sw_json_u64(sw_json_get(slot, "holder"), &holder))
		sw_grid_addf(g, "as slot %llu", (unsigned long long)holder);
	else
		sw_grid_addf(g, "-");
}

/* Node, job and left are pilots'. */
static const struct sw_column slots[] = {
	{"slot", "slot", SW_FORM_NUMBER, .drop = 0},
	{"device", "device", SW_FORM_TEXT, .drop = 0},
	{"node", "node", SW_FORM_TEXT, .drop = 0, .optional = true},
	{"job", "job", SW_FORM_TEXT, .drop = 6, .optional = true},
	{"left_s", "left", SW_FORM_DURATION, .drop = 3, .optional = true},
	{NULL, "state", SW_FORM_TEXT, .drop = 0, .put = add_slot_state},
	{"pid", "pid", SW_FORM_NUMBER, .drop = 7},
	{NULL, "trial", SW_FORM_TEXT, .drop = 0, .put = add_slot_trial},
	{"attempt", "attempt", SW_FORM_NUMBER, .drop = 2},
	{"seconds", "time", SW_FORM_DURATION, .drop = 1},
	{"launcher_bytes", "launcher", SW_FORM_MIB, .drop = 8, .unit = " MiB"},
	{"starts", "starts", SW_FORM_NUMBER, .drop = 5},
	{"cause", "cause", SW_FORM_TEXT, .drop = 0}};

/* Whether their sweepd is gone, only the user knows. */
static void add_others(struct sw_buf *out, const cJSON *o, bool utf8)
{
	const unsigned long long jobs = sw_json_uint(o, "jobs");

	(void)sw_buf_addf(out, "%llu job%s of another state folder, %llu running (", jobs,
			  jobs == 1 ? "" : "s", (unsigned long long)sw_json_uint(o, "running"));
	sw_term_add(out, sw_json_text(o, "job", ""), utf8, 0);
	(void)sw_buf_adds(out, jobs > 1 ? " is one); if its sweepd is gone: sweep devices --cancel "
					: "); if its sweepd is gone: sweep devices --cancel ");
	sw_term_add(out, sw_json_text(o, "prefix", ""), utf8, 0);
	(void)sw_buf_adds(out, "\n");
}

/* "slurm: slurm 22.05.8", what its jobs wait for, and jobs that are not this daemon's. */
static void add_pilots(struct sw_buf *out, const cJSON *pilots, bool utf8)
{
	const char *waits = sw_json_text(pilots, "waits", ""),
		   *says = sw_json_text(pilots, "says", "");
	const cJSON *o;

	sw_term_add(out, sw_json_text(pilots, "executor", ""), utf8, 0);
	(void)sw_buf_adds(out, *says != '\0' ? ": " : "");
	sw_term_add(out, says, utf8, 0);
	(void)sw_buf_adds(out, "\n");
	sw_term_add(out, waits, utf8, 0);
	(void)sw_buf_adds(out, *waits != '\0' ? "\n" : "");
	cJSON_ArrayForEach (o, sw_json_get(pilots, "others")) {
		add_others(out, o, utf8);
	}
	(void)sw_buf_adds(out, "\n");
}

/* --- together --- */

static void add_processes(struct sw_buf *out, const cJSON *gpus, const struct sw_look *look)
{
	const cJSON *card, *process;
	struct sw_grid g;

	sw_grid_columns(&g, look->utf8, processes, sizeof processes / sizeof processes[0]);
	cJSON_ArrayForEach (card, gpus) {
		cJSON_ArrayForEach (process, sw_json_get(card, "processes")) {
			sw_grid_row(&g);
			add_card_number(&g, card);
			sw_grid_add_cells(&g, process);
		}
	}
	const bool any = g.n_rows > 0;
	sw_table_mark(out, &g, look->width);
	(void)sw_buf_adds(out, any ? "\n" : "");
}

static void add_table(struct sw_buf *out, const struct sw_column *columns, size_t n,
		      const cJSON *rows, const struct sw_look *look)
{
	struct sw_grid g;
	const cJSON *row;

	sw_grid_columns(&g, look->utf8, columns, n);
	cJSON_ArrayForEach (row, rows)
		sw_grid_add_object(&g, row);
	sw_table_mark(out, &g, look->width);
}

void sw_devices_text(struct sw_buf *out, const cJSON *list, const struct sw_look *look)
{
	const cJSON *nvml = sw_json_get(list, "nvml"), *pilots = sw_json_get(list, "pilots"),
		    *gpus = sw_json_get(list, "gpus"), *own = sw_json_get(list, "slots");

	if (cJSON_GetArraySize(gpus) > 0) {
		add_table(out, cards, sizeof cards / sizeof cards[0], gpus, look);
		(void)sw_buf_adds(out, "\n");
	}
	add_processes(out, gpus, look);
	if (cJSON_IsString(nvml)) {
		sw_term_add(out, nvml->valuestring, look->utf8, 0);
		(void)sw_buf_adds(out, "\n\n");
	}
	if (cJSON_IsTrue(sw_json_get(list, "draining")))
		(void)sw_buf_adds(out,
				  "draining: no trial is handed out until `sweep drain --off`\n\n");
	if (cJSON_IsObject(pilots))
		add_pilots(out, pilots, look->utf8);
	if (cJSON_GetArraySize(own) == 0)
		(void)sw_buf_adds(out, "no slots: the daemon runs no trials of its own\n");
	add_table(out, slots, sizeof slots / sizeof slots[0], own, look);
}
