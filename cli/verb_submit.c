/* cli/verb_submit.c — submit, clone and validate: a spec from a file, or one that is stored, to the
 * daemon. */
#include "cli/beside.h"
#include "cli/dataset_text.h"
#include "cli/pass_env.h"
#include "cli/spec_file.h"
#include "cli/sweep_text.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "proto/json.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Warnings do not stop anything, and are no part of the output. */
static void print_warnings(const struct sw_cli *c, const cJSON *result)
{
	const cJSON *w;

	cJSON_ArrayForEach (w, sw_json_get(result, "warnings")) {
		const char *line = cJSON_GetStringValue(w), *end;
		char ptr[256] = "";

		/* "/parameters/lr: ...": the pointer is said as the user wrote it, as in an
		 * error. */
		if (line != NULL && *line == '/' && (end = strstr(line, ": ")) != NULL) {
			(void)snprintf(ptr, sizeof ptr, "%.*s", (int)(end - line), line);
			line = end + 2;
		}
		if (line != NULL)
			sw_cli_say_at(c, "warning: ", ptr, line);
	}
}

/* If no daemon is there, one process that can only check does it, by the same code. */
static void connect_validate(struct sw_cli *c)
{
	struct sw_err err = SW_ERR_INIT;
	int fd = -1;

	if (c->args.host != NULL)
		return; /* it is asked alone: its devices count */
	const sw_status found = sw_cli_connect(c, &c->client, &err);
	/* another user's may lie at the default path */
	if (found != SW_NOT_FOUND && (found != SW_DENIED || c->socket_given))
		return; /* or the call says what is wrong */
	const int rc = sw_beside_validate(&fd);
	if (rc == 0)
		c->client = sw_client_adopt(fd);
	if (rc != 0)
		sw_cli_say(c, "cannot run sweepd: %s", strerror(rc));
	else
		sw_cli_say(c,
			   "no daemon at %s: checked by the devices of this machine, not by a "
			   "daemon's --devices and limits",
			   c->socket);
}

/* The tree of the file that the first word names, the caller's. An exit status. */
static int read_spec(struct sw_cli *c, cJSON **spec)
{
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc =
		sw_spec_file_read(spec, c->args.word[0], c->args.host != NULL, &c->source, &err);

	if (rc == SW_OK)
		return SW_EXIT_DONE;
	sw_cli_say(c, "%s", err.msg[0] != '\0' ? err.msg : sw_status_str(rc));
	return SW_EXIT_REFUSED;
}

static int send_spec(struct sw_cli *c, const char *method, const cJSON *spec, struct sw_reply *r)
{
	struct sw_buf params;
	struct sw_jw w;

	sw_buf_init(&params, SW_SPEC_FILE_MAX + 64);
	sw_jw_init_obj(&w, &params);
	sw_jw_key(&w, "spec");
	sw_jw_cjson(&w, spec);
	sw_pass_env_write(c, &w, spec);
	sw_jw_obj_end(&w);
	if (params.failed == SW_TOO_BIG) {
		sw_cli_say(c,
			   "%s: a spec has at most %zu bytes, with the environment that goes along "
			   "(none does with --clean-env)",
			   c->args.word[0], SW_SPEC_FILE_MAX);
		sw_buf_fini(&params);
		return SW_EXIT_REFUSED;
	}
	const int status = sw_cli_call_written(c, method, &params, r);
	if (status == SW_EXIT_DONE)
		print_warnings(c, r->result);
	return status;
}

static int submit_spec(struct sw_cli *c, const cJSON *spec)
{
	struct sw_reply r = SW_REPLY_INIT;
	int status = send_spec(c, "sweep.submit", spec, &r);
	const uint64_t sweep = sw_json_uint(r.result, "sweep");

	if (status == SW_EXIT_DONE && sweep == 0) {
		sw_cli_say(c, "the daemon's reply names no sweep");
		status = SW_EXIT_NO_DAEMON;
	}
	sw_client_reply_fini(&r);
	if (status != SW_EXIT_DONE)
		return status;
	if (!(c->args.given & SW_OPT_JSON))
		(void)sw_buf_addf(&c->out, "sweep %" PRIu64 "\n", sweep);
	return c->args.given & SW_OPT_WATCH ? sw_watch_run(c, &sweep, 1) : SW_EXIT_DONE;
}

