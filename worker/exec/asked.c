#include "worker/exec/asked.h"
#include "base/clock.h"
#include "base/tree.h"
#include "proto/frame.h"
#include "proto/json.h"
#include "spec/command.h"
#include "worker/exec/launcher.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEF_PATH "/usr/local/bin:/usr/bin:/bin"

sw_status sw_asked_open(struct sw_asked *a, struct sw_err *err)
{
	const struct sw_job *j = a->job;
	struct sw_err why = SW_ERR_INIT;
	const sw_status rc = sw_folder_open(&a->folder, j, &why);

	/* a trial can be made again from its seed, a copy of another one cannot */
	if (rc != SW_OK && j->parent)
		return sw_err_set(err, rc, "%s", why.msg);
	if (rc != SW_OK)
		sw_session_log(a->session, "%s: the trial starts from scratch", why.msg);
	/* NULL: the daemon could make no folder for it */
	if (j->trial_dir && !sw_tree_make(j->trial_dir))
		sw_session_log(a->session, "SWEEPD_TRIAL_DIR cannot be made: %s", strerror(errno));
	(void)snprintf(a->mark, sizeof a->mark, "SWEEPD_COOKIE=%s", j->cookie);
	/* A copy, which halving after a want of memory may change. */
	a->params = cJSON_Duplicate(j->params, true);
	return a->params ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory for a program");
}

/* --- the parameters in files, beside the output --- */

/* For ${args_json_file}. */
static void json_path(const struct sw_asked *a, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s.json", a->job->log);
}

static sw_status write_file(const char *path, const char *text, struct sw_err *err)
{
	/* Never through a link, and for this user alone: parameters may be secrets. */
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool good = f && fputs(text, f) >= 0;

	if (f && fclose(f) != 0)
		good = false;
	else if (!f && fd >= 0)
		(void)close(fd);
	return good ? SW_OK
		    : sw_err_set(err, SW_IO, "the parameters cannot be written into %.200s: %s",
				 strrchr(path, '/') + 1, strerror(errno));
}

/* Writes the parameters into the file, for a command that names it. */
static sw_status write_json(const struct sw_asked *a, const char *params, struct sw_err *err)
{
	char path[PATH_MAX];

	json_path(a, path);
	if (!sw_command_has(a->job->command, "args_json_file"))
		return SW_OK; /* no word of the command names it */
	return write_file(path, params, err);
}

/* JSON is YAML but for a number like 1e30, which the YAML 1.1 of W&B takes for a string: it needs a
 * point and a sign, 1.0e+30. */
static void add_yaml(struct sw_buf *out, const char *json)
{
	bool quoted = false, point = false;

	for (const char *at = json; *at; at++) {
		const bool exponent = !quoted && *at == 'e' && at > json && at[-1] <= '9';

		if (exponent && !point)
			(void)sw_buf_adds(out, ".0");
		point = *at == '.' || (point && *at >= '0' && *at <= '9');
		if (quoted && *at == '\\' && at[1])
			(void)sw_buf_add(out, at++, 1);
		else if (*at == '"')
			quoted = !quoted;
		(void)sw_buf_add(out, at, 1);
		if (exponent && at[1] != '-')
			(void)sw_buf_adds(out, "+");
	}
}

/* Writes what wandb reads (sw_environment_yaml): a line `"lr": {"value": 0.1}` for each. */
static sw_status write_yaml(const struct sw_asked *a, struct sw_err *err)
{
	char path[PATH_MAX];
	struct sw_buf yaml, json;
	struct sw_jw w;
	sw_status rc;

	sw_buf_init(&yaml, 2 * SW_FRAME_MAX);
	sw_buf_init(&json, SW_FRAME_MAX);
	for (const cJSON *v = a->params->child; v; v = v->next) {
		sw_buf_clear(&json);
		sw_jw_init(&w, &json);
		sw_jw_str(&w, v->string);
		(void)sw_buf_adds(&json, ": {\"value\": ");
		sw_jw_init(&w, &json);
		sw_jw_cjson(&w, v);
		if (sw_buf_adds(&json, "}\n") == SW_OK)
			add_yaml(&yaml, json.data);
	}
	if (a->params->child == NULL)
		(void)sw_buf_adds(&yaml, "{}\n"); /* an empty file is a warning there */
	sw_environment_yaml(a->job, path);
	rc = yaml.failed == SW_OK && json.failed == SW_OK
		     ? write_file(path, yaml.data, err)
		     : sw_err_set(err, SW_NOMEM, "no memory for a program");
	sw_buf_fini(&json);
	sw_buf_fini(&yaml);
	return rc;
}

void sw_asked_close(struct sw_asked *a)
{
	char path[PATH_MAX];

	json_path(a, path);
	if (sw_command_has(a->job->command, "args_json_file"))
		(void)unlink(path);
	sw_environment_yaml(a->job, path);
	(void)unlink(path);
	cJSON_Delete(a->params);
	a->params = NULL;
}

/* --- the start --- */

static const char *variable(void *environment, const char *name)
{
	return sw_environment_get(environment, name);
}

/* Tells the trial's log the command, and what the program goes on from. */
static void log_start(struct sw_asked *a, char *const argv[])
{
	char line[300];
	size_t n = 0;

	for (; *argv && n < sizeof line - 1; argv++)
		n += (size_t)snprintf(line + n, sizeof line - n, " %s", *argv);
	sw_session_log(a->session, "started on %s:%s%s", a->site->name, line,
		       n >= sizeof line ? "..." : "");
	if (*a->folder.resume)
		sw_session_log(a->session, "goes on from %s", strrchr(a->folder.resume, '/') + 1);
	else if (a->job->attempt > 1 && !a->job->checkpoint)
		sw_session_log(a->session, "starts from scratch: nothing was kept before");
}

