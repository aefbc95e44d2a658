/* daemon/api/handlers_checkpoint.c — trial.checkpoint: which file a trial's state is in. */
#include "daemon/api/handlers.h"
#include "daemon/api/lookup.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/sweep/checkpoint.h"
#include "daemon/sweep/host.h"
#include "store/read.h"
#include <stdio.h>
#include <sys/stat.h>

static bool take_step(const struct sw_row_trial *row, void *arg)
{
	struct sw_lookup *q = arg;

	q->a = row->resume_step;
	return true;
}

/* On a thread of its own: the row says which step, the disk whether it is there. extra: the
 * folder. */
static void find_file(struct sw_db *db, struct sw_lookup *q)
{
	char path[PATH_MAX + 128];
	struct stat st;

	q->rc = sw_read_trial(db, q->sweep, q->trial, take_step, q, &q->err);
	if (q->rc != SW_OK)
		return;
	(void)snprintf(path, sizeof path, "%s/%lld-%lld.ckpt", q->extra.data, (long long)q->trial,
		       (long long)q->a);
	if (q->a == 0 || stat(path, &st) != 0) {
		q->rc = sw_err_set(
			&q->err, SW_NOT_FOUND,
			"trial %lld/%lld has no checkpoint: \"checkpoint\" in the spec "
			"says which are kept, the best one's and the last one's by default",
			(long long)q->sweep, (long long)q->trial);
		return;
	}
	sw_jw_obj(&q->w);
	sw_jw_kint(&q->w, "trial", q->trial);
	sw_jw_kint(&q->w, "step", q->a);
	sw_jw_kstr(&q->w, "path", path);
	sw_jw_obj_end(&q->w);
}

void sw_handle_trial_checkpoint(struct sw_call *call)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_host *h = sw_host_find(call->d, sw_call_int(call, "sweep", 0), &err);
	char folder[PATH_MAX + 64];
	struct sw_lookup *q;

	if (h == NULL || sw_checkpoint_folder(h, false, folder, sizeof folder, &err) != SW_OK) {
		sw_call_error(call, &err);
		return;
	}
	q = sw_lookup_create(call, h);
	if (q == NULL)
		return;
	q->work = find_file;
	if (sw_buf_adds(&q->extra, folder) != SW_OK)
		sw_daemon_die("look for a checkpoint", SW_NOMEM);
	sw_lookup_run(q);
}
