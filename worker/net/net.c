#include "worker/net/net.h"
#include "base/memory.h"
#include "worker/net/net_internal.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sw_task sw_net_task(const struct sw_data *data, bool classes)
{
	return (struct sw_task){.input = data->input,
				.vocab = data->vocab,
				.outputs = classes ? data->classes : 1,
				.labels = data->labels,
				.classes = classes,
				.gathered = data->input.kind == SW_SHAPE_IMAGE};
}

/* What the layout needs to know of the run. */
static struct sw_trainer trainer_of(const struct sw_net *net, const struct sw_data *data)
{
	struct sw_trainer t = *net->trainer;

	t.stage_row = data->streamed ? sw_data_row_bytes(data) : 0;
	return t;
}

/* One net at a time asks what is free and takes of it: else several would take the same bytes, and
 * with them what the device keeps for itself. */
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

/* What a library that makes products takes of the device, it takes before anything is shared out. */
static sw_status library_take(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	const struct sw_trainer t = trainer_of(net, data);
	sw_status rc = sw_layout_fit(&net->at, net->own, &t, data->train.rows, data->val.rows,
				     net->ops, SIZE_MAX / 2, &net->oom_events, err);

	if (rc != SW_OK || net->at.product_bytes == 0)
		return rc;
	rc = net->ops->products_open(net->q, err);
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, rc, "no products by a library on %s: %s",
					net->ops->name, sw_status_str(rc));
}

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

/* The layout, and its pieces: of a smaller micro-batch when there are not enough bytes. */
static sw_status arena_alloc(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	const struct sw_ops *ops = net->ops;
	const struct sw_trainer t = trainer_of(net, data);
	size_t most = net->trainer->memory ? less(net->trainer->memory, net->at.library)
					   : SIZE_MAX / 2;
	size_t free_bytes, total;
	void *piece = NULL;
	sw_status rc;

	/* the kernel lends memory that it does not have: ask before, not after */
	if (ops->memory(&free_bytes, &total) == SW_OK && free_bytes < most)
		most = free_bytes;
	do {
		rc = sw_layout_fit(&net->at, net->own, &t, data->train.rows, data->val.rows, ops,
				   most, &net->oom_events, err);
		if (rc != SW_OK)
			return rc;
		if (!net->arena) {
			rc = ops->alloc(&piece, net->at.kept);
			net->arena = piece;
		}
		if (rc == SW_OK) {
			rc = ops->alloc(&piece, net->at.bytes - net->at.kept);
			net->parts = piece;
		}
		most = net->at.bytes - 1;
	} while (rc == SW_NOMEM && net->at.micro > 1);
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, rc, "no arena of %zu bytes: %s", net->at.bytes,
					sw_status_str(rc));
}

/* The gaps between gradients are zero for good, for sums go over them. */
static sw_status part_zero(const struct sw_net *net)
{
	if (net->at.micro == net->at.share)
		return SW_OK;
	return net->ops->zero(net->q, net->parts + net->at.part,
			      net->own->weights_n * sizeof(float));
}

/* What a step must not lose lies in the first piece, which stays where it is. */
sw_status sw_net_shrink(struct sw_net *net, const struct sw_data *data)
{
	struct sw_trainer part = trainer_of(net, data);
	const size_t kept = net->at.kept;
	void *piece = NULL;
	unsigned more;
	sw_status rc;

	/* where the parts of ranks are summed in mid-pass, each rank has one */
	if (net->at.micro == 1 || net->trainer->sync_batchnorm)
		return SW_NOMEM;
	sw_net_forget(net); /* then nothing uses the piece */
	pthread_mutex_lock(&taking);
	net->ops->free(net->parts);
	do {
		const size_t most = net->at.bytes;

		part.micro_batch = (net->at.micro + 1) / 2;
		rc = sw_layout_fit(&net->at, net->own, &part, data->train.rows, data->val.rows,
				   net->ops, most, &more, NULL);
		net->oom_events += 1 + more;
		assert(net->at.kept == kept);
		if (rc == SW_OK)
			rc = net->ops->alloc(&piece, net->at.bytes - kept);
	} while (rc == SW_NOMEM && net->at.micro > 1);
	net->parts = piece;
	pthread_mutex_unlock(&taking);
	if (rc == SW_OK)
		rc = part_zero(net);
	return rc == SW_OK ? sw_net_precision(net) : rc;
}

static sw_status arena_take(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	const struct sw_ops *ops = net->ops;
	sw_status rc;

	pthread_mutex_lock(&taking);
	rc = library_take(net, data, err);
	if (rc == SW_OK)
		rc = arena_alloc(net, data, err);
	pthread_mutex_unlock(&taking);
	if (rc != SW_OK)
		return rc;
	/* gradients and state begin at zero, and the gaps between tensors stay so */
	rc = ops->zero(net->q, net->arena, net->at.metrics);
	if (rc == SW_OK)
		rc = part_zero(net);
	if (rc == SW_OK)
		rc = sw_net_weights_init(net);
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, rc, "no arena of %zu bytes: %s", net->at.bytes,
					sw_status_str(rc));
}

static sw_status host_take(struct sw_net *net, const struct sw_data *data, struct sw_err *err)
{
	sw_status rc;

	net->order_cap = data->train.rows;
	rc = sw_net_feed_create(net, data);
	return rc == SW_OK ? SW_OK
			   : sw_err_set(err, rc, "no memory for the rows of batches: %s",
					sw_status_str(rc));
}

