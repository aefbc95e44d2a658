#include "worker/exec/environment.h"
#include "base/memory.h"
#include "base/text.h"
#include "proto/frame.h"
#include "proto/json.h"
#include "spec/command.h"
#include "worker/exec/program.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OURS "SWEEPD_"

const char *sw_environment_get(const struct sw_environment *e, const char *name)
{
	const size_t n = strlen(name);

	for (size_t i = 0; i < e->n; i++)
		if (strncmp(e->list[i], name, n) == 0 && e->list[i][n] == '=')
			return e->list[i] + n + 1;
	return NULL;
}

/* Adds a variable, unless one of that name is there already. */
static void add_variable(struct sw_environment *e, const char *name, const char *value)
{
	const size_t n = strlen(name) + strlen(value) + 2;
	char *entry;

	if (sw_environment_get(e, name))
		return; /* of two with one name the first counts */
	entry = sw_malloc(n);
	if (!entry || !sw_array_reserve(&e->list, &e->cap, e->n + 2, sizeof *e->list)) {
		e->failed = true;
		free(entry);
		return;
	}
	(void)snprintf(entry, n, "%s=%s", name, value);
	e->list[e->n++] = entry;
	e->list[e->n] = NULL;
}

static void add_number(struct sw_environment *e, const char *name, uint64_t v)
{
	char text[24];

	(void)snprintf(text, sizeof text, "%" PRIu64, v);
	add_variable(e, name, text);
}

void sw_environment_set(struct sw_environment *e, const char *name, const char *value)
{
	const char *old = sw_environment_get(e, name);

	/* By address: old points into the entry that is sought. */
	for (size_t i = 0; old && i < e->n; i++)
		if (old > e->list[i] && old <= e->list[i] + strlen(e->list[i])) {
			free(e->list[i]);
			e->list[i] = e->list[--e->n];
			e->list[e->n] = NULL;
			break;
		}
	if (value)
		add_variable(e, name, value);
}

void sw_environment_set_number(struct sw_environment *e, const char *name, uint64_t value)
{
	sw_environment_set(e, name, NULL);
	add_number(e, name, value);
}

const char *sw_environment_cwd(const struct sw_job *job)
{
	const char *cwd = sw_json_text(job->run, "cwd", "/");

	return strcmp(cwd, SW_COMMAND_TRIAL_DIR) == 0 && job->trial_dir ? job->trial_dir : cwd;
}

void sw_environment_yaml(const struct sw_job *job, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s.yaml", job->log);
}

/* Adds the variables by which a program finds its trial and its daemon. */
static void add_ours(struct sw_environment *e, const struct sw_job *job, const struct sw_site *site)
{
	char trial[48];

	(void)snprintf(trial, sizeof trial, "%" PRIu64 "/%" PRIu64, job->sweep, job->trial);
	add_variable(e, OURS "COOKIE", job->cookie);
	add_variable(e, OURS "TRIAL", trial);
	add_number(e, OURS "ATTEMPT", job->attempt);
	add_variable(e, OURS "SOCKET", site->socket);
	add_number(e, OURS "METRICS_FD", SW_PROGRAM_METRICS_FD);
	if (job->metric)
		add_variable(e, OURS "METRIC", job->metric);
}

/* Adds what came with the submission; false: nothing did. */
static bool add_passed(struct sw_environment *e, const char *path)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	cJSON *tree = NULL;
	struct sw_buf b;

	if (!f)
		return false;
	sw_buf_init(&b, SW_FRAME_MAX);
	if (sw_buf_reserve(&b, SW_FRAME_MAX - 1) == SW_OK)
		b.len = fread(b.data, 1, SW_FRAME_MAX - 1, f);
	const sw_status rc = b.failed == SW_OK ? sw_json_parse(&tree, b.data, b.len, NULL)
					       : b.failed;
	e->failed = e->failed || rc == SW_NOMEM;
	e->unread = rc != SW_OK; /* by a power cut: it was not synced */
	for (const cJSON *v = tree ? tree->child : NULL; v; v = v->next)
		if (cJSON_IsString(v) && strncmp(v->string, OURS, strlen(OURS)) != 0)
			add_variable(e, v->string, v->valuestring);
	cJSON_Delete(tree);
	sw_buf_fini(&b);
	(void)fclose(f);
	return true;
}

