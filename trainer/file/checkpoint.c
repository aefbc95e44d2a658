#include "trainer/file/checkpoint.h"
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include "proto/checkpoint_path.h"
#include "trainer/file/checkpoint_format.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK   ((size_t)64 * 1024) /* bytes hashed at a time */
#define AT_ONCE ((size_t)16 << 20)  /* bytes read between two beats */

/* A file on its way in. */
struct file {
	int fd;
	float *set;  /* host: float[sets][weights_n], with the gaps of a net's tensor set, then the
			running statistics */
	float *best; /* the same of one set */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

uint64_t sw_checkpoint_before(const char *dir, uint64_t trial, uint64_t below)
{
	uint64_t found = 0, its, epoch;
	const struct dirent *e;
	DIR *folder = sw_fault_hit(SW_FAULT_IO) ? NULL : opendir(dir);

	if (!folder)
		return 0; /* the trial starts from scratch then */
	/* The whole folder, for it has no order. */
	while ((e = readdir(folder)) != NULL)
		if (sw_checkpoint_path_read(e->d_name, &its, &epoch) && its == trial &&
		    epoch > found && epoch < below)
			found = epoch;
	(void)closedir(folder);
	return found;
}

sw_status sw_checkpoint_errno(int code)
{
	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		return SW_FULL;
	if (code == ENOENT)
		return SW_NOT_FOUND;
	return code == ENOMEM ? SW_NOMEM : SW_IO;
}

XXH3_state_t *sw_checkpoint_sum_start(void)
{
	XXH3_state_t *sum = sw_fault_hit(SW_FAULT_MALLOC) ? NULL : XXH3_createState();

	if (sum)
		(void)XXH3_128bits_reset(sum);
	return sum;
}

void sw_checkpoint_sum_end(const XXH3_state_t *sum, unsigned char out[CHECKPOINT_SUM])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(sum));
	memcpy(out, canonical.digest, CHECKPOINT_SUM);
}

sw_status sw_checkpoint_take(int fd, void *out, size_t n, uint64_t offset, struct sw_err *err)
{
	char *at = out;

	while (n > 0) {
		const size_t some = n < AT_ONCE ? n : AT_ONCE;
		const ssize_t got = sw_fault_hit(SW_FAULT_IO) ? (errno = EIO, -1)
							      : pread(fd, at, some, (off_t)offset);

		sw_beat();
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return sw_err_set(err, SW_IO, "cannot be read: %s", strerror(errno));
		if (got == 0) /* its size was checked: another process cuts it */
			return sw_err_set(err, SW_INVALID, "was cut short while it was read");
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return SW_OK;
}

/* Checks the whole file against the sum at its end. */
static sw_status check_sum(int fd, uint64_t bytes, struct sw_err *err)
{
	unsigned char theirs[CHECKPOINT_SUM], ours[CHECKPOINT_SUM];
	const uint64_t summed = bytes - CHECKPOINT_SUM;
	char *chunk = sw_malloc(CHUNK);
	XXH3_state_t *sum = sw_checkpoint_sum_start();
	sw_status rc = SW_OK;

	if (!chunk || !sum)
		rc = sw_err_set(err, SW_NOMEM, "cannot be read: no memory");
	/* The sum before the tensors: nothing of a damaged file gets into the net. It is read twice
	 * for that. */
	for (uint64_t at = 0; rc == SW_OK && at < summed; at += CHUNK) {
		const size_t n = summed - at < CHUNK ? (size_t)(summed - at) : CHUNK;

		rc = sw_checkpoint_take(fd, chunk, n, at, err);
		if (rc == SW_OK)
			(void)XXH3_128bits_update(sum, chunk, n);
	}
	if (rc == SW_OK)
		rc = sw_checkpoint_take(fd, theirs, sizeof theirs, summed, err);
	if (rc == SW_OK) {
		sw_checkpoint_sum_end(sum, ours);
		if (memcmp(ours, theirs, sizeof ours) != 0)
			rc = sw_err_set(err, SW_INVALID, "is damaged: its checksum is wrong");
	}
	XXH3_freeState(sum);
	free(chunk);
	return rc;
}

/* Reads the tensors of one set into host: float[weights_n]. */
static sw_status take_set(const struct file *f, const struct sw_model *m, float *host,
			  uint64_t offset, struct sw_err *err)
{
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		rc = sw_checkpoint_take(f->fd, host + op->w, op->w_n * sizeof *host, offset, err);
		offset += (uint64_t)op->w_n * sizeof *host;
		if (rc == SW_OK)
			rc = sw_checkpoint_take(f->fd, host + op->b, op->b_n * sizeof *host, offset,
						err);
		offset += (uint64_t)op->b_n * sizeof *host;
	}
	return rc;
}

/* Reads the running statistics into running: float[running_n]. */
static sw_status take_running(const struct file *f, const struct sw_net *net, float *running,
			      uint64_t offset, struct sw_err *err)
{
	const struct sw_model *m = net->model;
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];
		const size_t n = op->to.c * sizeof *running;

		if (op->kind != SW_OP_BATCHNORM)
			continue; /* only these have running statistics */
		rc = sw_checkpoint_take(f->fd, running + op->mean, n, offset, err);
		if (rc == SW_OK)
			rc = sw_checkpoint_take(f->fd, running + op->var, n, offset + n, err);
		offset += 2 * n;
	}
	return rc;
}

