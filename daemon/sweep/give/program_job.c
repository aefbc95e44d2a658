#include "daemon/sweep/give/program_job.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "proto/job.h"
#include "proto/json.h"
#include "spec/command.h"
#include "spec/spec.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER       "logs"
#define SCRIPT_BYTES 32768 /* of a script, where its arguments are looked for */
#define ABSOLUTE     ": it must be an absolute path"

void sw_program_job_log(const struct sw_daemon *d, int64_t sweep, uint64_t trial,
			char out[SW_PROGRAM_JOB_LOG_MAX])
{
	(void)snprintf(out, SW_PROGRAM_JOB_LOG_MAX, "%s/" FOLDER "/%lld/%llu.log", d->config.state,
		       (long long)sweep, (unsigned long long)trial);
}

static void make_folders(const struct sw_running *live)
{
	const char *state = live->d->config.state;
	char path[SW_PROGRAM_JOB_LOG_MAX];

	(void)snprintf(path, sizeof path, "%s/" FOLDER, state);
	if (mkdir(path, 0700) == 0 || errno == EEXIST) {
		(void)snprintf(path, sizeof path, "%s/" FOLDER "/%lld", state,
			       (long long)live->sweep);
		if (mkdir(path, 0700) == 0 || errno == EEXIST)
			return;
	}
	sw_log(SW_LOG_ERROR, "program.log", "path=\"%s\" why=\"%s\"", path, strerror(errno));
}

/* Are CUDA's numbers (in the order of the bus) NVML's? CUDA leaves out a GPU that is lost, and
 * counts a divided one by its parts: then those behind it have others. */
static bool are_numbered(const struct sw_daemon *d)
{
	const struct sw_nvml_view *view = sw_gpus_view(d);

	for (size_t i = 0; view != NULL && i < view->n; i++)
		if (view->card[i].divided || view->card[i].health != SW_NVML_OK)
			return false;
	return true;
}

/* Do the trial's GPUs have numbers? Many programs read numbers and end at a UUID; a worker finds
 * its ranks by UUIDs. Of an order that the user has set our numbers are not. */
static bool wants_numbers(const struct sw_daemon *d, const struct sw_spec *spec)
{
	return spec->command != NULL && !spec->visible_uuid &&
	       sw_json_get(sw_json_get(spec->run, "env"), "CUDA_DEVICE_ORDER") == NULL &&
	       are_numbered(d);
}

/* The GPUs of the slot's trial, as CUDA_VISIBLE_DEVICES has them, its own first. */
static const char *write_visible(const struct sw_slot *s, const struct sw_spec *spec, char *out,
				 size_t cap)
{
	const bool numbers = wants_numbers(s->d, spec);
	const struct sw_worker *w;
	size_t n = 0;

	*out = '\0';
	for (unsigned rank = 0; (w = sw_room_gpu(s, rank)) != NULL; rank++) {
		const struct sw_device *device = &w->slots->device;

		if (device->uuid[0] != '\0' && !numbers)
			n += (size_t)snprintf(out + n, cap - n, "%s%s", n > 0 ? "," : "",
					      device->uuid);
		else
			n += (size_t)snprintf(out + n, cap - n, "%s%u", n > 0 ? "," : "",
					      device->index);
	}
	return out;
}

/* The part of a GPU that a program has: its lanes of all. */
static void fill_share(const struct sw_slot *s, struct sw_job *job)
{
	const struct sw_card *card = sw_gpus_card(s->d, s);
	const struct sw_worker *w = s->worker;
	unsigned n = 1;

	for (unsigned k = 0; k < w->slot_n; k++)
		n += w->slots[k].holder == s->index;
	if (!s->device.kind->gpu || n >= w->slot_n)
		return;
	job->gpu_percent = 100 * n / w->slot_n;
	if (card != NULL && card->now.total > 0)
		job->gpu_mib = (uint64_t)(card->now.total >> 20) * n / w->slot_n;
}

void sw_program_job_fill(struct sw_running *live, const struct sw_slot *s,
			 struct sw_program_job *room, struct sw_job *job)
{
	const struct sw_spec *spec = live->spec;
	char folder[SW_CHECKPOINT_FOLDER_MAX];

	if (spec->gpu > 1 || (spec->command != NULL && s->device.kind->watched))
		job->visible = write_visible(s, spec, room->visible, sizeof room->visible);
	/* A trainer prints nothing that is kept. */
	if (spec->command == NULL)
		return;
	fill_share(s, job);
	make_folders(live);
	sw_program_job_log(live->d, live->sweep, job->trial, room->log);
	sw_passed_path(live->d, live->sweep, room->env_file);
	sw_slot_cookie(s->d, s->index, room->cookie);
	sw_checkpoint_folder(live, folder);
	sw_checkpoint_path(room->trial_dir, sizeof room->trial_dir, folder, job->trial, 0);
	/* Without it the trial runs all the same, without a folder of its own; set_resume() has
	 * logged why. */
	if (sw_checkpoint_make_folder(live, NULL) == SW_OK)
		job->trial_dir = room->trial_dir;
	job->command = spec->command;
	job->program = spec->program;
	job->run = spec->run;
	job->log = room->log;
	job->env_file = room->env_file;
	job->cookie = room->cookie;
	/* A CPU slot may be several cores wide: a program gets all of them, for nobody else
	 * does. */
	job->cores = s->device.kind->gpu || spec->cpu > s->device.cores ? spec->cpu
									: s->device.cores;
	if (spec->launch_ranks)
		job->ranks = spec->gpu > 1 ? (uint64_t)spec->gpu : spec->cpu_slots;
	else if (spec->cpu_slots > 0)
		job->cores = (uint64_t)spec->cpu_slots * s->device.cores;
}

