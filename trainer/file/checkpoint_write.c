/* trainer/file/checkpoint_write.c — a checkpoint on its way out: beside its name, synced,
 * renamed. */
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/tree.h"
#include "proto/checkpoint_path.h"
#include "trainer/file/checkpoint_format.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define AT_ONCE    ((size_t)16 << 20) /* bytes written between two beats */
#define SYNC_EACH  ((size_t)64 << 20)

/* A file on its way out: its bytes, their sum so far. */
struct file {
	int fd;
	XXH3_state_t *sum;
	size_t unsynced; /* bytes written */
	int code;   /* errno's, of what failed first: nothing is written after it; 0: nothing */
	float *set; /* host: float[weights_n], with the gaps of a net's tensor set */
};

/* Synced as it goes: one fsync of gigabytes may take minutes, without a beat. */
static void file_put(struct file *f, const void *bytes, size_t n)
{
	const char *at = bytes;

	(void)XXH3_128bits_update(f->sum, bytes, n);
	while (n > 0 && f->code == 0) {
		const size_t some = n < AT_ONCE ? n : AT_ONCE;
		const ssize_t done = sw_fault_hit(SW_FAULT_IO) ? (errno = ENOSPC, -1)
							       : write(f->fd, at, some);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			f->code = done < 0 ? errno : ENOSPC;
			return;
		}
		at += done;
		n -= (size_t)done;
		f->unsynced += (size_t)done;
		sw_beat();
		if (f->unsynced >= SYNC_EACH && fdatasync(f->fd) != 0)
			f->code = errno;
		f->unsynced %= SYNC_EACH; /* a rest that is not synced yet counts on */
	}
}

/* The tensors of one set that lies in the host's memory, without its gaps. */
static void put_tensors(struct file *f, const struct sw_model *m, const float *set)
{
	for (size_t i = 0; i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		file_put(f, set + op->w, op->w_n * sizeof *set);
		file_put(f, set + op->b, op->b_n * sizeof *set);
	}
}

/* Writes a tensor set of the device. */
static sw_status put_set(struct file *f, const struct sw_net *net, size_t set)
{
	const sw_status rc = sw_net_set_download(net, set, f->set);

	if (rc == SW_OK)
		put_tensors(f, net->model, f->set);
	return rc;
}

/* The running statistics, mean and variance of each norm. */
static void put_statistics(struct file *f, const struct sw_model *m, const float *running)
{
	for (size_t i = 0; i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		if (op->kind != SW_OP_BATCHNORM)
			continue;
		file_put(f, running + op->mean, op->to.c * sizeof *running);
		file_put(f, running + op->var, op->to.c * sizeof *running);
	}
}

/* Writes the running statistics of the device. */
static sw_status put_running(struct file *f, const struct sw_net *net)
{
	float *running = sw_malloc(net->model->running_n * sizeof *running);
	const sw_status rc = running ? sw_net_set_download(net, SW_NET_RUNNING, running) : SW_NOMEM;

	if (rc == SW_OK)
		put_statistics(f, net->model, running);
	free(running);
	return rc;
}

/* Writes the names and shapes of the tensors. */
static void put_table(struct file *f, const struct sw_model *m)
{
	struct sw_checkpoint_tensor t[CHECKPOINT_TENSORS];
	unsigned char line[CHECKPOINT_TENSOR];

	for (size_t i = 0; i < m->ops_n; i++) {
		const size_t n = sw_checkpoint_tensors(m, i, t);

		for (size_t k = 0; k < n; k++) {
			sw_checkpoint_tensor_encode(line, &t[k]);
			file_put(f, line, sizeof line);
		}
	}
}

