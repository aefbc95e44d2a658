#include "trainer/fit.h"
#include "base/memory.h"
#include "proto/checkpoint_path.h"
#include "trainer/file/checkpoint.h"
#include "trainer/file/export.h"
#include "trainer/prepare.h"
#include "trainer/shown.h"
#include "trainer/train.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fit {
	struct sw_job job;
	struct sw_runner runner;
	struct sw_prepared ready;
	uint64_t epochs; /* 0: as many as a trial that is not stopped has */
	const char *out;
	struct sw_fit *result;
	sw_status rc; /* of the export */
	struct sw_err err;
};

static void on_progress(void *ctx, size_t done, size_t total)
{
	const struct fit *f = ctx;

	sw_shown("epoch %zu of %" PRIu64 ", %zu%%", f->result->epochs + 1,
		 f->job.until ? f->job.until : f->ready.trainer.epochs,
		 total ? 100 * done / total : 0);
}

static sw_status folder_make(const struct fit *f, char folder[4096], struct sw_err *err)
{
	const int len = snprintf(folder, 4096, "%s.XXXXXX", f->out);

	errno = ENAMETOOLONG;
	if (len >= 4096 || !mkdtemp(folder))
		return sw_err_set(err, SW_IO, "cannot write beside %s: %s", f->out,
				  strerror(errno));
	return SW_OK;
}

/* Nobody should learn after an hour of training that there is no such folder. */
static sw_status folder_try(const struct fit *f, struct sw_err *err)
{
	char folder[4096];
	const sw_status rc = folder_make(f, folder, err);

	if (rc == SW_OK)
		(void)rmdir(folder);
	return rc;
}

/* Exports by way of a checkpoint in a folder of its own beside the file, since an export is made of
 * one. */
static sw_status write_out(struct fit *f, const struct sw_epoch *e)
{
	const struct sw_checkpoint_id id = {
		.sweep = f->job.sweep, .trial = f->job.trial, .epoch = e->epoch};
	char folder[4096], path[4096 + 96];
	struct sw_exported is;
	sw_status rc = folder_make(f, folder, &f->err);

	if (rc != SW_OK)
		return rc;
	sw_checkpoint_path(path, sizeof path, folder, id.trial, id.epoch);
	rc = sw_checkpoint_write(e->net, &id, folder, &f->err);
	if (rc == SW_OK)
		rc = sw_export(path, f->out, &is, &f->err);
	(void)unlink(path);
	(void)rmdir(folder);
	return rc;
}

/* Writes the file after the last epoch, while the net is there. */
static bool on_epoch(void *ctx, const struct sw_epoch *e)
{
	struct fit *f = ctx;

	f->result->epochs = (size_t)e->epoch;
	f->result->train_loss = e->train_loss;
	/* A diverged net is not worth a file, and sw_export() would write it. */
	if ((e->last || e->epoch == f->job.until) && isfinite(e->train_loss))
		f->rc = write_out(f, e);
	return e->epoch != f->job.until;
}

/* Makes trainer, data and model ready as a trial's, but of all rows. */
static sw_status prepare(struct fit *f, struct sw_err *err)
{
	struct sw_trainer *t = &f->ready.trainer;

	f->job.checkpoint_dir = f->out; /* beside which its only one is written, with a label */
	f->ready.all = true;
	const sw_status rc = sw_prepare(&f->ready, &f->runner, &f->job, err);

	/* Fewer epochs change the schedule, which spans all of them: so `until` alone stops early
	 * and leaves trainer.epochs as the trial had it. */
	if (f->epochs || (f->job.until == 0 && f->job.max_t && f->job.max_t < t->epochs))
		t->epochs = f->epochs ? f->epochs : f->job.max_t;
	/* the rows that it would wait for are trained on */
	t->patience = 0;
	t->precision = SW_FP32; /* a CPU has no other */
	return rc;
}

/* Trains to the end. Fewer epochs than a trial only where the job says so. */
static sw_status train(struct fit *f, struct sw_err *err)
{
	const struct sw_train_hooks hooks = {.ctx = f, .report = on_epoch, .progress = on_progress};
	enum sw_train_end end;
	sw_status rc = folder_try(f, err);

	if (rc == SW_OK)
		rc = prepare(f, err);
	if (rc == SW_OK)
		rc = sw_train_run(f->runner.ops, f->runner.q, &f->ready.model, f->ready.data,
				  &f->ready.trainer, f->job.seed, &hooks, &end, err);
	sw_shown_end();
	if (rc != SW_OK)
		return rc;
	f->result->rows = f->ready.data->train.rows;
	/* on_epoch() has written no file then */
	if (end == SW_TRAIN_DIVERGED)
		return sw_err_set(err, SW_INVALID, "the loss is not a finite number in epoch %zu",
				  f->result->epochs);
	return f->rc == SW_OK ? SW_OK : sw_err_set(err, f->rc, "%s", f->err.msg);
}

sw_status sw_fit_run(struct sw_fit *out, const struct sw_job *job, uint64_t epochs,
		     const char *path, unsigned cores, struct sw_err *err)
{
	struct fit *f = sw_calloc(1, sizeof *f);
	sw_status rc;

	memset(out, 0, sizeof *out);
	if (!f)
		return sw_err_set(err, SW_NOMEM, "no memory");
	f->job = *job;
	f->epochs = epochs;
	f->out = path;
	f->result = out;
	f->err = (struct sw_err)SW_ERR_INIT;
	f->runner.cores = cores;
	rc = sw_runner_open(&f->runner, "cpu", err);
	if (rc == SW_OK)
		rc = train(f, err);
	if (rc != SW_OK) /* unless there is a line already */
		(void)sw_err_set(err, rc, "the fit failed: %s", sw_status_str(rc));
	/* Also after an error: each of the two takes what was never opened. */
	sw_prepared_release(&f->ready, &f->runner);
	sw_runner_close(&f->runner, NULL);
	free(f);
	return rc;
}
