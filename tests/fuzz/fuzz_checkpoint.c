/* Any bytes as a checkpoint. The first byte says how: bit 0, the rest is the file, else the rest is
 * edits of a right one, (place low, place high, what is flipped) each; bit 1, lengths and the
 * checksum are put right, so that what lies behind them is reached; bit 2, the last third is cut
 * off. A net reads it, and it is exported: what is refused has a line and leaves the net as it was,
 * what is taken has an export. */
#include "trainer/file/checkpoint_format.h"
#include "trainer/file/export.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS 4

static const struct sw_checkpoint_id id = {.sweep = 1, .trial = 1, .epoch = 2};
static const struct sw_trainer trainer = {
	.classes = true, .lr = 0.1, .momentum = 0.9, .batch_size = ROWS, .epochs = 1};
static char folder[32], path[64], export_path[64];
static struct sw_model model;
static struct sw_data shape;
static struct sw_queue *queue;
static uint8_t *right; /* a file of that net */
static size_t right_n;

static void leave(void)
{
	(void)unlink(path);
	(void)unlink(export_path);
	(void)rmdir(folder);
	free(right);
	sw_ops_cpu.queue_destroy(queue);
}

static void must(bool fact)
{
	if (!fact)
		abort();
}

static void net_make(struct sw_net *net, uint64_t seed)
{
	must(sw_net_create(net, &sw_ops_cpu, queue, &model, &trainer, &shape, NULL, seed, NULL) ==
	     SW_OK);
}

static uint8_t *file_take(const char *from, size_t *n)
{
	FILE *file = fopen(from, "rb");
	must(file != NULL && fseek(file, 0, SEEK_END) == 0);
	*n = (size_t)ftell(file);
	rewind(file);
	uint8_t *out = malloc(*n + 1);
	must(out != NULL && fread(out, 1, *n, file) == *n && fclose(file) == 0);
	return out;
}

static void begin(void)
{
	static const char layers[] = "[{\"linear\": 3}, \"batchnorm\", \"relu\", {\"linear\": 2}]";
	struct sw_net net;

	if (right != NULL)
		return;
	(void)strcpy(folder, "/tmp/sw-fuzz-XXXXXX");
	must(mkdtemp(folder) != NULL && atexit(leave) == 0);
	(void)snprintf(path, sizeof path, "%s/1-2.ckpt", folder);
	(void)snprintf(export_path, sizeof export_path, "%s/x.safetensors", folder);
	shape = (struct sw_data){.ops = &sw_ops_cpu,
				 .input = sw_shape_flat(5),
				 .features = 5,
				 .classes = 2,
				 .labels = 1};
	shape.train.rows = shape.val.rows = ROWS;
	cJSON *list = cJSON_Parse(layers);
	const struct sw_task task = sw_net_task(&shape, true);
	must(sw_model_compile(&model, list, NULL, &task, NULL) == SW_OK);
	cJSON_Delete(list);
	must(sw_ops_cpu.queue_create(&queue) == SW_OK);
	net_make(&net, 5);
	must(sw_checkpoint_write(&net, &id, folder, NULL) == SW_OK);
	sw_net_destroy(&net);
	right = file_take(path, &right_n);
}

/* The bytes of the file that the input stands for. */
static uint8_t *made_of(const uint8_t *data, size_t size, unsigned how, size_t *n)
{
	const bool raw = how & 1;
	uint8_t *out = malloc((raw ? size : right_n) + 1);

	must(out != NULL);
	*n = raw ? size : right_n;
	(void)memcpy(out, raw ? data : right, *n);
	for (size_t i = 0; !raw && i + 3 <= size; i += 3)
		out[((size_t)data[i] | (size_t)data[i + 1] << 8) % right_n] ^= data[i + 2];
	if (how & 4)
		*n -= *n / 3;
	if ((how & 2) && *n >= CHECKPOINT_FIXED + CHECKPOINT_SUM) {
		XXH128_canonical_t sum;

		for (size_t i = 0; i < 8; i++)
			out[16 + i] = (uint8_t)((uint64_t)*n >> 8 * i);
		XXH128_canonicalFromHash(&sum, XXH3_128bits(out, *n - CHECKPOINT_SUM));
		(void)memcpy(out + *n - CHECKPOINT_SUM, sum.digest, CHECKPOINT_SUM);
	}
	return out;
}

/* All sets of the net, and its running statistics. */
static float *state_of(const struct sw_net *net, size_t *bytes)
{
	const size_t n = model.weights_n, sets = sw_net_sets(net);
	float *out = calloc(sets * n + model.running_n, sizeof *out);

	must(out != NULL);
	for (size_t i = 0; i < sets; i++)
		must(sw_net_set_download(net, i, out + i * n) == SW_OK);
	must(sw_net_set_download(net, SW_NET_RUNNING, out + sets * n) == SW_OK);
	*bytes = (sets * n + model.running_n) * sizeof *out;
	return out;
}

static void line_check(sw_status status, const struct sw_err *err)
{
	must((status == SW_OK) == (err->msg[0] == '\0') && strchr(err->msg, '\n') == NULL);
}

static sw_status read_check(void)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_net net;
	size_t n;

	net_make(&net, 7);
	float *before = state_of(&net, &n);
	const sw_status status = sw_checkpoint_read(&net, &id, path, &err);
	float *after = state_of(&net, &n);
	line_check(status, &err);
	must(status == SW_OK || status == SW_INVALID);
	must(status == SW_OK || (memcmp(before, after, n) == 0 && net.step == 0 && net.seed == 7));
	free(before);
	free(after);
	sw_net_destroy(&net);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_err err = SW_ERR_INIT;
	size_t n;

	if (size == 0)
		return 0;
	begin();
	uint8_t *bytes = made_of(data + 1, size - 1, data[0], &n);
	FILE *file = fopen(path, "wb");
	must(file != NULL && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
	free(bytes);
	(void)unlink(export_path);
	const sw_status status = read_check();
	struct sw_exported is;
	const sw_status exported = sw_export(path, export_path, &is, &err);
	line_check(exported, &err);
	must(exported == SW_OK || exported == SW_INVALID);
	must((exported == SW_OK) == (access(export_path, F_OK) == 0));
	/* nothing was edited: both take it */
	if (data[0] == 2 && size == 1)
		must(status == SW_OK && exported == SW_OK);
	return 0;
}
