#include "worker/file/checkpoint.h"
#include "base/beat.h"
#include "base/fault.h"
#include "base/memory.h"
#include "worker/file/checkpoint_format.h"
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

#define PATH_BYTES 4096
#define CHUNK      ((size_t)64 * 1024) /* bytes hashed at a time */
#define AT_ONCE    ((size_t)16 << 20)  /* bytes read or written between two beats */
#define SYNC_EACH  ((size_t)64 << 20)

/* A file on its way in or out: its bytes, their sum so far. */
struct file {
	int fd;
	XXH3_state_t *sum;
	size_t unsynced; /* bytes written */
	float *set;      /* host: float[weights_n], with the gaps of a net's tensor set */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool sw_checkpoint_name(const char *path, uint64_t *trial, uint64_t *epoch)
{
	char again[64];

	if (sscanf(base_name(path), "%" SCNu64 "-%" SCNu64, trial, epoch) != 2)
		return false;
	snprintf(again, sizeof again, "%" PRIu64 "-%" PRIu64 ".ckpt", *trial, *epoch);
	return strcmp(again, base_name(path)) == 0;
}

uint64_t sw_checkpoint_before(const char *dir, uint64_t trial, uint64_t below)
{
	uint64_t found = 0, its, epoch;
	const struct dirent *e;
	DIR *folder = sw_fault_hit(SW_FAULT_IO) ? NULL : opendir(dir);

	if (!folder)
		return 0;
	while ((e = readdir(folder)) != NULL)
		if (sw_checkpoint_name(e->d_name, &its, &epoch) && its == trial && epoch > found &&
		    epoch < below)
			found = epoch;
	(void)closedir(folder);
	return found;
}

static sw_status of_errno(int code)
{
	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		return SW_FULL;
	if (code == ENOENT)
		return SW_NOT_FOUND;
	return code == ENOMEM ? SW_NOMEM : SW_IO;
}

static bool sum_start(struct file *f)
{
	f->sum = sw_fault_hit(SW_FAULT_MALLOC) ? NULL : XXH3_createState();
	return f->sum && XXH3_128bits_reset(f->sum) == XXH_OK;
}

static void sum_end(const struct file *f, unsigned char out[CHECKPOINT_SUM])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(f->sum));
	memcpy(out, canonical.digest, CHECKPOINT_SUM);
}

/* --- out --- */

/* 0 or an errno. Synced as it goes: one fsync of gigabytes may take minutes, without a beat. */
static int file_put(struct file *f, const void *bytes, size_t n)
{
	const char *at = bytes;

	(void)XXH3_128bits_update(f->sum, bytes, n);
	while (n > 0) {
		const size_t some = n < AT_ONCE ? n : AT_ONCE;
		const ssize_t done = sw_fault_hit(SW_FAULT_IO) ? (errno = ENOSPC, -1)
							       : write(f->fd, at, some);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : ENOSPC;
		at += done;
		n -= (size_t)done;
		f->unsynced += (size_t)done;
		sw_beat();
		if (f->unsynced >= SYNC_EACH && fdatasync(f->fd) != 0)
			return errno;
		f->unsynced %= SYNC_EACH;
	}
	return 0;
}

/* The tensors of one set, without their gaps. */
static sw_status put_set(struct file *f, const struct sw_net *net, size_t set, int *code)
{
	const struct sw_model *m = net->model;
	const sw_status rc = sw_net_set_download(net, set, f->set);

	for (size_t i = 0; rc == SW_OK && *code == 0 && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		*code = file_put(f, f->set + op->w, op->w_n * sizeof *f->set);
		if (*code == 0)
			*code = file_put(f, f->set + op->b, op->b_n * sizeof *f->set);
	}
	return rc;
}

