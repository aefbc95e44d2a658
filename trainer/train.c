#include "trainer/train.h"
#include "base/clock.h"
#include "base/memory.h"
#include "kernels/philox.h"
#include "trainer/auc.h"
#include "trainer/data/shuffle.h"
#include "trainer/net/net.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loop {
	struct sw_net net;
	struct sw_trainer trainer; /* with this rank's stage */
	const struct sw_data *data;
	const struct sw_train_hooks *hooks;
	int32_t *order;            /* [data->train.rows] */
	int32_t *room;             /* [data->train.rows], of balanced classes; else NULL */
	size_t *places;            /* [2 * classes + 1], with that */
	struct sw_auc_row *scores; /* [data->val.rows], of two classes; else NULL */
	bool dropped;
};

/* The hooks are this rank's to ask. */
static bool leads(const struct loop *l)
{
	return !l->net.ranks.comm || sw_comm_rank(l->net.ranks.comm) == 0;
}

/* Rank 0's word, to all: on all of them the trial is dropped, or on none. */
static sw_status go_on(struct loop *l, bool on)
{
	const sw_status rc = sw_net_go(&l->net, &on);

	l->dropped = !on;
	return rc;
}

/* Asks the hooks before a batch: false: the trial is to be dropped. */
static bool ask_hooks(const struct loop *l, size_t done)
{
	const struct sw_train_hooks *h = l->hooks;

	if (h->progress)
		h->progress(h->ctx, done, l->data->train.rows + l->data->val.rows);
	return !h->go_on || h->go_on(h->ctx);
}

/* A loss in the unit of the targets as the file has them, squared, over the net's. */
static double squared_unit(const struct sw_data *d)
{
	return d->target_unit != 0 ? d->target_unit * d->target_unit : 1;
}

void sw_epoch_judge(struct sw_epoch *e, const struct sw_metrics *m, const struct sw_data *d)
{
	e->val_loss = m->loss_sum / m->rows * squared_unit(d);
	e->val_accuracy = m->correct / m->rows;
	e->val_top5 = m->top5 / m->rows;
	if (!e->classes) {
		/* a constant target leaves nothing to explain */
		const double spread = m->t_square_sum - m->t_sum * m->t_sum / m->values;

		e->val_mae = m->abs_sum / m->values * sqrt(squared_unit(d));
		e->val_r2 = spread > 0 ? 1 - m->square_sum / spread : 0;
	}
}

/* The epoch's order has a row of each class in turn. Those of a class come in the order of the
 * shuffle, and again from the first where they are fewer; of others some wait for a later epoch. */
static void balance(struct loop *l)
{
	const size_t rows = l->data->train.rows, classes = l->data->classes;
	size_t *from = l->places, *at = from + classes + 1;

	assert(classes > 0);
	memset(from, 0, (classes + 1) * sizeof *from);
	for (size_t i = 0; i < rows; i++)
		from[l->data->train_class[i] + 1]++;
	for (size_t c = 0; c < classes; c++) {
		from[c + 1] += from[c];
		at[c] = from[c];
	}
	for (size_t i = 0; i < rows; i++)
		l->room[at[l->data->train_class[l->order[i]]]++] = l->order[i];
	for (size_t i = 0, turn = 0; i < rows; turn++) {
		const size_t c = turn % classes, n = from[c + 1] - from[c];

		if (n > 0) /* a class may have no row to train on */
			l->order[i++] = l->room[from[c] + turn / classes % n];
	}
}

/* Trains on all batches of an epoch, in its own order of rows. */
static sw_status train_epoch(struct loop *l, uint64_t epoch, struct sw_epoch *e)
{
	const size_t rows = l->data->train.rows;
	const int64_t began = sw_clock_mono_us();
	struct sw_metrics m;
	sw_status rc;

	l->net.epoch = epoch;
	sw_shuffle(l->order, rows, l->net.seed, SW_PHILOX_SHUFFLE, epoch);
	if (l->room)
		balance(l);
	rc = sw_net_order(&l->net, l->order, rows);
	if (rc == SW_OK)
		rc = sw_net_metrics_zero(&l->net);
	for (size_t at = 0; rc == SW_OK && at < rows;) {
		/* Before each batch, on all ranks: one that stopped alone would leave the others in
		 * a sum. */
		rc = go_on(l, !leads(l) || ask_hooks(l, at));
		if (rc == SW_OK && l->dropped)
			return SW_OK; /* an epoch that is not whole has no metrics */
		if (rc == SW_OK)
			rc = sw_net_train(&l->net, l->data, at, &at);
	}
	if (rc == SW_OK)
		rc = sw_net_metrics(&l->net, &m);
	if (rc != SW_OK)
		return rc;
	const int64_t us = sw_clock_mono_us() - began;

	/* 0 / 0 where no row had a label that counts: NaN, which ends the trial as diverged. */
	e->train_loss = m.loss_sum / m.rows * squared_unit(l->data);
	e->samples_per_s = (double)rows * 1e6 / (double)(us > 0 ? us : 1);
	return sw_net_bubble(&l->net, us, &e->bubble);
}