/* The card of the slot: by what the worker itself may see, of which the device is a number. */
static void add_devices(struct sw_environment *e, const char *device)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	unsigned long n;
	char text[128];

	if (strncmp(device, "gpu:", 4) != 0) {
		/* empty, not unset: a trial on CPU cores must not take a GPU that others use */
		add_variable(e, "CUDA_VISIBLE_DEVICES", "");
		return;
	}
	n = strtoul(device + 4, NULL, 10);
	if (!visible || !sw_text_nth(visible, n, text, sizeof text))
		(void)snprintf(text, sizeof text, "%lu", n);
	add_variable(e, "CUDA_VISIBLE_DEVICES", text);
}

/* A program with a part of a GPU is told so in the variables of JAX, TensorFlow and MPS: the first
 * two take most of a GPU's memory otherwise, and MPS, where it runs, holds all to their part. A
 * tenth of the part is for what these do not count, such as CUDA's context. */
static void add_share(struct sw_environment *e, const struct sw_job *job)
{
	const unsigned percent = (unsigned)job->gpu_percent;
	char text[40];

	if (percent == 0)
		return;
	(void)snprintf(text, sizeof text, "%.3f", 0.009 * percent);
	add_variable(e, "XLA_PYTHON_CLIENT_MEM_FRACTION", text);
	add_variable(e, "TF_FORCE_GPU_ALLOW_GROWTH", "true");
	add_number(e, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percent);
	(void)snprintf(text, sizeof text, "0=%" PRIu64 "M", job->gpu_mib);
	if (job->gpu_mib > 0)
		add_variable(e, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", text);
}

/* Adds what the worker itself has: PATH, HOME, and whatever the administrator set. */
static void add_workers(struct sw_environment *e)
{
	for (char **at = environ; *at; at++) {
		char name[256];
		const size_t n = strcspn(*at, "=");

		/* a SWEEPD_ variable of the worker itself would speak of another trial */
		if (n >= sizeof name || (*at)[n] != '=' || strncmp(*at, OURS, strlen(OURS)) == 0)
			continue;
		memcpy(name, *at, n);
		name[n] = '\0';
		add_variable(e, name, *at + n + 1);
	}
}

void sw_environment_make(struct sw_environment *e, const struct sw_job *job,
			 const struct sw_site *site, const char *params,
			 const struct sw_folder *folder)
{
	const cJSON *env = sw_json_get(job->run, "env");
	char yaml[PATH_MAX];

	*e = (struct sw_environment){0};
	/* from the strongest to the weakest: of two with one name the first counts */
	add_ours(e, job, site);
	add_variable(e, OURS "PARAMS", params);
	if (job->trial_dir)
		add_variable(e, OURS "TRIAL_DIR", job->trial_dir);
	if (*folder->path)
		add_variable(e, OURS "CHECKPOINT_DIR", folder->path);
	if (*folder->resume)
		add_variable(e, OURS "RESUME", folder->resume);
	if (folder->step)
		add_number(e, OURS "RESUME_STEP", folder->step);
	/* The user's own, but not with the names by which a program finds its daemon. */
	for (const cJSON *v = env ? env->child : NULL; v; v = v->next)
		if (cJSON_IsString(v) && strncmp(v->string, OURS, strlen(OURS)) != 0)
			add_variable(e, v->string, v->valuestring);
	/* With it wandb takes the parameters for its config. WANDB_SWEEP_ID beside it would send
	 * the run to a sweep that W&B's server does not know, which refuses it. */
	sw_environment_yaml(job, yaml);
	add_variable(e, "WANDB_SWEEP_PARAM_PATH", yaml);
	if (job->visible) {
		add_variable(e, "CUDA_VISIBLE_DEVICES", job->visible);
		add_variable(e, "CUDA_DEVICE_ORDER", "PCI_BUS_ID"); /* its numbers are of that */
	} else
		add_devices(e, site->device);
	/* As a shell that has gone there has it. */
	add_variable(e, "PWD", sw_environment_cwd(job));
	/* In the place of the daemon's own, of which a program that is run by hand knows nothing.
	 * A pilot's job has more that counts on its machine. */
	if (!add_passed(e, job->env_file) || site->pilot)
		add_workers(e);
	add_number(e, "OMP_NUM_THREADS", job->cores ? job->cores : site->cores);
	add_share(e, job);
}

void sw_environment_fini(struct sw_environment *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->list[i]);
	free(e->list);
	*e = (struct sw_environment){0};
}