/* The running statistics, mean and variance of each norm. */
static sw_status put_running(struct file *f, const struct sw_net *net, int *code)
{
	const struct sw_model *m = net->model;
	float *running = sw_malloc(m->running_n * sizeof *running);
	sw_status rc = running ? sw_net_running_download(net, running) : SW_NOMEM;

	for (size_t i = 0; rc == SW_OK && *code == 0 && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];

		if (op->kind != SW_OP_BATCHNORM)
			continue;
		*code = file_put(f, running + op->mean, op->to.c * sizeof *running);
		if (*code == 0)
			*code = file_put(f, running + op->var, op->to.c * sizeof *running);
	}
	free(running);
	return rc;
}

static int put_table(struct file *f, const struct sw_model *m)
{
	struct checkpoint_tensor t[CHECKPOINT_TENSORS];
	unsigned char line[CHECKPOINT_TENSOR];
	int code = 0;

	for (size_t i = 0; code == 0 && i < m->ops_n; i++) {
		const size_t n = sw_checkpoint_tensors(m, i, t);

		for (size_t k = 0; code == 0 && k < n; k++) {
			sw_checkpoint_tensor_encode(line, &t[k]);
			code = file_put(f, line, sizeof line);
		}
	}
	return code;
}

/* All bytes of the file, to the disk. *code: 0 or an errno. */
static sw_status put_all(struct file *f, const struct sw_net *net,
			 const struct sw_checkpoint_id *id, int *code)
{
	unsigned char head[CHECKPOINT_HEAD], sum[CHECKPOINT_SUM];
	sw_status rc = SW_OK;

	f->set = sw_malloc(net->model->weights_n * sizeof *f->set);
	if (!f->set || !sum_start(f))
		return SW_NOMEM;
	*code = file_put(f, head, sw_checkpoint_encode(head, net, id));
	if (*code == 0)
		*code = put_table(f, net->model);
	if (*code == 0 && net->model->card)
		*code = file_put(f, net->model->card, strlen(net->model->card));
	for (size_t set = 0; rc == SW_OK && *code == 0 && set < sw_net_sets(net); set++)
		rc = put_set(f, net, set, code);
	if (rc == SW_OK && *code == 0 && net->model->running_n)
		rc = put_running(f, net, code);
	if (rc != SW_OK || *code != 0)
		return rc;
	sum_end(f, sum);
	*code = file_put(f, sum, sizeof sum);
	if (*code == 0 && (sw_fault_hit(SW_FAULT_IO) || fsync(f->fd) != 0))
		*code = errno ? errno : EIO;
	return SW_OK;
}

/* Makes the last two folders of the path: those below the state directory, never that itself. */
static int folder_open(const char *dir)
{
	char above[PATH_BYTES];
	char *slash;

	if (mkdir(dir, 0700) != 0 && errno == ENOENT) {
		snprintf(above, sizeof above, "%s", dir);
		slash = strrchr(above, '/');
		if (slash && slash != above) {
			*slash = '\0';
			(void)mkdir(above, 0700);
			(void)mkdir(dir, 0700);
		}
	}
	if (sw_fault_hit(SW_FAULT_IO)) {
		errno = EIO;
		return -1;
	}
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The new file takes its name, and the folder knows of it. 0 or an errno. */
static int publish(int folder, const char *tmp, const char *path)
{
	if (sw_fault_hit(SW_FAULT_IO) || rename(tmp, path) != 0) {
		const int code = errno ? errno : EIO;

		(void)unlink(tmp);
		return code;
	}
	return sw_fault_hit(SW_FAULT_IO) || fsync(folder) != 0 ? errno ? errno : EIO : 0;
}

static sw_status write_in(struct sw_net *net, const struct sw_checkpoint_id *id, const char *dir,
			  int folder, int *code)
{
	char tmp[PATH_BYTES + 80], path[PATH_BYTES + 80];
	struct file f = {.fd = -1};
	sw_status rc;

	snprintf(path, sizeof path, "%s/%" PRIu64 "-%" PRIu64 ".ckpt", dir, id->trial, id->epoch);
	snprintf(tmp, sizeof tmp, "%s/.tmp-%" PRIu64 "-%" PRIu64 "-XXXXXX", dir, id->trial,
		 id->epoch);
	errno = 0;
	f.fd = sw_fault_hit(SW_FAULT_IO) ? -1 : mkostemp(tmp, O_CLOEXEC);
	if (f.fd < 0) {
		*code = errno ? errno : EIO;
		return SW_OK;
	}
	errno = 0;
	rc = put_all(&f, net, id, code);
	if (close(f.fd) != 0 && *code == 0)
		*code = errno;
	XXH3_freeState(f.sum);
	free(f.set);
	errno = 0;
	if (rc == SW_OK && *code == 0)
		*code = publish(folder, tmp, path);
	else
		(void)unlink(tmp);
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
		return sw_err_set(err, of_errno(code) == SW_NOT_FOUND ? SW_IO : of_errno(code),
				  "no checkpoint of step %" PRIu64 ": %s", id->epoch,
				  strerror(code));
	return SW_OK;
}

/* --- in --- */

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
		if (got == 0)
			return sw_err_set(err, SW_INVALID, "was cut short while it was read");
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return SW_OK;
}