/* Puts the tensors that were read onto the device. */
static sw_status give(const struct file *f, struct sw_net *net, size_t sets, struct sw_err *err)
{
	const struct sw_model *m = net->model;
	sw_status rc = SW_OK;

	for (size_t set = 0; rc == SW_OK && set < sets; set++)
		rc = sw_net_set_upload(net, set, f->set + set * m->weights_n);
	if (rc == SW_OK && m->running_n)
		rc = sw_net_set_upload(net, SW_NET_RUNNING, f->set + sets * m->weights_n);
	/* of a pipeline it may be another rank's want of memory, or its end */
	if (rc != SW_OK)
		return sw_err_set(err, rc, "cannot be put on the device: %s", sw_status_str(rc));
	return SW_OK;
}

/* Fills the net: all is read before the device is touched. */
static sw_status load(struct file *f, struct sw_net *net, const struct sw_checkpoint_head *h,
		      struct sw_err *err)
{
	/* Without momentum there is no velocity. A zero one is the same to the first update that
	 * has some, and one that this trainer does not need is left in the file. */
	const size_t theirs = 1 + h->states_n, ours = sw_net_sets(net);
	const size_t sets = theirs < ours ? theirs : ours;
	const size_t weights_n = net->model->weights_n, running_n = net->model->running_n;
	const uint64_t tensors = sw_checkpoint_weights_at(h);
	sw_status rc = SW_OK;

	/* Zeroed: the gaps between tensors are no part of the file, and have to be 0 on the
	 * device. */
	f->set = sw_calloc(sets * weights_n + running_n, sizeof *f->set);
	if (h->best_epoch != 0)
		f->best = sw_calloc(weights_n + running_n, sizeof *f->best);
	if (!f->set || (h->best_epoch != 0 && !f->best))
		return sw_err_set(err, SW_NOMEM, "cannot be read: no memory");
	for (size_t i = 0; rc == SW_OK && i < sets; i++)
		rc = take_set(f, net->model, f->set + i * weights_n,
			      tensors + i * h->parameters * sizeof *f->set, err);
	if (rc == SW_OK && f->best)
		rc = take_set(f, net->model, f->best, sw_checkpoint_best_at(h), err);
	if (rc == SW_OK && f->best)
		rc = take_running(f, net, f->best + weights_n, sw_checkpoint_best_running_at(h),
				  err);
	if (rc == SW_OK)
		rc = take_running(f, net, f->set + sets * weights_n,
				  tensors + theirs * h->parameters * sizeof *f->set, err);
	if (rc == SW_OK)
		rc = give(f, net, sets, err);
	if (rc != SW_OK)
		return rc;
	/* last, so that a net that could not be filled is as it was */
	net->step = h->updates;
	net->seed = h->seed;
	net->best_loss = h->best_loss;
	net->stale = h->stale;
	free(net->best.weights);
	net->best = (struct sw_net_best){
		.epoch = h->best_epoch, .step = h->best_updates, .value = h->best_value};
	/* Handed over: the caller frees what is left in f. */
	net->best.weights = f->best;
	f->best = NULL;
	return SW_OK;
}

sw_status sw_checkpoint_check(int fd, struct sw_checkpoint_head *out, struct sw_err *err)
{
	unsigned char head[CHECKPOINT_FIXED];
	struct stat st;
	sw_status rc;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return sw_err_set(err, SW_INVALID, "is no file");
	if (st.st_size < CHECKPOINT_FIXED + CHECKPOINT_SUM)
		return sw_err_set(err, SW_INVALID, "is cut short: %" PRIu64 " bytes",
				  (uint64_t)st.st_size);
	rc = sw_checkpoint_take(fd, head, sizeof head, 0, err);
	if (rc == SW_OK)
		/* lengths before the sum: a file that is cut short says so, and is not "damaged" */
		rc = sw_checkpoint_decode(out, head, (uint64_t)st.st_size, err);
	return rc == SW_OK ? check_sum(fd, out->bytes, err) : rc;
}

/* Checks the file, whether it fits the net, and loads it. */
static sw_status read_from(struct file *f, struct sw_net *net, const struct sw_checkpoint_id *id,
			   struct sw_err *err)
{
	unsigned char layers[CHECKPOINT_LAYER * SW_MODEL_MAX_OPS];
	struct sw_checkpoint_head h = {.version = 0};
	sw_status rc = sw_checkpoint_check(f->fd, &h, err);

	if (rc == SW_OK)
		rc = sw_checkpoint_take(f->fd, layers, (size_t)h.layers_n * CHECKPOINT_LAYER,
					CHECKPOINT_FIXED, err);
	if (rc == SW_OK)
		rc = sw_checkpoint_fits(&h, layers, net, id, err);
	return rc == SW_OK ? load(f, net, &h, err) : rc;
}

sw_status sw_checkpoint_read(struct sw_net *net, const struct sw_checkpoint_id *id,
			     const char *path, struct sw_err *err)
{
	struct sw_err why = SW_ERR_INIT;
	struct file f = {.fd = -1};
	sw_status rc;

	errno = EIO;
	/* a pipe of that name would hold a reader up for ever */
	f.fd = sw_fault_hit(SW_FAULT_IO) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f.fd < 0)
		return sw_err_set(err, sw_checkpoint_errno(errno),
				  "the checkpoint %s cannot be read: %s", base_name(path),
				  strerror(errno));
	rc = read_from(&f, net, id, &why);
	close(f.fd);
	free(f.set);
	free(f.best);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "the checkpoint %s %s", base_name(path), why.msg);
	return SW_OK;
}
