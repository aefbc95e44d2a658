#include "worker/train.h"
#include "base/clock.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "worker/data/shuffle.h"
#include "worker/net/net.h"
#include <math.h>
#include <stdlib.h>

struct loop {
	struct sw_net net;
	const struct sw_data *data;
	const struct sw_train_hooks *hooks;
	int32_t *order; /* [data->train.rows] */
	bool dropped;
};

static sw_status train_epoch(struct loop *l, uint64_t epoch, struct sw_epoch *e)
{
	const size_t rows = l->data->train.rows;
	const int64_t began = sw_clock_mono_us();
	struct sw_metrics m;
	sw_status rc;

	l->net.epoch = epoch;
	sw_shuffle(l->order, rows, l->net.seed, SW_PHILOX_SHUFFLE, epoch);
	rc = sw_net_order(&l->net, l->order, rows);
	if (rc == SW_OK)
		rc = sw_net_metrics_zero(&l->net);
	for (size_t at = 0; rc == SW_OK && at < rows;) {
		if (!l->hooks->go_on(l->hooks->ctx)) {
			l->dropped = true;
			return SW_OK;
		}
		rc = sw_net_train(&l->net, l->data, at, &at);
	}
	if (rc == SW_OK)
		rc = sw_net_metrics(&l->net, &m);
	if (rc != SW_OK)
		return rc;
	const int64_t us = sw_clock_mono_us() - began;

	e->train_loss = m.loss_sum / m.rows;
	e->samples_per_s = (double)rows * 1e6 / (double)(us > 0 ? us : 1);
	return SW_OK;
}

static sw_status eval_rows(struct loop *l)
{
	const size_t rows = l->data->val.rows, batch = l->net.at.eval_batch;
	sw_status rc = sw_net_metrics_zero(&l->net);

	for (size_t at = 0; rc == SW_OK && at < rows; at += batch) {
		if (!l->hooks->go_on(l->hooks->ctx)) {
			l->dropped = true;
			return SW_OK;
		}
		rc = sw_net_eval(&l->net, l->data, at, rows - at < batch ? rows - at : batch);
	}
	return rc;
}

static sw_status eval_epoch(struct loop *l, struct sw_epoch *e)
{
	struct sw_metrics m;
	sw_status rc = eval_rows(l);

	/* from the first row, so that each counts once */
	while (rc == SW_NOMEM) {
		rc = sw_net_shrink(&l->net, l->data);
		if (rc != SW_OK) /* as of a step: what it says, not the want of memory before */
			return rc;
		rc = eval_rows(l);
	}
	if (rc == SW_OK && l->dropped)
		return SW_OK;
	if (rc == SW_OK)
		rc = sw_net_metrics(&l->net, &m);
	if (rc != SW_OK)
		return rc;
	e->val_loss = m.loss_sum / m.rows;
	e->val_accuracy = m.correct / m.rows;
	e->val_top5 = m.top5 / m.rows;
	if (!e->classes) {
		/* a constant target leaves nothing to explain */
		const double spread = m.t_square_sum - m.t_sum * m.t_sum / m.values;

		e->val_mae = m.abs_sum / m.values;
		e->val_r2 = spread > 0 ? 1 - m.square_sum / spread : 0;
	}
	return sw_net_macro_f1(&l->net, &e->val_macro_f1);
}

/* Counts the epochs without a lower loss. false: patience has run out. A loss that is NaN counts as
 * not lower. */
static bool patient(struct sw_net *net, double val_loss)
{
	net->stale = val_loss < net->best_loss ? 0 : net->stale + 1;
	net->best_loss = val_loss < net->best_loss ? val_loss : net->best_loss;
	return net->trainer->patience == 0 || net->stale < net->trainer->patience;
}

/* Runs the epochs after the one that it begins from. */
static sw_status epochs(struct loop *l, enum sw_train_end *end, struct sw_err *err)
{
	const struct sw_train_hooks *hooks = l->hooks;
	const struct sw_trainer *trainer = l->net.trainer;
	uint64_t done = 0;
	sw_status rc = hooks->begin ? hooks->begin(hooks->ctx, &l->net, &done, err) : SW_OK;

	for (uint64_t epoch = done + 1; rc == SW_OK && epoch <= trainer->epochs; epoch++) {
		struct sw_epoch e = {.epoch = epoch, .classes = trainer->classes, .net = &l->net};

		rc = train_epoch(l, epoch, &e);
		if (rc == SW_OK && !l->dropped)
			rc = eval_epoch(l, &e);
		if (rc != SW_OK)
			break;
		/* before the report: a checkpoint that is written there knows of this epoch */
		const bool on = l->dropped || patient(&l->net, e.val_loss);

		e.last = !on || epoch == trainer->epochs;
		if (l->dropped || !hooks->report(hooks->ctx, &e)) {
			*end = SW_TRAIN_DROPPED;
			break;
		}
		if (!isfinite(e.train_loss) || !isfinite(e.val_loss)) {
			*end = SW_TRAIN_DIVERGED;
			break;
		}
		if (!on) {
			*end = epoch < trainer->epochs ? SW_TRAIN_STALE : SW_TRAIN_DONE;
			break;
		}
	}
	return rc;
}

sw_status sw_train_run(const struct sw_ops *ops, struct sw_queue *q, const struct sw_model *model,
		       const struct sw_data *data, const struct sw_trainer *trainer, uint64_t seed,
		       const struct sw_train_hooks *hooks, enum sw_train_end *end,
		       struct sw_err *err)
{
	struct loop l = {.data = data, .hooks = hooks};
	sw_status rc = sw_net_create(&l.net, ops, q, model, trainer, data, seed, err);

	*end = SW_TRAIN_DONE;
	if (rc != SW_OK)
		return rc;
	l.order = sw_malloc(data->train.rows * sizeof *l.order);
	if (!l.order)
		rc = SW_NOMEM;
	else
		rc = epochs(&l, end, err);
	free(l.order);
	sw_net_destroy(&l.net);
	if (rc == SW_UNSUPPORTED && l.net.lacks)
		return sw_err_set(err, rc, "%s is not supported on %s", l.net.lacks, ops->name);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "training failed on %s: %s", ops->name,
				  sw_status_str(rc));
	return SW_OK;
}