static sw_status file_take(const struct file *f, void *out, size_t n, uint64_t offset,
			   struct sw_err *err)
{
	return sw_checkpoint_take(f->fd, out, n, offset, err);
}

/* The whole file against the sum at its end. */
static sw_status check_sum(struct file *f, uint64_t bytes, struct sw_err *err)
{
	unsigned char theirs[CHECKPOINT_SUM], ours[CHECKPOINT_SUM];
	const uint64_t summed = bytes - CHECKPOINT_SUM;
	char *chunk = sw_malloc(CHUNK);
	sw_status rc = SW_OK;

	if (!chunk || !sum_start(f))
		rc = sw_err_set(err, SW_NOMEM, "cannot be read: no memory");
	for (uint64_t at = 0; rc == SW_OK && at < summed; at += CHUNK) {
		const size_t n = summed - at < CHUNK ? (size_t)(summed - at) : CHUNK;

		rc = file_take(f, chunk, n, at, err);
		if (rc == SW_OK)
			(void)XXH3_128bits_update(f->sum, chunk, n);
	}
	free(chunk);
	if (rc == SW_OK)
		rc = file_take(f, theirs, sizeof theirs, summed, err);
	if (rc != SW_OK)
		return rc;
	sum_end(f, ours);
	if (memcmp(ours, theirs, sizeof ours) != 0)
		return sw_err_set(err, SW_INVALID, "is damaged: its checksum is wrong");
	return SW_OK;
}

/* Reads the tensors of the sets that the net has into f->set: float[sets][weights_n]. */
static sw_status take_sets(const struct file *f, const struct sw_net *net, size_t sets,
			   uint64_t offset, struct sw_err *err)
{
	const struct sw_model *m = net->model;
	sw_status rc = SW_OK;

	for (size_t set = 0; set < sets; set++)
		for (size_t i = 0; rc == SW_OK && i < m->ops_n; i++) {
			const struct sw_op *op = &m->op[i];
			float *to = f->set + set * m->weights_n;

			rc = file_take(f, to + op->w, op->w_n * sizeof *to, offset, err);
			offset += (uint64_t)op->w_n * sizeof *to;
			if (rc == SW_OK)
				rc = file_take(f, to + op->b, op->b_n * sizeof *to, offset, err);
			offset += (uint64_t)op->b_n * sizeof *to;
		}
	return rc;
}

/* And the running statistics, into running: float[running_n]. */
static sw_status take_running(const struct file *f, const struct sw_net *net, float *running,
			      uint64_t offset, struct sw_err *err)
{
	const struct sw_model *m = net->model;
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < m->ops_n; i++) {
		const struct sw_op *op = &m->op[i];
		const size_t n = op->to.c * sizeof *running;

		if (op->kind != SW_OP_BATCHNORM)
			continue;
		rc = file_take(f, running + op->mean, n, offset, err);
		if (rc == SW_OK)
			rc = file_take(f, running + op->var, n, offset + n, err);
		offset += 2 * n;
	}
	return rc;
}