int sw_verb_submit(struct sw_cli *c)
{
	cJSON *spec;
	int status = read_spec(c, &spec);

	if (status == SW_EXIT_DONE)
		status = submit_spec(c, spec);
	cJSON_Delete(spec);
	return status;
}

int sw_verb_clone(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	int status = sw_cli_fetch_ref(c, "sweep.get", 0, &r);
	const cJSON *spec = sw_json_get(r.result, "spec");

	if (status == SW_EXIT_DONE && !cJSON_IsObject(spec)) {
		sw_cli_say(c, "the daemon has no spec of sweep %" PRIu64, c->sweep);
		status = SW_EXIT_REFUSED;
	}
	if (status == SW_EXIT_DONE)
		status = submit_spec(c, spec);
	sw_client_reply_fini(&r);
	return status;
}

#define RUNGS_SHOWN 12 /* without a limit on the steps of a trial the rungs have no end */

/* "memory of the largest trial: 1834560 bytes, its data set among them; 18442 weights" */
static void memory_line(struct sw_cli *c, const cJSON *result)
{
	const cJSON *bytes = sw_json_get(result, "bytes");

	if (!cJSON_IsNumber(bytes))
		return; /* the memory of a user's own program cannot be counted ahead */
	(void)sw_buf_addf(&c->out, "memory of the largest trial%s: %.0f bytes, ",
			  cJSON_IsObject(sw_json_get(result, "gang")) ? " on each slot" : "",
			  bytes->valuedouble);
	sw_cli_put(c, "its data set among them; ", sw_json_get(result, "weights"), " weights\n");
}

/* "a pipeline of 2 stages: the heaviest has 54% of the work; each waits at least 20% of a step" */
static void pipeline_line(struct sw_cli *c, const cJSON *gang)
{
	const cJSON *heaviest = sw_json_get(gang, "heaviest"),
		    *bubble = sw_json_get(gang, "bubble");

	if (!cJSON_IsNumber(heaviest) || !cJSON_IsNumber(bubble))
		return;
	(void)sw_buf_addf(&c->out,
			  "a pipeline of %" PRIu64 " stages: the heaviest has %.0f%% of the work; "
			  "each waits at least %.0f%% of a step\n",
			  sw_json_uint(gang, "stages"), heaviest->valuedouble * 100,
			  bubble->valuedouble * 100);
}

static void print_verdict(struct sw_cli *c, const cJSON *result)
{
	const cJSON *points = sw_json_get(result, "points"), *rung;
	int n = 0;

	sw_cli_put(c, "", sw_json_get(result, "name"), ": a good spec; parameters ");
	sw_cli_put(c, "", sw_json_get(result, "parameters"), "");
	if (cJSON_IsNumber(points))
		sw_cli_put(c, ", points ", points, "");
	cJSON_ArrayForEach (rung, sw_json_get(result, "rungs")) {
		if (n == RUNGS_SHOWN) {
			(void)sw_buf_adds(&c->out, " ...");
			break;
		}
		sw_cli_put(c, n++ == 0 ? ", rungs " : " ", rung, "");
	}
	(void)sw_buf_adds(&c->out, "\n");
	memory_line(c, result);
	pipeline_line(c, sw_json_get(result, "gang"));
}

/* The lines that `init` prints, of a CSV file that lies here. */
static void print_columns(struct sw_cli *c, const cJSON *spec)
{
	const cJSON *trainer = sw_json_get(spec, "trainer");
	const cJSON *dataset = sw_json_get(trainer, "dataset");
	const char *path = sw_json_text(dataset, "path", NULL);
	cJSON *found = NULL;

	if (path == NULL || c->args.host != NULL ||
	    strcmp(sw_json_text(dataset, "format", ""), "csv") != 0)
		return;
	const char *scale = sw_json_text(trainer, "scale", NULL);

	if (sw_dataset_text_find(c, path, dataset, scale, &found) == SW_EXIT_DONE)
		sw_dataset_text(c, &c->out, path, found);
	cJSON_Delete(found);
}

int sw_verb_validate(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	cJSON *spec;
	int status = read_spec(c, &spec);

	if (status == SW_EXIT_DONE) {
		connect_validate(c);
		status = send_spec(c, "sweep.validate", spec, &r);
	}
	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON)) {
		print_verdict(c, r.result);
		sw_sweep_text_model(c, spec);
		print_columns(c, spec);
	}
	cJSON_Delete(spec);
	sw_client_reply_fini(&r);
	return status;
}
