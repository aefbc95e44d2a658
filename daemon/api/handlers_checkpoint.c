/* daemon/api/handlers_checkpoint.c — trial.checkpoint: which file a trial's state is in. */
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/daemon.h"
#include "daemon/sweep/checkpoint.h"
#include "daemon/sweep/running.h"
#include "proto/checkpoint_path.h"
#include "store/read.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FOLDER_MAX (PATH_MAX + 64)

struct file_question {
	struct sw_lookup q;
	int64_t step; /* that the row says */
	char folder[FOLDER_MAX];
};

static bool take_step(const struct sw_row_trial *row, void *arg)
{
	struct file_question *f = arg;

	f->step = row->resume_step;
	return true;
}

/* The row says which step, the disk whether it is there. */
static void find_file(struct sw_db *db, struct sw_lookup *q)
{
	struct file_question *f = (struct file_question *)q;
	char path[PATH_MAX + 128];
	struct stat st;

	q->rc = sw_read_trial(db, q->sweep, q->trial, take_step, f, &q->err);
	if (q->rc != SW_OK)
		return;
	sw_checkpoint_path(path, sizeof path, f->folder, (uint64_t)q->trial, (uint64_t)f->step);
	/* It never wrote one, or the spec's rules have removed it since. */
	if (f->step == 0 || stat(path, &st) != 0) {
		q->rc = sw_err_set(
			&q->err, SW_NOT_FOUND,
			"trial %lld/%lld has no checkpoint: \"checkpoint\" in the spec "
			"says which are kept, the best one's and the last one's by default",
			(long long)q->sweep, (long long)q->trial);
		return;
	}
	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "trial", q->trial);
	sw_jw_kint(&q->w, "step", f->step);
	sw_jw_kstr(&q->w, "path", path);
	sw_jw_kbool(&q->w, "folder", S_ISDIR(st.st_mode));
	sw_jw_obj_end(&q->w);
}

void sw_handle_trial_checkpoint(struct sw_running *live, struct sw_call *call)
{
	char folder[FOLDER_MAX];
	struct sw_err err = SW_ERR_INIT;

	/* The path is made on the loop, which owns the sweep; the disk is asked on the store's
	 * thread. The Python package keeps the trials that it drives in a folder of its own, which
	 * the daemon only reads. */
	if (live->driven)
		(void)snprintf(folder, sizeof folder, "%s/tune/%lld", live->d->config.state,
			       (long long)live->sweep);
	else if (sw_checkpoint_folder(live, false, folder, sizeof folder, &err) != SW_OK) {
		sw_call_error(call, &err);
		return;
	}
	struct file_question *f = sw_lookup_create(call, live, sizeof *f, find_file);
	if (f == NULL)
		return;
	memcpy(f->folder, folder, sizeof folder);
	sw_lookup_run(&f->q);
}
