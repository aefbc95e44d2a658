/*
 * tests/fake/cuda.c — a stand-in for libsweepd-cuda.so: the CPU's table under the name "cuda", so
 * that whole sweeps run on slots gpu:N where there is no GPU. A file at SWEEPD_FAKE_CUDA_BREAKS
 * makes every later call a sticky error, as an illegal address does; while there is one of that
 * name and ".start", CUDA does not start, by the line in it. With SWEEPD_FAKE_CUDA_EXCLUSIVE, a
 * folder, a GPU is for one process alone.
 */
#include "kernels/ops.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static struct sw_ops table;

static sw_status broken(void)
{
	const char *path = getenv("SWEEPD_FAKE_CUDA_BREAKS");

	return path != NULL && access(path, F_OK) == 0 ? SW_DEVICE_LOST : SW_OK;
}

static sw_status download(struct sw_queue *q, void *dst, const void *src, size_t bytes)
{
	const sw_status rc = sw_ops_cpu.download(q, dst, src, bytes);

	return rc == SW_OK ? broken() : rc;
}

static bool does_not_start(char *why, size_t cap)
{
	const char *path = getenv("SWEEPD_FAKE_CUDA_BREAKS");
	char start[4096];

	(void)snprintf(start, sizeof start, "%s.start", path != NULL ? path : "");
	FILE *f = fopen(start, "re");
	if (f == NULL)
		return false;
	if (fgets(why, (int)cap, f) == NULL)
		*why = '\0';
	(void)fclose(f);
	return true;
}

/* For as long as the process lives. */
static bool is_taken(const char *gpu)
{
	const char *folder = getenv("SWEEPD_FAKE_CUDA_EXCLUSIVE");
	char path[4096];
	int fd;

	if (folder == NULL)
		return false;
	(void)snprintf(path, sizeof path, "%s/%s", folder, gpu);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0;
}

static void describe(char *text, size_t cap)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	(void)snprintf(text, cap, "stand-in for %s", visible != NULL ? visible : "every GPU");
}

__attribute__((visibility("default"))) sw_ops_open_fn sw_ops_cuda_open;

sw_status sw_ops_cuda_open(int device, const struct sw_ops **out, struct sw_err *err)
{
	const char *gpu = getenv("CUDA_VISIBLE_DEVICES");
	char name[96] = "every GPU", why[96];

	*out = NULL;
	if (does_not_start(why, sizeof why))
		return sw_err_set(err, SW_DEVICE_LOST, "CUDA does not start: %s", why);
	for (int i = 0; i < device && gpu != NULL; i++) {
		gpu = strchr(gpu, ',');
		gpu += gpu != NULL;
	}
	if (device > 0 && gpu == NULL)
		return sw_err_set(err, SW_NOT_FOUND, "no GPU %d", device);
	if (gpu != NULL)
		(void)snprintf(name, sizeof name, "%.*s", (int)strcspn(gpu, ","), gpu);
	if (is_taken(name))
		return sw_err_set(err, SW_BUSY, "gpu:%d is held by another process", device);
	*out = &table;
	if (table.name != NULL) /* other ranks use it */
		return SW_OK;
	table = sw_ops_cpu;
	table.name = "cuda";
	table.describe = describe;
	table.download = download;
	return SW_OK;
}