/* All bytes of the file, to the disk. */
static sw_status put_all(struct file *f, const struct sw_net *net,
			 const struct sw_checkpoint_id *id)
{
	unsigned char head[CHECKPOINT_HEAD], sum[CHECKPOINT_SUM];
	const struct sw_model *m = net->model;
	sw_status rc = SW_OK;

	f->set = sw_malloc(m->weights_n * sizeof *f->set);
	f->sum = sw_checkpoint_sum_start();
	if (!f->set || !f->sum)
		return SW_NOMEM;
	/* in the order of checkpoint_format.h; the sum is that of all bytes before it */
	file_put(f, head, sw_checkpoint_encode(head, net, id));
	put_table(f, m);
	if (m->label)
		file_put(f, m->label, strlen(m->label));
	/* One set at a time in the host's memory, however many the optimizer has. */
	for (size_t set = 0; rc == SW_OK && f->code == 0 && set < sw_net_sets(net); set++)
		rc = put_set(f, net, set);
	if (rc == SW_OK && f->code == 0 && m->running_n)
		rc = put_running(f, net);
	if (rc != SW_OK)
		return rc;
	/* the weights of the best epoch, when they are not those of the last */
	if (net->best.epoch != 0 && net->best.epoch != id->epoch) {
		put_tensors(f, m, net->best.weights);
		put_statistics(f, m, net->best.weights + m->weights_n);
	}
	sw_checkpoint_sum_end(f->sum, sum);
	file_put(f, sum, sizeof sum);
	/* Before the rename, or a power cut could leave the name without its bytes. */
	if (f->code == 0 && (sw_fault_hit(SW_FAULT_IO) || fsync(f->fd) != 0))
		f->code = errno ? errno : EIO;
	return SW_OK;
}

/* Makes the last two folders of the path: those below the state directory, never that itself. */
static int folder_open(const char *dir)
{
	(void)sw_tree_make(dir);
	if (sw_fault_hit(SW_FAULT_IO)) {
		errno = EIO;
		return -1;
	}
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The new file takes its name, and the folder knows of it. 0 or an errno. */
static int publish(int folder, const char *tmp, const char *path)
{
	/* A kill before this leaves a .tmp- file, which no reader takes for a checkpoint; one after
	 * it the whole checkpoint. */
	if (sw_fault_hit(SW_FAULT_IO) || rename(tmp, path) != 0) {
		const int code = errno ? errno : EIO;

		(void)unlink(tmp);
		return code;
	}
	/* The name is on the disk only with its folder, and the report that follows promises it. */
	return sw_fault_hit(SW_FAULT_IO) || fsync(folder) != 0 ? errno ? errno : EIO : 0;
}

/* Writes the file beside its name and renames it. *code: 0 or an errno. */
static sw_status write_in(struct sw_net *net, const struct sw_checkpoint_id *id, const char *dir,
			  int folder, int *code)
{
	char tmp[PATH_BYTES + 80], path[PATH_BYTES + 80];
	struct file f = {.fd = -1};
	sw_status rc;

	sw_checkpoint_path(path, sizeof path, dir, id->trial, id->epoch);
	snprintf(tmp, sizeof tmp, "%s/.tmp-%" PRIu64 "-%" PRIu64 "-XXXXXX", dir, id->trial,
		 id->epoch);
	errno = 0;
	f.fd = sw_fault_hit(SW_FAULT_IO) ? -1 : mkostemp(tmp, O_CLOEXEC);
	if (f.fd < 0) {
		*code = errno ? errno : EIO; /* the caller makes the line of it */
		return SW_OK;
	}
	errno = 0;
	rc = put_all(&f, net, id);
	/* a network file system may say only now that the disk is full */
	if (close(f.fd) != 0 && f.code == 0)
		f.code = errno;
	XXH3_freeState(f.sum);
	free(f.set);
	errno = 0;
	if (rc == SW_OK && f.code == 0)
		f.code = publish(folder, tmp, path);
	else
		(void)unlink(tmp);
	*code = f.code;
	return rc;
}

sw_status sw_checkpoint_write(struct sw_net *net, const struct sw_checkpoint_id *id,
			      const char *dir, struct sw_err *err)
{
	sw_status rc = SW_OK;
	int folder, code = 0;

	if (strlen(dir) >= PATH_BYTES)
		return sw_err_set(err, SW_TOO_BIG,
				  "the path of the folder for checkpoints is over %d bytes",
				  PATH_BYTES - 1);
	folder = folder_open(dir);
	if (folder < 0)
		code = errno;
	else
		rc = write_in(net, id, dir, folder, &code);
	if (folder >= 0)
		close(folder);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "no checkpoint of step %" PRIu64 ": %s", id->epoch,
				  sw_status_str(rc));
	if (code != 0)
		return sw_err_set(
			err,
			sw_checkpoint_errno(code) == SW_NOT_FOUND ? SW_IO
								  : sw_checkpoint_errno(code),
			"no checkpoint of step %" PRIu64 ": %s", id->epoch, strerror(code));
	return SW_OK;
}