/* What was read, onto the device. */
static sw_status give(const struct file *f, struct sw_net *net, size_t sets, struct sw_err *err)
{
	const struct sw_model *m = net->model;
	sw_status rc = SW_OK;

	for (size_t set = 0; rc == SW_OK && set < sets; set++)
		rc = sw_net_set_upload(net, set, f->set + set * m->weights_n);
	if (rc == SW_OK && m->running_n)
		rc = sw_net_running_upload(net, f->set + sets * m->weights_n);
	if (rc != SW_OK)
		return sw_err_set(err, SW_DEVICE_LOST, "cannot be put on the device: %s",
				  sw_status_str(rc));
	return SW_OK;
}

static sw_status load(struct file *f, struct sw_net *net, const struct checkpoint_head *h,
		      struct sw_err *err)
{
	/* Without momentum there is no velocity: a zero one is the same to the first step that
	 * has some, and one that nobody reads any more is left in the file. */
	const size_t theirs = 1 + h->states_n, ours = sw_net_sets(net);
	const size_t sets = theirs < ours ? theirs : ours;
	const uint64_t tensors = sw_checkpoint_weights_at(h);
	sw_status rc;

	f->set = sw_calloc(sets * net->model->weights_n + net->model->running_n, sizeof *f->set);
	if (!f->set)
		return sw_err_set(err, SW_NOMEM, "cannot be read: no memory");
	rc = take_sets(f, net, sets, tensors, err);
	if (rc == SW_OK)
		rc = take_running(f, net, f->set + sets * net->model->weights_n,
				  tensors + theirs * h->parameters * sizeof *f->set, err);
	if (rc == SW_OK)
		rc = give(f, net, sets, err);
	if (rc != SW_OK)
		return rc;
	net->step = h->step;
	net->seed = h->seed;
	net->best_loss = h->best_loss;
	net->stale = h->stale;
	return SW_OK;
}

/* The header, if all that does not need a net is right. */
static sw_status check(struct file *f, struct checkpoint_head *h, struct sw_err *err)
{
	unsigned char head[CHECKPOINT_FIXED];
	struct stat st;
	sw_status rc;

	if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode))
		return sw_err_set(err, SW_INVALID, "is no file");
	if (st.st_size < CHECKPOINT_FIXED + CHECKPOINT_SUM)
		return sw_err_set(err, SW_INVALID, "is cut short: %" PRIu64 " bytes",
				  (uint64_t)st.st_size);
	rc = file_take(f, head, sizeof head, 0, err);
	if (rc == SW_OK)
		rc = sw_checkpoint_decode(h, head, (uint64_t)st.st_size, err);
	return rc == SW_OK ? check_sum(f, h->bytes, err) : rc;
}

sw_status sw_checkpoint_check(int fd, struct checkpoint_head *out, struct sw_err *err)
{
	struct file f = {.fd = fd};
	const sw_status rc = check(&f, out, err);

	XXH3_freeState(f.sum);
	return rc;
}

static sw_status read_from(struct file *f, struct sw_net *net, const struct sw_checkpoint_id *id,
			   struct sw_err *err)
{
	unsigned char layers[CHECKPOINT_LAYER * SW_MODEL_MAX_OPS];
	struct checkpoint_head h = {.version = 0};
	sw_status rc = check(f, &h, err);

	if (rc == SW_OK)
		rc = file_take(f, layers, (size_t)h.layers_n * CHECKPOINT_LAYER, CHECKPOINT_FIXED,
			       err);
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
		return sw_err_set(err, of_errno(errno), "the checkpoint %s cannot be read: %s",
				  base_name(path), strerror(errno));
	rc = read_from(&f, net, id, &why);
	close(f.fd);
	XXH3_freeState(f.sum);
	free(f.set);
	if (rc != SW_OK)
		return sw_err_set(err, rc, "the checkpoint %s %s", base_name(path), why.msg);
	return SW_OK;
}