/* Starts it by the slot's launcher. false: it must start cold; the trial's log says why. */
static bool start_warm(struct sw_asked *a, struct sw_program *p, bool first,
		       const struct sw_launch *of)
{
	struct sw_launchers *l = a->site->launchers;
	char why[SW_LAUNCHER_WHY];

	if (!l || cJSON_IsFalse(sw_json_get(a->job->run, "warm")))
		return false;
	if (sw_launchers_start(l, p, of, why))
		return true;
	if (first && *why && sw_session_may_begin(a->session))
		sw_session_log(a->session, "starts cold: %s", why);
	return false;
}

/* Finds the program of an expanded command and starts it. first: rank 0, for which the trial's log
 * speaks. */
static sw_status start_words(struct sw_asked *a, struct sw_program *p, bool first,
			     char *const argv[], struct sw_environment *e, struct sw_err *err)
{
	const char *path = sw_environment_get(e, "PATH");
	/* a cold start would be ended at once, when the attempt's time is over */
	const double run_s = sw_json_number(a->job->run, "timeout_s", SW_LAUNCHER_ANSWER_S);
	const char *cwd = sw_environment_cwd(a->job);
	const char *mask = cJSON_GetStringValue(sw_json_get(a->job->run, "umask"));
	const double wait_s = run_s < SW_LAUNCHER_ANSWER_S ? run_s : SW_LAUNCHER_ANSWER_S;
	const struct sw_launch of = {
		.argv = argv,
		.env = e->list,
		.path = path ? path : DEF_PATH,
		.cwd = cwd,
		.from = cwd == a->job->trial_dir ? "/" : cwd,
		.mark = a->mark,
		.mask = mask ? (int)strtol(mask, NULL, 8) : -1,
		.session = a->session,
		.until_us = sw_clock_mono_us() + (int64_t)(wait_s * 1e6),
	};
	char file[PATH_MAX];
	sw_status rc = SW_OK;

	/* Before a launcher is asked, so that both ways of a start say the same of a command that
	 * is not there. */
	if (!argv[0] || !sw_program_find(argv[0], of.path, file, sizeof file))
		return sw_err_set(err, SW_NOT_FOUND,
				  "cannot start %.200s: it is in no folder of PATH",
				  argv[0] ? argv[0] : "nothing");
	if (first)
		log_start(a, argv);
	/* A launcher that is asked hears the session meanwhile: the trial may have been dropped by
	 * then. */
	if (!start_warm(a, p, first, &of))
		rc = sw_session_may_begin(a->session)
			     ? sw_program_start(p, file, argv, e->list, of.cwd, of.mask, a->mark,
						err)
			     : sw_err_set(err, SW_CONFLICT, "the trial is let go of");
	if (rc == SW_OK && !p->marked && first)
		sw_session_log(a->session,
			       "the limit of file locks (ulimit -Hx) is too low for a mark: "
			       "if this worker is killed, what hides its environment is "
			       "not found");
	return rc;
}

/* Expands the command with the parameters and starts it. */
static sw_status start_rank(struct sw_asked *a, struct sw_program *p, bool first,
			    struct sw_environment *e, struct sw_err *err)
{
	const char *path = sw_environment_get(e, "PATH");
	char json[PATH_MAX], found[PATH_MAX], **argv = NULL;
	/* Many machines have no `python` in PATH: then ${interpreter} is python3. */
	const bool python = sw_program_find("python", path ? path : DEF_PATH, found, sizeof found);
	const struct sw_command_values values = {.params = a->params,
						 .program = a->job->program,
						 .interpreter = python ? NULL : "python3",
						 .json_file = json,
						 .variable = variable,
						 .user = e};
	sw_status rc;

	if (e->failed)
		return sw_err_set(err, SW_NOMEM, "no memory for a program");
	if (e->unread)
		return sw_err_set(err, SW_INVALID,
				  "the environment that came with the sweep is damaged: submit it "
				  "again");
	json_path(a, json);
	rc = sw_command_expand(&argv, a->job->command, &values, err);
	if (rc == SW_OK)
		rc = start_words(a, p, first, argv, e, err);
	free(argv);
	return rc;
}

/* The files are written before the first rank, which may read them while others are started. */
static sw_status start_ranks(struct sw_asked *a, struct sw_ranks *r, const char *params,
			     struct sw_environment *e, struct sw_err *err)
{
	sw_status rc = a->job->ranks ? sw_ranks_meet(e, r->n, err) : SW_OK;

	if (rc == SW_OK)
		rc = write_json(a, params, err);
	if (rc == SW_OK)
		rc = write_yaml(a, err);
	for (size_t i = 0; rc == SW_OK && i < r->n; i++) {
		if (i > 0)
			sw_ranks_number(e, i);
		rc = start_rank(a, &r->v[i].program, i == 0, e, err);
	}
	return rc;
}

sw_status sw_asked_start(struct sw_asked *a, struct sw_ranks *r, struct sw_err *err)
{
	struct sw_environment e = {0};
	struct sw_buf params;
	struct sw_jw w;
	sw_status rc;

	sw_buf_init(&params, SW_FRAME_MAX);
	sw_jw_init(&w, &params);
	sw_jw_cjson(&w, a->params);
	if (params.failed == SW_OK) {
		sw_environment_make(&e, a->job, a->site, params.data, &a->folder);
		rc = start_ranks(a, r, params.data, &e, err);
	} else {
		rc = sw_err_set(err, SW_NOMEM, "no memory for a program");
	}
	sw_environment_fini(&e);
	sw_buf_fini(&params);
	return rc;
}
