#include "worker/fit.h"
#include "base/memory.h"
#include "kernels/backend.h"
#include "proto/checkpoint_path.h"
#include "proto/json.h"
#include "worker/file/checkpoint.h"
#include "worker/file/export.h"
#include "worker/file/label.h"
#include "worker/shown.h"
#include "worker/train.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fit {
	const cJSON *input;
	const struct sw_ops *ops;
	struct sw_queue *q;
	struct sw_trainer trainer;
	struct sw_data data;
	struct sw_model model;
	char *label;
	struct sw_checkpoint_id id;
	uint64_t stop; /* after this epoch, of those that the schedule is for; 0: after the last */
	const char *out;
	struct sw_fit *result;
	sw_status rc; /* of the export */
	struct sw_err err;
};

static void on_progress(void *ctx, size_t done, size_t total)
{
	const struct fit *f = ctx;

	sw_shown("epoch %zu of %" PRIu64 ", %zu%%", f->result->epochs + 1,
		 f->stop ? f->stop : f->trainer.epochs, total ? 100 * done / total : 0);
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
static sw_status write_out(struct fit *f, struct sw_net *net)
{
	char folder[4096], path[4096 + 96];
	struct sw_exported is;
	sw_status rc = folder_make(f, folder, &f->err);

	if (rc != SW_OK)
		return rc;
	sw_checkpoint_path(path, sizeof path, folder, f->id.trial, f->id.epoch);
	rc = sw_checkpoint_write(net, &f->id, folder, &f->err);
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
	f->id.epoch = e->epoch;
	if ((e->last || e->epoch == f->stop) && isfinite(e->train_loss))
		f->rc = write_out(f, e->net);
	return e->epoch != f->stop;
}

static bool input_number(const cJSON *input, const char *key, uint64_t *out)
{
	const cJSON *v = sw_json_get(input, key);

	*out = 0;
	return !v || cJSON_IsNull(v) || sw_json_u64(v, out);
}

/* Makes trainer, data and model ready, on all rows of the data set. */
static sw_status prepare(struct fit *f, uint64_t seed, uint64_t max_t, uint64_t epochs,
			 struct sw_err *err)
{
	const cJSON *trainer = sw_json_get(f->input, "trainer");
	struct sw_data_source source;
	struct sw_data_want want;
	sw_status rc = sw_trainer_resolve(&f->trainer, trainer, sw_json_get(f->input, "params"),
					  max_t, seed, err);

	if (rc != SW_OK)
		return rc;
	/* as long as a trial that is not stopped */
	if (epochs || (f->stop == 0 && max_t && max_t < f->trainer.epochs))
		f->trainer.epochs = epochs ? epochs : max_t;
	/* the rows that it would wait for are trained on */
	f->trainer.patience = 0;
	f->trainer.precision = SW_FP32; /* what a CPU has */
	want = (struct sw_data_want){.classes = f->trainer.classes,
				     .val_fraction = f->trainer.val_fraction,
				     .split_seed = f->trainer.split_seed,
				     .standardize = f->trainer.standardize,
				     .all = true};
	rc = sw_data_source_read(&source, sw_json_get(trainer, "dataset"), err);
	if (rc == SW_OK)
		rc = sw_data_load(&f->data, &source, want, f->ops, f->q, err);
	if (rc != SW_OK) {
		sw_err_prefix(err, "/trainer/dataset");
		return rc;
	}
	const struct sw_task task = sw_net_task(&f->data, f->trainer.classes);

	rc = sw_model_compile(&f->model, sw_json_get(trainer, "model"),
			      sw_json_get(f->input, "params"), &task, err);
	if (rc != SW_OK)
		sw_err_prefix(err, "/trainer/model");
	if (rc == SW_OK)
		rc = sw_label_make(&f->label, trainer, sw_json_get(f->input, "params"), &f->data,
				   err);
	f->model.label = f->label;
	return rc;
}

/* Trains to the end. Fewer epochs than a trial only where the input says so. */
static sw_status train(struct fit *f, struct sw_err *err)
{
	const struct sw_train_hooks hooks = {.ctx = f, .report = on_epoch, .progress = on_progress};
	uint64_t seed, max_t, epochs;
	enum sw_train_end end;
	sw_status rc;

	if (!input_number(f->input, "sweep", &f->id.sweep) ||
	    !input_number(f->input, "trial", &f->id.trial) ||
	    !input_number(f->input, "seed", &seed) || !input_number(f->input, "max_t", &max_t) ||
	    !input_number(f->input, "epochs", &epochs) ||
	    !input_number(f->input, "stop", &f->stop) || !f->out ||
	    !cJSON_IsObject(sw_json_get(f->input, "trainer")) ||
	    !cJSON_IsObject(sw_json_get(f->input, "params")))
		return sw_err_set(err, SW_INVALID, "what to fit cannot be read");
	rc = folder_try(f, err);
	if (rc == SW_OK)
		rc = prepare(f, seed, max_t, epochs, err);
	if (rc == SW_OK)
		rc = sw_train_run(f->ops, f->q, &f->model, &f->data, &f->trainer, seed, &hooks,
				  &end, err);
	sw_shown_end();
	if (rc != SW_OK)
		return rc;
	f->result->sweep = f->id.sweep;
	f->result->trial = f->id.trial;
	f->result->rows = f->data.train.rows;
	/* on_epoch() has written no file then */
	if (end == SW_TRAIN_DIVERGED)
		return sw_err_set(err, SW_INVALID, "the loss is not a finite number in epoch %zu",
				  f->result->epochs);
	return f->rc == SW_OK ? SW_OK : sw_err_set(err, f->rc, "%s", f->err.msg);
}

sw_status sw_fit_run(struct sw_fit *out, const cJSON *input, unsigned cores, struct sw_err *err)
{
	struct fit *f = sw_calloc(1, sizeof *f);
	sw_status rc;

	memset(out, 0, sizeof *out);
	if (!f)
		return sw_err_set(err, SW_NOMEM, "no memory");
	f->input = input;
	f->result = out;
	f->err = (struct sw_err)SW_ERR_INIT;
	f->out = cJSON_GetStringValue(sw_json_get(input, "out"));
	rc = sw_backend_open("cpu", cores, &f->ops, err);
	if (rc == SW_OK)
		rc = f->ops->queue_create(&f->q);
	if (rc == SW_OK)
		rc = train(f, err);
	if (rc != SW_OK) /* unless there is a line already */
		(void)sw_err_set(err, rc, "the fit failed: %s", sw_status_str(rc));
	sw_data_fini(&f->data);
	free(f->label);
	if (f->q)
		f->ops->queue_destroy(f->q);
	free(f);
	return rc;
}
