#include "trainer/test.h"
#include "base/memory.h"
#include "proto/json.h"
#include "trainer/auc.h"
#include "trainer/predictor.h"
#include "trainer/prepare.h"
#include "trainer/train.h"
#include <math.h>
#include <stdlib.h>

struct judged {
	struct sw_predictor p;
	struct sw_runner runner;
	struct sw_prepared ready;
	struct sw_auc_row *scores; /* [rows], of two classes; else NULL */
	struct sw_epoch e;
};

/* The rows through the model, as those of validation go through the net that is trained. */
static sw_status rows_judge(struct judged *j, struct sw_err *err)
{
	const struct sw_data *data = j->ready.data;
	const size_t rows = data->val.rows, most = j->p.net.at.eval_batch;
	struct sw_metrics m;
	sw_status rc = sw_net_metrics_zero(&j->p.net);

	for (size_t at = 0; rc == SW_OK && at < rows; at += most) {
		const size_t n = rows - at < most ? rows - at : most;

		rc = sw_net_eval(&j->p.net, data, at, n);
		if (rc == SW_OK && j->scores)
			rc = sw_auc_take(&j->p.net, data, at, n, j->scores + at);
	}
	if (rc == SW_OK)
		rc = sw_net_metrics(&j->p.net, &m);
	if (rc == SW_OK)
		rc = sw_net_macro_f1(&j->p.net, &j->e.val_macro_f1);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "the test failed: %s", sw_status_str(rc));
	j->e.classes = j->p.classes;
	sw_epoch_judge(&j->e, &m, data);
	j->e.val_auc = j->scores ? sw_auc(j->scores, rows) : (double)NAN;
	return SW_OK;
}

static void judged_write(const struct judged *j, struct sw_buf *out)
{
	const struct sw_epoch *e = &j->e;
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kint(&w, "rows", (int64_t)j->ready.data->val.rows);
	sw_jw_knum(&w, "test_loss", e->val_loss);
	if (e->classes) {
		sw_jw_knum(&w, "test_accuracy", e->val_accuracy);
		sw_jw_knum(&w, "test_macro_f1", e->val_macro_f1);
		if (!isnan(e->val_auc))
			sw_jw_knum(&w, "test_auc", e->val_auc);
	} else {
		sw_jw_knum(&w, "test_rmse", sqrt(e->val_loss));
		sw_jw_knum(&w, "test_mae", e->val_mae);
		sw_jw_knum(&w, "test_r2", e->val_r2);
	}
	sw_jw_obj_end(&w);
}

/* The test part is loaded in the place of the validation part. */
static sw_status data_take(struct judged *j, const struct sw_job *job, unsigned cores,
			   struct sw_err *err)
{
	const cJSON *split = sw_json_get(sw_json_get(job->trainer, "dataset"), "split");
	sw_status rc;

	if (sw_json_number(split, "test", 0) <= 0)
		return sw_err_at(
			err, SW_INVALID, "/trainer/dataset",
			"the data set keeps no test part: \"split\": {\"test\": 0.1} keeps a "
			"tenth of its rows");
	j->runner.cores = cores;
	j->ready.test = true;
	rc = sw_runner_open(&j->runner, "cpu", err);
	if (rc == SW_OK)
		rc = sw_prepare(&j->ready, &j->runner, job, err);
	if (rc == SW_OK && (j->ready.data->features != j->p.data.features ||
			    j->ready.data->classes != j->p.data.classes || !j->ready.data->val.x))
		rc = sw_err_set(err, SW_INVALID, "the model is not of that data set");
	return rc;
}

sw_status sw_test_run(const struct sw_job *job, const char *model, unsigned cores,
		      struct sw_buf *out, struct sw_err *err)
{
	struct judged *j = sw_calloc(1, sizeof *j);
	sw_status rc;

	if (!j)
		return sw_err_set(err, SW_NOMEM, "no memory");
	rc = sw_predictor_open(&j->p, model, cores, err);
	if (rc == SW_OK)
		rc = data_take(j, job, cores, err);
	if (rc == SW_OK && j->p.classes && j->p.outputs == 2) {
		j->scores = sw_calloc(j->ready.data->val.rows, sizeof *j->scores);
		rc = j->scores ? SW_OK : sw_err_set(err, SW_NOMEM, "no memory");
	}
	if (rc == SW_OK)
		rc = rows_judge(j, err);
	if (rc == SW_OK)
		judged_write(j, out);
	free(j->scores);
	sw_prepared_release(&j->ready, &j->runner);
	sw_runner_close(&j->runner, NULL);
	sw_predictor_close(&j->p);
	free(j);
	return rc;
}