static bool has_file(const char *folder, size_t n, const char *name, int may)
{
	char path[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof path, "%.*s/%s", *name == '/' ? 0 : (int)n, folder, name);
	/* access() first, for its errno is what the user reads; a folder passes it, and gets
	 * EISDIR. */
	if (access(path, may) != 0 || stat(path, &st) != 0)
		return false;
	errno = EISDIR;
	return !S_ISDIR(st.st_mode);
}

static bool path_has(const char *path, const char *name)
{
	for (;; path++) {
		const size_t n = strcspn(path, ":");

		if (has_file(path, n, name, X_OK))
			return true;
		path += n;
		if (*path == '\0')
			return false;
	}
}

sw_status sw_program_job_check(const struct sw_spec *spec, const cJSON *env, struct sw_err *err)
{
	const char *cwd = sw_json_text(spec->run, "cwd", "");
	const char *usual = sw_json_text(env, "PATH", env == NULL ? getenv("PATH") : NULL);
	const char *path = sw_json_text(sw_json_get(spec->run, "env"), "PATH", usual);
	const char *word = cJSON_GetStringValue(spec->command->child);
	const bool own = strcmp(cwd, SW_COMMAND_TRIAL_DIR) == 0;
	struct stat st;

	/* stat() sets it unless the path is there and is a file: then this is what is said. */
	errno = ENOTDIR;
	if (!own && (stat(cwd, &st) != 0 || !S_ISDIR(st.st_mode)))
		return sw_err_at(err, SW_INVALID, "/run/cwd", "%.200s: %s", cwd, strerror(errno));
	if (spec->program != NULL && sw_command_has(spec->command, "program") &&
	    !sw_command_is_module(spec->command) &&
	    !has_file(cwd, strlen(cwd), spec->program, R_OK))
		return sw_err_at(err, SW_INVALID, "/program", "%.100s in %.100s: %s%s",
				 spec->program, cwd, strerror(errno),
				 own && *spec->program != '/' ? ABSOLUTE : "");
	if (word != NULL && strcmp(word, "${program}") == 0)
		word = spec->program;
	/* The program differs from trial to trial. */
	if (word == NULL || strstr(word, "${") != NULL)
		return SW_OK;
	if (strchr(word, '/') != NULL && !has_file(cwd, strlen(cwd), word, X_OK))
		return sw_err_at(err, SW_INVALID, "/command/0", "%.200s: %s%s", word,
				 strerror(errno), own && *word != '/' ? ABSOLUTE : "");
	if (strchr(word, '/') == NULL && path != NULL && !path_has(path, word))
		return sw_err_at(err, SW_INVALID, "/command/0",
				 "%.200s: it is in no folder of PATH", word);
	return SW_OK;
}

bool sw_program_job_warning(const struct sw_spec *spec, char *out, size_t cap)
{
	const char *cwd = sw_json_text(spec->run, "cwd", ""), *name = spec->program;
	char path[PATH_MAX], script[SCRIPT_BYTES], word[SW_SPEC_MAX_PARAM_NAME + 5];

	if (name == NULL || !(sw_command_has(spec->command, "args") ||
			      sw_command_has(spec->command, "args_no_equals")))
		return false;
	(void)snprintf(path, sizeof path, "%s/%s", *name == '/' ? "" : cwd, name);
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	/* Only the beginning of a longer script is read: the warning is a hint. */
	const ssize_t n = fd >= 0 ? read(fd, script, sizeof script - 1) : 0;
	if (fd >= 0)
		(void)close(fd);
	script[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < spec->n_params; i++) {
		const int len = snprintf(word, sizeof word, "\"--%s\"", spec->params[i].name);
		const char *at = strstr(script, word);
		word[0] = word[len - 1] = '\'';
		at = at != NULL ? at : strstr(script, word);
		const char *kind = at != NULL ? strstr(at, "type=bool") : NULL;
		const char *next = kind != NULL ? strstr(at, "add_argument") : NULL;
		if (kind == NULL || (next != NULL && next < kind))
			continue;
		(void)snprintf(out, cap,
			       "/parameters/%s: %.64s has type=bool, to which any text is true: "
			       "write action=\"store_true\" there, and ${args_no_boolean_flags}",
			       spec->params[i].name, name);
		return true;
	}
	return false;
}
