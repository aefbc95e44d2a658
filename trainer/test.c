#include "trainer/test.h"
#include "base/memory.h"
#include "proto/json.h"
#include "trainer/auc.h"
#include "trainer/predictor.h"
#include "trainer/prepare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judged {
	struct sw_predictor p;
	struct sw_runner runner;
	struct sw_prepared ready;
	struct sw_auc_row *scores; /* [rows] */
	size_t *counts;            /* [3][classes]: right, taken for it in error, missed */
	double loss, right, absolute, square, sum, squares;
};

/* A row of a class: z: float[outputs]. */
static void class_add(struct judged *j, const float *z, int32_t label, size_t at)
{
	const size_t n = j->p.outputs, want = (size_t)label;
	double sum = 0;
	size_t best = 0;

	for (size_t c = 1; c < n; c++)
		best = z[c] > z[best] ? c : best;
	for (size_t c = 0; c < n; c++)
		sum += exp((double)z[c] - (double)z[best]);
	j->loss += log(sum) + (double)z[best] - (double)z[want];
	j->right += best == want;
	j->counts[want + (best == want ? 0 : 2 * n)]++;
	if (best != want)
		j->counts[n + best]++;
	j->scores[at] =
		(struct sw_auc_row){.score = n == 2 ? z[1] - z[0] : 0, .positive = label == 1};
}

static void value_add(struct judged *j, float z, float target)
{
	const double t = (double)target * j->p.unit, d = (double)z * j->p.unit - t;

	j->absolute += fabs(d);
	j->square += d * d;
	j->sum += t;
	j->squares += t * t;
}

static sw_status rows_judge(struct judged *j, struct sw_err *err)
{
	const struct sw_data_part *part = &j->ready.data->val;
	const size_t most = j->p.data.val.rows, features = j->ready.data->features;
	sw_status rc = SW_OK;

	for (size_t at = 0; rc == SW_OK && at < part->rows; at += most) {
		const size_t n = part->rows - at < most ? part->rows - at : most;

		memcpy(j->p.x, part->x + at * features, n * features * sizeof(float));
		rc = sw_predictor_run(&j->p, n, err);
		for (size_t i = 0; rc == SW_OK && i < n; i++) {
			if (j->p.classes)
				class_add(j, j->p.z + i * j->p.outputs, part->label[at + i],
					  at + i);
			else
				value_add(j, j->p.z[i], part->target[at + i]);
		}
	}
	return rc;
}

/* As kernels/ops_list.h counts it: classes that no row has and none was taken for are left out. */
static double macro_f1(const struct judged *j)
{
	const size_t n = j->p.outputs;
	double sum = 0, seen = 0;

	for (size_t c = 0; c < n; c++) {
		const size_t right = j->counts[c], wrong = j->counts[n + c] + j->counts[2 * n + c];

		seen += right + wrong > 0;
		sum += right + wrong ? 2 * (double)right / (double)(2 * right + wrong) : 0;
	}
	return seen > 0 ? sum / seen : 0;
}

static void judged_write(struct judged *j, struct sw_buf *out)
{
	const double rows = (double)j->ready.data->val.rows;
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_jw_kint(&w, "rows", (int64_t)rows);
	if (j->p.classes) {
		const double auc = sw_auc(j->scores, (size_t)rows);

		sw_jw_knum(&w, "test_loss", j->loss / rows);
		sw_jw_knum(&w, "test_accuracy", j->right / rows);
		sw_jw_knum(&w, "test_macro_f1", macro_f1(j));
		if (j->p.outputs == 2 && !isnan(auc))
			sw_jw_knum(&w, "test_auc", auc);
	} else {
		const double spread = j->squares - j->sum * j->sum / rows;

		sw_jw_knum(&w, "test_loss", j->square / rows);
		sw_jw_knum(&w, "test_rmse", sqrt(j->square / rows));
		sw_jw_knum(&w, "test_mae", j->absolute / rows);
		sw_jw_knum(&w, "test_r2", spread > 0 ? 1 - j->square / spread : 0);
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
	if (rc == SW_OK) {
		j->scores = sw_calloc(j->ready.data->val.rows, sizeof *j->scores);
		j->counts = sw_calloc(3 * j->p.outputs, sizeof *j->counts);
		rc = j->scores && j->counts ? rows_judge(j, err)
					    : sw_err_set(err, SW_NOMEM, "no memory");
	}
	if (rc == SW_OK)
		judged_write(j, out);
	free(j->scores);
	free(j->counts);
	sw_prepared_release(&j->ready, &j->runner);
	sw_runner_close(&j->runner, NULL);
	sw_predictor_close(&j->p);
	free(j);
	return rc;
}