/* This rank's share of the validation rows. Ranks may take it in different batches, but for those
 * of a pipeline: rank 0 asks its hook before each, but its word comes behind them all. */
static sw_status eval_rows(struct loop *l)
{
	size_t batch = 0, first, end;
	sw_status rc = sw_net_metrics_zero(&l->net);

	sw_net_eval_share(&l->net, l->data, &first, &end);
	if (rc == SW_OK)
		rc = sw_net_eval_rows(&l->net, &batch);
	for (size_t at = first; rc == SW_OK && at < end; at += batch) {
		if (leads(l) && !l->dropped)
			l->dropped = !ask_hooks(l, l->data->train.rows + l->data->val.rows *
										 (at - first) /
										 (end - first));
		if (l->dropped &&
		    l->net.ranks.stages == 1) /* else the others wait for its values */
			return SW_OK;
		const size_t n = end - at < batch ? end - at : batch;

		rc = sw_net_eval(&l->net, l->data, at, n);
		if (rc == SW_OK && l->scores)
			rc = sw_auc_take(&l->net, l->data, at, n, l->scores + at);
	}
	return rc;
}

/* Evaluates the validation rows; with too little memory in smaller batches. */
static sw_status eval_epoch(struct loop *l, struct sw_epoch *e)
{
	struct sw_metrics m;
	sw_status rc = sw_net_running_share(&l->net);

	if (rc != SW_OK)
		return rc;
	rc = eval_rows(l);
	/* from the first row, so that each counts once; not where other stages have gone on */
	while (rc == SW_NOMEM && l->net.ranks.stages == 1) {
		/* A smaller batch changes nothing but the memory: the sums are over the same
		 * rows. */
		rc = sw_net_shrink(&l->net, l->data);
		if (rc != SW_OK) /* a step's own failure counts, not the want of memory before */
			return rc;
		rc = eval_rows(l);
	}
	/* rank 0's word, so that all drop the trial at the same place or none does */
	if (rc == SW_OK)
		rc = go_on(l, !l->dropped);
	if (rc == SW_OK && l->dropped)
		return SW_OK;
	if (rc == SW_OK)
		rc = sw_net_metrics(&l->net, &m);
	if (rc != SW_OK)
		return rc;
	sw_epoch_judge(e, &m, l->data);
	if (l->scores)
		e->val_auc = sw_auc(l->scores, l->data->val.rows);
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
	sw_status rc = hooks->begin && leads(l) ? hooks->begin(hooks->ctx, &l->net, &done, err)
						: SW_OK;

	if (rc == SW_OK)
		/* Also without a checkpoint: the others have to hear that they begin from the first
		 * epoch. */
		rc = sw_net_state_share(&l->net, &done);
	for (uint64_t epoch = done + 1; rc == SW_OK && epoch <= trainer->epochs; epoch++) {
		struct sw_epoch e = {.epoch = epoch,
				     .classes = trainer->classes,
				     .val_auc = (double)NAN,
				     .net = &l->net};

		rc = train_epoch(l, epoch, &e);
		if (rc == SW_OK && !l->dropped)
			rc = eval_epoch(l, &e);
		if (rc != SW_OK)
			break;
		/* before the report: a checkpoint that is written there knows of this epoch */
		const bool on = l->dropped || patient(&l->net, e.val_loss);

		e.last = !on || epoch == trainer->epochs;
		if (!l->dropped)
			rc = go_on(l, !leads(l) || hooks->report(hooks->ctx, &e));
		if (rc != SW_OK)
			break;
		if (l->dropped) {
			*end = SW_TRAIN_DROPPED;
			break;
		}
		/* after the report: the daemon keeps the curve up to the epoch that diverged */
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

/* Refuses a trainer for another number of ranks, and sums that cannot reach the device. */
static sw_status ranks_check(const struct sw_ops *ops, const struct sw_trainer *trainer,
			     const struct sw_comm *comm, struct sw_err *err)
{
	const uint64_t ranks = trainer->ranks ? trainer->ranks : 1;
	const uint64_t stages = trainer->stages ? trainer->stages : 1;

	if (ranks * stages != (comm ? sw_comm_world(comm) : 1))
		return sw_err_set(err, SW_INVALID, "the trainer is not for as many ranks");
	if (comm && sw_comm_on_devices(comm) != (strcmp(ops->name, "cpu") != 0))
		return sw_err_set(err, SW_UNSUPPORTED,
				  "several ranks on %s are not supported with such sums",
				  ops->name);
	return SW_OK;
}

/* Before anybody asks how much memory is left: sums of devices take some. */
static sw_status ranks_begin(const struct sw_ops *ops, struct sw_queue *q, struct sw_comm *comm,
			     struct sw_trainer *t, struct sw_err *err)
{
	sw_status rc = SW_OK;

	if (comm && t->stages > 1) {
		t->stage = sw_comm_rank(comm) % t->stages;
		sw_comm_groups(comm, (unsigned)t->stages);
	}
	if (comm)
		rc = sw_comm_devices(comm, err);
	if (rc == SW_OK && comm && sw_comm_on_devices(comm))
		rc = sw_net_prove_sums(ops, q, comm, t->stages > 1 ? (unsigned)t->stages : 1);
	if (rc == SW_OK && comm) /* a sum whose rank is gone would be waited for without end */
		ops->watch(q, sw_comm_look, comm);
	return rc;
}

/* Room for the order of an epoch, and for what is made of rows beside the net. */
static sw_status rows_take(struct loop *l)
{
	const struct sw_data *d = l->data;
	const bool balanced = l->trainer.balanced && d->train_class;
	const bool two = d->classes == 2 && d->val_class && !l->hooks->comm &&
			 l->net.own->task.outputs == 2;

	l->order = sw_malloc(d->train.rows * sizeof *l->order);
	l->room = balanced ? sw_malloc(d->train.rows * sizeof *l->room) : NULL;
	l->places = balanced ? sw_malloc((2 * d->classes + 1) * sizeof *l->places) : NULL;
	l->scores = two ? sw_malloc(d->val.rows * sizeof *l->scores) : NULL;
	return l->order && (!balanced || (l->room && l->places)) && (!two || l->scores) ? SW_OK
											: SW_NOMEM;
}

sw_status sw_train_run(const struct sw_ops *ops, struct sw_queue *q, const struct sw_model *model,
		       const struct sw_data *data, const struct sw_trainer *trainer, uint64_t seed,
		       const struct sw_train_hooks *hooks, enum sw_train_end *end,
		       struct sw_err *err)
{
	struct loop l = {.data = data, .hooks = hooks, .trainer = *trainer};
	struct sw_err why = SW_ERR_INIT;
	sw_status rc = ranks_check(ops, trainer, hooks->comm, &why);

	*end = SW_TRAIN_DONE;
	if (rc == SW_OK)
		rc = ranks_begin(ops, q, hooks->comm, &l.trainer, &why);
	if (rc == SW_OK)
		rc = sw_net_create(&l.net, ops, q, model, &l.trainer, data, hooks->comm, seed,
				   &why);
	if (rc == SW_OK) {
		rc = rows_take(&l);
		if (rc == SW_OK)
			rc = epochs(&l, end, &why);
		free(l.order);
		free(l.room);
		free(l.places);
		free(l.scores);
	}
	if (rc != SW_OK && hooks->comm && *sw_comm_why(hooks->comm)) {
		why = (struct sw_err)SW_ERR_INIT; /* a hook's error only follows from that */
		(void)sw_err_set(&why, rc, "%s", sw_comm_why(hooks->comm));
	} else if (rc == SW_UNSUPPORTED && l.net.lacks)
		(void)sw_err_set(&why, rc, "%s is not supported on %s", l.net.lacks, ops->name);
	else if (rc != SW_OK)
		(void)sw_err_set(&why, rc, "training failed on %s: %s", ops->name,
				 sw_status_str(rc));
	/* so that the other ranks end with this error and do not wait for a sum */
	if (rc != SW_OK && hooks->comm)
		sw_comm_give_up(hooks->comm, rc, why.msg);
	ops->watch(q, NULL, NULL); /* sums of other ranks are done, or have been aborted */
	/* Before the comm's devices end: recordings hold calls of NCCL. */
	sw_net_destroy(&l.net);
	if (hooks->comm)
		sw_comm_devices_end(hooks->comm); /* no matter of the trial's */
	return rc == SW_OK ? SW_OK : sw_err_at(err, rc, why.ptr, "%s", why.msg);
}
