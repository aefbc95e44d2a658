/*
 * bench/lib/train_job.h — what a trial of the worker does, without a worker: a data set, loaded,
 * and the steps of trainer/net/net.h on it, for bench/train and bench/lanes.
 *
 * lenet-cifar  the preset (l1 120, l2 84) on the synthetic images of CIFAR's shape
 * mlp          64-64-32-10
 * resnet18     the preset for 32 x 32, on the same images
 * resnet50     the preset, on 3 x 224 x 224 of 1000 classes
 * transformer  the preset in the sizes of BERT-mini (4 layers, 256 wide, 4 heads, 1024 hidden) on
 *              rows of 128 tokens, without dropout
 * All: SGD with momentum 0.9, cross entropy, rows in an order of each epoch's own.
 */
#ifndef SW_BENCH_LIB_TRAIN_JOB_H
#define SW_BENCH_LIB_TRAIN_JOB_H

#include "trainer/net/net.h"

struct train_job {
	struct sw_model model;
	struct sw_trainer trainer;
	struct sw_data data;
	struct sw_net net;
	struct sw_ops ops;
	bool borrowed; /* the data are another job's */
	struct sw_queue *q;
	int32_t *order;
	uint64_t epoch;
	size_t at;    /* of the epoch's rows */
	double flops; /* of a row's step, in products */
};

/* On the table of a device; on the CPU for the threads that are set now. like: a job of the same
 * net on that table whose data are shared, or NULL; it must live as long. err: why not. */
SW_NODISCARD sw_status train_job_make(struct train_job *job, const struct sw_ops *ops,
				      enum sw_precision precision, const struct train_job *like,
				      const char *net, size_t batch, struct sw_err *err);
void train_job_free(struct train_job *job);
/* One step of `batch` rows, or as many as net.h gives in one go: net.step counts them. */
SW_NODISCARD sw_status train_job_step(struct train_job *job);

#endif
