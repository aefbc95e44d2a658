#include "worker/run_log.h"
#include "base/text.h"
#include <inttypes.h>
#include <stdio.h>

static void log_ranks(struct sw_session *s, const struct sw_trainer *t)
{
	char share[64] = "batches go";

	if (t->stages == 1) {
		sw_session_log(s, "%" PRIu64 " ranks share each batch", t->ranks);
		return;
	}
	if (t->ranks > 1)
		snprintf(share, sizeof share, "%" PRIu64 " pipelines share each batch; it goes",
			 t->ranks);
	sw_session_log(s, "%s in %" PRIu64 " micro-batches through %" PRIu64 " stages", share,
		       t->microbatches, t->stages);
}

void sw_run_log_start(struct sw_session *s, const char *device, const struct sw_job *job,
		      const struct sw_prepared *ready)
{
	char parameters[32], train[32], val[32];

	sw_session_log(s,
		       "started on %s: %s, %s parameters, %s train / %s validation rows, batch "
		       "%" PRIu64 ", %s, lr %.4g",
		       device, ready->model.summary,
		       sw_text_count(ready->model.parameters, parameters),
		       sw_text_count(ready->data->train.rows, train),
		       sw_text_count(ready->data->val.rows, val), ready->trainer.batch_size,
		       sw_trainer_optimizer_name(ready->trainer.optimizer), ready->trainer.lr);
	if (ready->trainer.precision != SW_FP32)
		sw_session_log(s, "products in %s",
			       sw_trainer_precision_name(ready->trainer.precision));
	if (job->ranks > 1)
		log_ranks(s, &ready->trainer);
	if (ready->trainer.sync_batchnorm)
		sw_session_log(s, "batch norms take the rows of all ranks");
	if (ready->data->streamed)
		sw_session_log(s, "the data set stays in the host's memory: batches are "
				  "fetched while the one before is trained on");
}

/* Logs how a cap on memory, or the device, has split the batch. */
static void log_micro(struct sw_session *s, const struct sw_net *net)
{
	char bytes[32];
	size_t norms = 0;

	for (size_t i = 0; i < net->model->ops_n; i++)
		norms += net->model->op[i].kind == SW_OP_BATCHNORM;
	sw_session_log(
		s, "memory: batches of %zu rows in parts of %zu, %s bytes, after %u halvings",
		net->at.batch, net->at.micro, sw_text_count(net->at.bytes, bytes), net->oom_events);
	if (norms)
		sw_session_log(s,
			       "memory: %zu batch norms take the statistics of parts: the curve is "
			       "another one than with whole batches",
			       norms);
}

/* Says how devices add: three or more in an order that this fixes. */
static void log_sums(struct sw_session *s, const struct sw_comm *c)
{
	char text[200];

	if (!sw_comm_on_devices(c))
		return; /* on a host ranks add in the order of their numbers */
	sw_comm_describe(c, text, sizeof text);
	sw_session_log(s, "gradients are summed by %s", text);
}

/* Says which part of the work each stage of a pipeline has. */
static void log_stages(struct sw_session *s, const struct sw_net *net)
{
	char text[8 * SW_STAGES_MAX] = "";
	size_t n = 0;

	for (unsigned k = 0; k < net->ranks.stages; k++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%.0f %%", k ? ", " : "",
				      100 * net->ranks.share[k]);
	if (net->ranks.stages > 1)
		sw_session_log(s, "stages have %s of the work", text);
}

void sw_run_log_net(struct sw_session *s, const struct sw_net *net)
{
	if (net->ranks.comm)
		log_sums(s, net->ranks.comm);
	log_stages(s, net);
	if (net->trainer->precision == SW_TF32)
		sw_session_log(s,
			       "tf32 is expected of %.0f %% of the products' arithmetic (cuBLAS on "
			       "an H100); smaller products stay fp32",
			       100 * sw_model_tf32_share(net->own, net->ops, net->at.micro));
	if (net->oom_events)
		log_micro(s, net);
}