static sw_status precision_take(const struct sw_net *net, struct sw_err *err)
{
	const sw_status rc = sw_net_precision(net);

	if (rc == SW_OK)
		return SW_OK;
	return sw_err_at(err, rc, "/trainer/precision", "precision \"%s\" is not %s on %s",
			 sw_trainer_precision_name(net->trainer->precision),
			 rc == SW_UNSUPPORTED ? "supported" : "to be had", net->ops->name);
}

sw_status sw_net_create(struct sw_net *net, const struct sw_ops *ops, struct sw_queue *q,
			const struct sw_model *model, const struct sw_trainer *trainer,
			const struct sw_data *data, struct sw_comm *comm, uint64_t seed,
			struct sw_err *err)
{
	sw_status rc;

	memset(net, 0, sizeof *net);
	net->ops = ops;
	net->q = q;
	net->model = net->own = model;
	net->trainer = trainer;
	net->comm = comm;
	net->seed = seed;
	net->best_loss = (double)INFINITY;
	rc = sw_net_stages_take(net, err);
	if (rc == SW_OK)
		rc = arena_take(net, data, err);
	if (rc == SW_OK)
		rc = sw_net_stages_agree(net, data);
	if (rc == SW_OK)
		rc = precision_take(net, err);
	if (rc == SW_OK)
		rc = host_take(net, data, err);
	if (rc != SW_OK) {
		sw_net_destroy(net);
		return rc;
	}
	net->steps_per_epoch = (data->train.rows + net->at.batch - 1) / net->at.batch;
	return SW_OK;
}

void sw_net_destroy(struct sw_net *net)
{
	if (net->arena) {
		sw_net_forget(net); /* waits for what is under way */
		sw_net_feed_destroy(net);
		(void)net->ops->precision(net->q, SW_FP32, NULL, 0);
		net->ops->free(net->parts);
		net->ops->free(net->arena);
	}
	free(net->best.weights);
	free(net->stages.own);
	net->best = (struct sw_net_best){0};
	net->stages.own = NULL;
	net->arena = net->parts = NULL;
}

sw_status sw_net_best_take(struct sw_net *net, uint64_t epoch, double value)
{
	const size_t n = net->model->weights_n;
	float *to = net->best.weights;
	sw_status rc;

	net->best.epoch = 0;
	if (!to)
		to = net->best.weights = sw_calloc(n + net->model->running_n, sizeof *to);
	if (!to)
		return SW_NOMEM;
	rc = sw_net_set_download(net, 0, to);
	if (rc == SW_OK && net->model->running_n)
		rc = sw_net_running_download(net, to + n);
	if (rc != SW_OK)
		return rc;
	net->best.epoch = epoch;
	net->best.step = net->step;
	net->best.value = value;
	return SW_OK;
}

sw_status sw_net_order(struct sw_net *net, const int32_t *order, size_t rows)
{
	if (rows > net->order_cap)
		return SW_INVALID;
	net->order_n = rows;
	net->agreed = false; /* an evaluation may have forgotten graphs */
	sw_net_feed_order(net, order, rows);
	return net->ops->upload(net->q, net->arena + net->at.order, order, rows * sizeof *order);
}

/* --- metrics --- */

static size_t counts_bytes(const struct sw_net *net)
{
	return net->trainer->classes ? net->own->task.outputs * 3 * sizeof(int64_t) : 0;
}

sw_status sw_net_metrics_zero(struct sw_net *net)
{
	const sw_status rc = net->ops->zero(net->q, sw_net_sums(net), sizeof(struct sw_metrics));

	if (rc != SW_OK || counts_bytes(net) == 0)
		return rc;
	return net->ops->zero(net->q, net->arena + net->at.classes, counts_bytes(net));
}

sw_status sw_net_metrics(struct sw_net *net, struct sw_metrics *out)
{
	const sw_status rc = net->ops->download(net->q, out, sw_net_sums(net), sizeof *out);

	if (rc != SW_OK || !net->comm)
		return rc;
	return sw_comm_sum(net->comm, SW_COMM_F64, out, sizeof *out / sizeof(double),
			   sw_comm_world(net->comm));
}

/* counts: int64[n], and one more place behind them. A rank without rows does not know whether there
 * are counts. */
static sw_status counts_sum(struct sw_net *net, int64_t *counts, size_t n)
{
	sw_status rc;

	counts[n] = net->no_counts;
	rc = sw_comm_sum(net->comm, SW_COMM_I64, counts, n + 1, sw_comm_world(net->comm));
	net->no_counts = counts[n] != 0;
	return rc;
}

sw_status sw_net_macro_f1(struct sw_net *net, double *out)
{
	const size_t C = net->own->task.outputs;
	int64_t *counts;
	double sum = 0;
	size_t seen = 0;
	sw_status rc;

	*out = (double)NAN;
	if ((net->no_counts && !net->comm) || counts_bytes(net) == 0)
		return SW_OK;
	counts = sw_malloc(counts_bytes(net) + sizeof *counts);
	if (!counts)
		return SW_NOMEM;
	rc = net->ops->download(net->q, counts, net->arena + net->at.classes, counts_bytes(net));
	if (rc == SW_OK && net->comm)
		rc = counts_sum(net, counts, 3 * C);
	for (size_t c = 0; rc == SW_OK && !net->no_counts && c < C; c++) {
		const double tp = (double)counts[c];
		const double wrong = (double)counts[C + c] + (double)counts[2 * C + c];

		seen += tp + wrong > 0;
		sum += tp + wrong > 0 ? 2 * tp / (2 * tp + wrong) : 0;
	}
	free(counts);
	if (rc == SW_OK && seen)
		*out = sum / (double)seen;
	return rc;
}
