/*
 * trainer/train.h — the loop over epochs and batches. It knows no daemon: what happens between
 * batches and after epochs is asked of hooks.
 *
 * Determinism  The curve is a function of (model, data, trainer, seed) alone: hooks and timing
 *              change when it ends, never what it is. So is a curve with an interruption: begun
 *              again from the state after any epoch (trainer/file/checkpoint.h), the rest has the
 *              same bits.
 * Ranks        With hooks->comm the loop runs on each of its ranks, trainer->ranks times
 *              trainer->stages, over the same model, data, trainer and seed. Rank 0's hooks decide:
 *              whether the next batch is trained on, what state all begin from, whether they go on
 *              after an epoch. Losses are those of all ranks, on each, so that they end alike. The
 *              curve is that of one rank whose micro_batch is a rank's share of a batch: the
 *              weights to the bit where net.h says so, losses but for the order of their sums.
 */
#ifndef SW_TRAINER_TRAIN_H
#define SW_TRAINER_TRAIN_H

#include "trainer/data/data.h"
#include "trainer/model/model.h"
#include "trainer/model/trainer.h"
#include "trainer/net/net.h"

struct sw_epoch {
	uint64_t epoch; /* from 1 */
	bool classes;   /* is there an accuracy? */
	double train_loss, val_loss;
	double val_accuracy, val_top5; /* of classes */
	double val_macro_f1;           /* NaN: the backend does not count classes */
	double val_auc;                /* of two classes, and one rank; else NaN */
	double val_mae, val_r2;        /* of numbers */
	double samples_per_s;          /* training alone, of all ranks */
	double bubble;      /* of a pipeline: the part of it that its ranks waited; else NaN */
	bool last;          /* no other one follows: all are done, or patience is at its end */
	struct sw_net *net; /* as the epoch left it; the loop's, valid during the call */
};

/* Sums over validation rows, as the metrics that they come to. */
void sw_epoch_judge(struct sw_epoch *e, const struct sw_metrics *m, const struct sw_data *data);

enum sw_train_end {
	SW_TRAIN_DONE,     /* all epochs */
	SW_TRAIN_STALE,    /* fewer: patience is at its end */
	SW_TRAIN_DROPPED,  /* a hook said so */
	SW_TRAIN_DIVERGED, /* a loss that is no finite number was reported */
};

/* Only rank 0's hooks are called. */
struct sw_train_hooks {
	void *ctx;
	/* The ranks that train this together; NULL: one alone. Borrowed. */
	struct sw_comm *comm;
	/* Once, before the first epoch; NULL: from scratch. May put a state into the net, and says
	 * in *epoch (0) how many epochs that has. */
	sw_status (*begin)(void *ctx, struct sw_net *net, uint64_t *epoch, struct sw_err *err);
	/* Before each batch, of validation too; NULL: always. False: drop. */
	bool (*go_on)(void *ctx);
	/* Before that, if it is not NULL: how many rows of the epoch are done, and of how many, its
	 * validation rows among them. Other ranks count as if they were as fast. */
	void (*progress)(void *ctx, size_t done, size_t total);
	bool (*report)(void *ctx, const struct sw_epoch *e); /* after each epoch; false: drop */
};

/* SW_BUSY: the machine cannot do it now, which is no fault of the trial.
 * An error that ends one rank ends all: comm is told of it, and err of the others has its line
 * (sw_comm_why). Then sw_comm_devices_end says whether the process can do more. */
SW_NODISCARD sw_status sw_train_run(const struct sw_ops *ops, struct sw_queue *q,
				    const struct sw_model *model, const struct sw_data *data,
				    const struct sw_trainer *trainer, uint64_t seed,
				    const struct sw_train_hooks *hooks, enum sw_train_end *end,
				    struct sw_err *err);

#endif
