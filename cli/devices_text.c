#include "cli/devices_text.h"
#include "base/term.h"
#include "cli/table.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>

#define MIB 1048576.0

static enum sw_tint tint_of(const cJSON *state)
{
	static const struct {
		const char *state;
		enum sw_tint tint;
	} tints[] = {
		{"BUSY", SW_TINT_CYAN},  {"DOWN", SW_TINT_RED},       {"OUT", SW_TINT_RED},
		{"IDLE", SW_TINT_GREEN}, {"OK", SW_TINT_GREEN},       {"HELD", SW_TINT_YELLOW},
		{"HOT", SW_TINT_YELLOW}, {"FREEING", SW_TINT_YELLOW}, {"STARTING", SW_TINT_YELLOW}};

	for (size_t i = 0; cJSON_IsString(state) && i < sizeof tints / sizeof tints[0]; i++)
		if (strcmp(state->valuestring, tints[i].state) == 0)
			return tints[i].tint;
	return SW_TINT_NONE;
}

/* --- GPUs --- */

/* "97%", "-": a number with what it is measured in. */
static void add_number(struct sw_grid *g, const cJSON *v, double unit, const char *suffix)
{
	if (cJSON_IsNumber(v))
		sw_grid_addf(g, "%.0f%s", v->valuedouble / unit, suffix);
	else
		sw_grid_addf(g, "-");
}

/* "3100 / 8192 MiB": of what there is. */
static void add_pair(struct sw_grid *g, const cJSON *v, const cJSON *all, double unit,
		     const char *suffix)
{
	if (cJSON_IsNumber(v) && all != NULL && cJSON_IsNumber(all))
		sw_grid_addf(g, "%.0f / %.0f %s", v->valuedouble / unit, all->valuedouble / unit,
			     suffix);
	else if (cJSON_IsNumber(v))
		sw_grid_addf(g, "%.0f %s", v->valuedouble / unit, suffix);
	else
		sw_grid_addf(g, "-");
}

/* "1", or "1m0" of a part, as --devices names them. */
static void add_card_number(struct sw_grid *g, const cJSON *c)
{
	uint64_t gpu = 0, part;

	(void)sw_json_u64(sw_json_get(c, "gpu"), &gpu);
	if (sw_json_u64(sw_json_get(c, "part"), &part))
		sw_grid_addf(g, "%llum%llu", (unsigned long long)gpu, (unsigned long long)part);
	else
		sw_grid_addf(g, "%llu", (unsigned long long)gpu);
}

static void add_gpu(struct sw_grid *g, const cJSON *c, bool utf8)
{
	const cJSON *state = sw_json_get(c, "state");

	sw_grid_row(g);
	add_card_number(g, c);
	sw_grid_add_members(g, c, (const char *const[]){"name", "bus", NULL}, utf8);
	sw_grid_add_value(g, state, utf8, tint_of(state));
	add_pair(g, sw_json_get(c, "memory_used"), sw_json_get(c, "memory_total"), MIB, "MiB");
	add_number(g, sw_json_get(c, "utilisation"), 1, "%");
	add_number(g, sw_json_get(c, "temperature"), 1, " C");
	add_pair(g, sw_json_get(c, "power"), sw_json_get(c, "power_limit"), 1, "W");
	add_number(g, sw_json_get(c, "ecc"), 1, "");
	sw_grid_add_value(g, sw_json_get(c, "cause"), utf8, SW_TINT_NONE);
}

static void add_processes(struct sw_grid *g, const cJSON *card, bool utf8)
{
	const cJSON *p;

	cJSON_ArrayForEach (p, sw_json_get(card, "processes")) {
		const bool ours = cJSON_IsTrue(sw_json_get(p, "ours"));

		sw_grid_row(g);
		add_card_number(g, card);
		sw_grid_add_value(g, sw_json_get(p, "pid"), utf8, SW_TINT_NONE);
		sw_grid_add(g, cJSON_IsTrue(sw_json_get(p, "compute")) ? "C" : "G", utf8,
			    SW_TINT_NONE);
		sw_grid_add(g, ours ? "ours" : "other", utf8, ours ? SW_TINT_NONE : SW_TINT_YELLOW);
		add_pair(g, sw_json_get(p, "bytes"), NULL, MIB, "MiB");
		sw_grid_add_value(g, sw_json_get(p, "name"), utf8, SW_TINT_NONE);
	}
}

/* --- slots --- */

