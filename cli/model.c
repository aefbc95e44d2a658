#include "cli/model.h"
#include "cli/beside.h"
#include "cli/client.h"
#include "proto/job.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOB_MAX ((size_t)16 * 1024 * 1024)

int sw_model_open(struct sw_cli *c, int *fd)
{
	const char *tmp = getenv("TMPDIR");
	struct sw_reply r = SW_REPLY_INIT;
	char folder[PATH_MAX], file[PATH_MAX + 16];
	int status = sw_cli_fetch_ref(c, "trial.checkpoint", c->trial, &r);

	const char *path = sw_json_text(r.result, "path", NULL);
	if (status == SW_EXIT_DONE && cJSON_IsTrue(sw_json_get(r.result, "folder"))) {
		sw_cli_say(c,
			   "trial %" PRIu64 "/%" PRIu64
			   " is a program's, and its checkpoint a folder "
			   "of its own (%s): predict with that program",
			   c->sweep, c->trial, path != NULL ? path : "?");
		status = SW_EXIT_REFUSED;
	}
	(void)snprintf(folder, sizeof folder, "%s/sweep-XXXXXX",
		       tmp != NULL && *tmp != '\0' ? tmp : "/tmp");
	if (status != SW_EXIT_DONE || path == NULL || mkdtemp(folder) == NULL) {
		if (status == SW_EXIT_DONE)
			sw_cli_say(c, "%s: %s", folder, strerror(errno));
		sw_client_reply_fini(&r);
		return SW_EXIT_REFUSED;
	}
	(void)snprintf(file, sizeof file, "%s/model", folder);
	status = sw_beside_worker(c, (const char *const[]){"export", path, file, "quiet", NULL},
				  NULL, NULL);
	*fd = status == SW_EXIT_DONE ? open(file, O_RDONLY) : -1; /* which the worker has, too */
	if (status == SW_EXIT_DONE && *fd < 0)
		sw_cli_say(c, "%s: %s", file, strerror(errno));
	(void)unlink(file);
	(void)rmdir(folder);
	sw_client_reply_fini(&r);
	return *fd >= 0 ? SW_EXIT_DONE : SW_EXIT_REFUSED;
}

sw_status sw_model_job(const struct sw_cli *c, const cJSON *sweep, const cJSON *trial,
		       struct sw_buf *out, struct sw_err *err)
{
	struct sw_spec *spec = NULL;
	const sw_status rc = sw_spec_read(&spec, sw_json_get(sweep, "spec"), err);
	struct sw_buf params;
	struct sw_jw w;

	if (rc != SW_OK)
		return rc;
	if (spec->trainer == NULL) {
		const bool driven = sw_spec_driven(spec);

		sw_spec_destroy(spec);
		return sw_err_set(err, SW_INVALID,
				  "sweep %" PRIu64
				  " has no trainer: fit it with the program that %s",
				  c->sweep, driven ? "drove it" : "its trials are");
	}
	/* with several metrics no trial is the best */
	const bool stops = (c->args.given & SW_OPT_EPOCHS) == 0 && spec->n_metrics <= 1;
	const double best = sw_json_number(sw_json_get(trial, "best"), "step", 0);
	const uint64_t seed = (uint64_t)sw_json_number(sweep, "seed", 0);
	const struct sw_job job = {.sweep = c->sweep,
				   .trial = c->trial,
				   .seed = seed,
				   .data_seed = seed,
				   .trainer = spec->trainer,
				   .max_t = sw_spec_max_t(spec),
				   .until = stops ? (uint64_t)best : 0};

	/* sw_job_write() takes the parameters as text, as the daemon has them stored. */
	sw_buf_init(&params, out->max);
	sw_jw_init(&w, &params);
	sw_jw_cjson(&w, sw_json_get(trial, "params"));
	if (params.failed == SW_OK)
		sw_job_write(out, &job, params.data);
	else
		out->failed = params.failed;
	sw_buf_fini(&params);
	sw_spec_destroy(spec);
	return out->failed;
}

static void print_test(struct sw_cli *c, const cJSON *judged)
{
	const cJSON *m;

	(void)sw_buf_addf(&c->out, "test part, %" PRIu64 " rows that no trial saw\n",
			  sw_json_uint(judged, "rows"));
	cJSON_ArrayForEach (m, judged) {
		if (strcmp(m->string, "rows") == 0)
			continue;
		(void)sw_buf_addf(&c->out, "  %-13s  ", m->string);
		sw_cli_put(c, "", m, "\n");
	}
}

int sw_model_test(struct sw_cli *c, const cJSON *sweep)
{
	struct sw_reply trial = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf input, said;
	cJSON *judged = NULL;
	char by_fd[32];
	int fd = -1, status = sw_model_open(c, &fd);

	sw_buf_init(&input, JOB_MAX);
	sw_buf_init(&said, JOB_MAX);
	(void)snprintf(by_fd, sizeof by_fd, "/proc/self/fd/%d", fd);
	if (status == SW_EXIT_DONE)
		status = sw_cli_fetch_ref(c, "trial.get", c->trial, &trial);
	if (status == SW_EXIT_DONE && sw_model_job(c, sweep, trial.result, &input, &err) != SW_OK) {
		sw_cli_say(c, "%s", *err.msg ? err.msg : "no memory");
		status = SW_EXIT_REFUSED;
	}
	if (status == SW_EXIT_DONE)
		status = sw_beside_worker(c, (const char *const[]){"test", by_fd, NULL}, input.data,
					  &said);
	if (status == SW_EXIT_DONE && sw_json_parse(&judged, said.data, said.len, &err) == SW_OK)
		print_test(c, judged);
	if (fd >= 0)
		(void)close(fd);
	cJSON_Delete(judged);
	sw_buf_fini(&said);
	sw_buf_fini(&input);
	sw_client_reply_fini(&trial);
	return status;
}
