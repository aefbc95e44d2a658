#include "cli/devices_text.h"
#include "base/term.h"
#include "cli/table.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>

#define MIB 1048576.0

/* --- GPUs --- */

/* "97%", "3100 / 8192 MiB" where it is known of how much, "-". */
static void add_amount(struct sw_grid *g, const cJSON *v, const cJSON *of, double unit,
		       const char *suffix)
{
	if (cJSON_IsNumber(v) && of != NULL && cJSON_IsNumber(of))
		sw_grid_addf(g, "%.0f / %.0f%s", v->valuedouble / unit, of->valuedouble / unit,
			     suffix);
	else if (cJSON_IsNumber(v))
		sw_grid_addf(g, "%.0f%s", v->valuedouble / unit, suffix);
	else
		sw_grid_addf(g, "-");
}

/* "1", or "1m0" of a part, as --devices names them. */
static void add_card_number(struct sw_grid *g, const cJSON *c)
{
	const unsigned long long gpu = sw_json_uint(c, "gpu");
	uint64_t part;

	if (sw_json_u64(sw_json_get(c, "part"), &part))
		sw_grid_addf(g, "%llum%llu", gpu, (unsigned long long)part);
	else
		sw_grid_addf(g, "%llu", gpu);
}

static void add_gpu(struct sw_grid *g, const cJSON *c)
{
	sw_grid_row(g);
	add_card_number(g, c);
	sw_grid_add_members(g, c, (const char *const[]){"name", "bus", NULL});
	sw_grid_add_state(g, c);
	add_amount(g, sw_json_get(c, "memory_used"), sw_json_get(c, "memory_total"), MIB, " MiB");
	add_amount(g, sw_json_get(c, "utilisation"), NULL, 1, "%");
	add_amount(g, sw_json_get(c, "temperature"), NULL, 1, " C");
	add_amount(g, sw_json_get(c, "power"), sw_json_get(c, "power_limit"), 1, " W");
	add_amount(g, sw_json_get(c, "ecc"), NULL, 1, "");
	sw_grid_add_member(g, c, "cause");
}

static void add_processes(struct sw_grid *g, const cJSON *card)
{
	const cJSON *p;

	cJSON_ArrayForEach (p, sw_json_get(card, "processes")) {
		const bool ours = cJSON_IsTrue(sw_json_get(p, "ours"));

		sw_grid_row(g);
		add_card_number(g, card);
		sw_grid_add_member(g, p, "pid");
		sw_grid_addf(g, "%s", cJSON_IsTrue(sw_json_get(p, "compute")) ? "C" : "G");
		sw_grid_add(g, ours ? "ours" : "other", ours ? SW_TINT_NONE : SW_TINT_YELLOW);
		add_amount(g, sw_json_get(p, "bytes"), NULL, MIB, " MiB");
		sw_grid_add_member(g, p, "name");
	}
}

/* --- slots --- */

static void add_slot(struct sw_grid *g, const cJSON *s, bool pilots)
{
	const unsigned long long sweep = sw_json_uint(s, "sweep"), trial = sw_json_uint(s, "trial");
	uint64_t holder = 0;
	/* A trial of another slot has this one, too. */
	const bool held = sw_json_u64(sw_json_get(s, "holder"), &holder);

	sw_grid_row(g);
	sw_grid_add_members(g, s, (const char *const[]){"slot", "device", NULL});
	if (pilots) {
		sw_grid_add_members(g, s, (const char *const[]){"node", "job", NULL});
		sw_grid_add_duration(g, sw_json_get(s, "left_s"));
	}
	if (held)
		sw_grid_addf(g, "BUSY");
	else
		sw_grid_add_state(g, s);
	sw_grid_add_member(g, s, "pid");
	if (trial > 0)
		sw_grid_addf(g, "%llu/%llu", sweep, trial);
	else if (held)
		sw_grid_addf(g, "as slot %llu", (unsigned long long)holder);
	else
		sw_grid_addf(g, "-");
	sw_grid_add_member(g, s, "attempt");
	sw_grid_add_duration(g, sw_json_get(s, "seconds"));
	add_amount(g, sw_json_get(s, "launcher_bytes"), NULL, MIB, " MiB");
	sw_grid_add_members(g, s, (const char *const[]){"starts", "cause", NULL});
}

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

static void print_section(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look)
{
	const bool any = g->n_rows > 0;

	sw_table_print(out, g, look);
	(void)sw_buf_adds(out, any ? "\n" : "");
}

static void print_gpus(struct sw_buf *out, const cJSON *gpus, const struct sw_look *look)
{
	static const struct sw_grid_head cards[] = {
		{"gpu", true, 0},    {"name", false, 4}, {"bus", false, 6}, {"state", false, 0},
		{"memory", true, 0}, {"util", true, 0},  {"temp", true, 2}, {"power", true, 3},
		{"ecc", true, 5},    {"cause", false, 1}};
	static const struct sw_grid_head processes[] = {{"gpu", true, 0},    {"pid", true, 0},
							{"type", false, 2},  {"whose", false, 0},
							{"memory", true, 0}, {"process", false, 1}};
	struct sw_grid card, process;
	const cJSON *c;

	sw_grid_heads(&card, look->utf8, cards, sizeof cards / sizeof cards[0]);
	sw_grid_heads(&process, look->utf8, processes, sizeof processes / sizeof processes[0]);
	cJSON_ArrayForEach (c, gpus) {
		add_gpu(&card, c);
		add_processes(&process, c);
	}
	print_section(out, &card, look);
	print_section(out, &process, look);
}

void sw_devices_text(struct sw_buf *out, const cJSON *list, const struct sw_look *look)
{
	static const struct sw_grid_head here[] = {{"slot", true, 0},   {"device", false, 0},
						   {"state", false, 0}, {"pid", true, 3},
						   {"trial", false, 0}, {"attempt", true, 2},
						   {"time", true, 1},   {"launcher", true, 5},
						   {"starts", true, 4}, {"cause", false, 0}};
	/* node, job and left come behind the device. */
	static const struct sw_grid_head away[] = {
		{"slot", true, 0},  {"device", false, 0},  {"node", false, 0},
		{"job", false, 6},  {"left", true, 3},     {"state", false, 0},
		{"pid", true, 7},   {"trial", false, 0},   {"attempt", true, 2},
		{"time", true, 1},  {"launcher", true, 8}, {"starts", true, 5},
		{"cause", false, 0}};
	const cJSON *nvml = sw_json_get(list, "nvml"), *s, *pilots = sw_json_get(list, "pilots");
	const bool any = cJSON_IsObject(pilots);
	struct sw_grid g;

	print_gpus(out, sw_json_get(list, "gpus"), look);
	if (cJSON_IsString(nvml)) {
		sw_term_add(out, nvml->valuestring, look->utf8, 0);
		(void)sw_buf_adds(out, "\n\n");
	}
	if (cJSON_IsTrue(sw_json_get(list, "draining")))
		(void)sw_buf_adds(out,
				  "draining: no trial is handed out until `sweep drain --off`\n\n");
	if (any)
		add_pilots(out, pilots, look->utf8);
	sw_grid_heads(&g, look->utf8, any ? away : here,
		      any ? sizeof away / sizeof away[0] : sizeof here / sizeof here[0]);
	cJSON_ArrayForEach (s, sw_json_get(list, "slots")) {
		add_slot(&g, s, any);
	}
	if (g.n_rows == 0)
		(void)sw_buf_adds(out, "no slots: the daemon runs no trials of its own\n");
	sw_table_print(out, &g, look);
}