static void add_slot(struct sw_grid *g, const cJSON *s, bool pilots, bool utf8)
{
	const cJSON *state = sw_json_get(s, "state"), *seconds = sw_json_get(s, "seconds");
	uint64_t sweep = 0, trial = 0, holder = 0, left = 0;
	char text[32] = "-";

	sw_grid_row(g);
	sw_grid_add_members(g, s, (const char *const[]){"slot", "device", NULL}, utf8);
	if (pilots) {
		sw_grid_add_value(g, sw_json_get(s, "node"), utf8, SW_TINT_NONE);
		sw_grid_add_value(g, sw_json_get(s, "job"), utf8, SW_TINT_NONE);
		if (sw_json_u64(sw_json_get(s, "left_s"), &left))
			sw_fmt_duration((double)left, text);
		sw_grid_addf(g, "%s", text);
		(void)snprintf(text, sizeof text, "-");
	}
	/* A trial of another slot has this one, too. */
	if (sw_json_u64(sw_json_get(s, "holder"), &holder))
		sw_grid_addf(g, "BUSY");
	else
		sw_grid_add_value(g, state, utf8, tint_of(state));
	sw_grid_add_value(g, sw_json_get(s, "pid"), utf8, SW_TINT_NONE);
	if (sw_json_u64(sw_json_get(s, "sweep"), &sweep) &&
	    sw_json_u64(sw_json_get(s, "trial"), &trial) && trial > 0)
		sw_grid_addf(g, "%llu/%llu", (unsigned long long)sweep, (unsigned long long)trial);
	else if (sw_json_u64(sw_json_get(s, "holder"), &holder))
		sw_grid_addf(g, "as slot %llu", (unsigned long long)holder);
	else
		sw_grid_addf(g, "-");
	sw_grid_add_value(g, sw_json_get(s, "attempt"), utf8, SW_TINT_NONE);
	if (cJSON_IsNumber(seconds))
		sw_fmt_duration(seconds->valuedouble, text);
	sw_grid_addf(g, "%s", text);
	add_pair(g, sw_json_get(s, "launcher_bytes"), NULL, MIB, "MiB");
	sw_grid_add_members(g, s, (const char *const[]){"starts", "cause", NULL}, utf8);
}

/* Whether their sweepd is gone, only the user knows. */
static void add_others(struct sw_buf *out, const cJSON *o, bool utf8)
{
	const char *prefix = sw_json_text(o, "prefix", "");
	uint64_t jobs = 0, running = 0;

	(void)sw_json_u64(sw_json_get(o, "jobs"), &jobs);
	(void)sw_json_u64(sw_json_get(o, "running"), &running);
	(void)sw_buf_addf(out, "%llu job%s of another state folder, %llu running (",
			  (unsigned long long)jobs, jobs == 1 ? "" : "s",
			  (unsigned long long)running);
	sw_term_add(out, sw_json_text(o, "job", ""), utf8, 0);
	(void)sw_buf_adds(out, jobs > 1 ? " is one); if its sweepd is gone: sweep devices --cancel "
					: "); if its sweepd is gone: sweep devices --cancel ");
	sw_term_add(out, prefix, utf8, 0);
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

static sw_status print_grid(struct sw_buf *out, struct sw_grid *g, const struct sw_look *look,
			    const char *after)
{
	sw_status rc = g->failed;

	if (rc == SW_OK && g->n_rows > 0) {
		rc = sw_table_print(out, g, look);
		if (rc == SW_OK)
			(void)sw_buf_adds(out, after);
	}
	sw_grid_fini(g);
	return rc;
}

static sw_status gpus(struct sw_buf *out, const cJSON *list, const struct sw_look *look)
{
	static const struct sw_grid_head cards[] = {
		{"gpu", true, 0},    {"name", false, 4}, {"bus", false, 6}, {"state", false, 0},
		{"memory", true, 0}, {"util", true, 0},  {"temp", true, 2}, {"power", true, 3},
		{"ecc", true, 5},    {"cause", false, 1}};
	static const struct sw_grid_head processes[] = {{"gpu", true, 0},    {"pid", true, 0},
							{"type", false, 2},  {"whose", false, 0},
							{"memory", true, 0}, {"process", false, 1}};
	struct sw_grid g;
	const cJSON *c;

	sw_grid_heads(&g, cards, sizeof cards / sizeof cards[0]);
	cJSON_ArrayForEach (c, sw_json_get(list, "gpus")) {
		add_gpu(&g, c, look->utf8);
	}
	const sw_status rc = print_grid(out, &g, look, "\n");
	if (rc != SW_OK)
		return rc;
	sw_grid_heads(&g, processes, sizeof processes / sizeof processes[0]);
	cJSON_ArrayForEach (c, sw_json_get(list, "gpus")) {
		add_processes(&g, c, look->utf8);
	}
	return print_grid(out, &g, look, "\n");
}

sw_status sw_devices_text(struct sw_buf *out, const cJSON *list, const struct sw_look *look)
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
	sw_status rc = gpus(out, list, look);

	if (rc != SW_OK)
		return rc;
	if (cJSON_IsString(nvml)) {
		sw_term_add(out, nvml->valuestring, look->utf8, 0);
		(void)sw_buf_adds(out, "\n\n");
	}
	if (cJSON_IsTrue(sw_json_get(list, "draining")))
		(void)sw_buf_adds(out,
				  "draining: no trial is handed out until `sweep drain --off`\n\n");
	if (any)
		add_pilots(out, pilots, look->utf8);
	sw_grid_heads(&g, any ? away : here,
		      any ? sizeof away / sizeof away[0] : sizeof here / sizeof here[0]);
	cJSON_ArrayForEach (s, sw_json_get(list, "slots")) {
		add_slot(&g, s, any, look->utf8);
	}
	if (g.n_rows == 0)
		(void)sw_buf_adds(out, "no slots: the daemon runs no trials of its own\n");
	return print_grid(out, &g, look, "");
}
