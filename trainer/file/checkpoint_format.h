/* trainer/file/checkpoint_format.h — a checkpoint as bytes: what checkpoint.c (files) and
 * checkpoint_format.c (meaning) share.
 *
 * Numbers are little endian, floats IEEE 754 single precision, tensors row-major without gaps.
 *
 *   offset    bytes         what
 *   0         8             "SWCKPT\r\n"
 *   8         4, 4          version: 1; L: operations, 1 to 512
 *   16        8             bytes of the whole file
 *   24        8, 8, 8       sweep, trial, the last finished epoch
 *   48        8, 8          optimizer steps made, seed
 *   64        4             optimizer: 0 sgd, 1 adamw, 2 adam
 *   68        4             S: sets of its state. sgd: 1 with momentum (the velocity), else 0;
 *                           adam, adamw: 2 (first and second moments)
 *   72        8, 8          P: parameters; R: running statistics of batch norms, in floats
 *   88        8, 8          the lowest validation loss so far, a double; epochs since (patience)
 *   104       4, 4          T: tensors; C: bytes of the label
 *   112       8, 8          the best epoch (0: none is known), optimizer steps at its end
 *   128       8             the metric's value then, a double
 *   136       24 L          each operation: 4 bytes its number (trainer/model/op_list.h), 4 bytes
 *                           of window, stride, padding and heads, 8 input width, 8 output width
 *   then      104 T         each tensor: 64 bytes name, padded with 0; 4 rank, 1 to 4; 4: 1 for
 *                           running statistics, else 0; 4 dimensions of 8 bytes
 *   then      C             the label: a JSON object of docs/predict.md's metadata strings
 *   then      4 P (1 + S)   the weights, then each set of optimizer state, in the table's order
 *   then      4 R           the running statistics, in the table's order
 *   then      4 (P + R)     weights and running statistics of the best epoch; absent if it is the
 *                           last epoch, or none is known
 *   end - 16  16            XXH3-128 (canonical form, seed 0) of all bytes before */
#ifndef SW_TRAINER_FILE_CHECKPOINT_FORMAT_H
#define SW_TRAINER_FILE_CHECKPOINT_FORMAT_H

#include "trainer/file/checkpoint.h"
#include <xxhash.h>

#define CHECKPOINT_FIXED  136 /* bytes before the layer list */
#define CHECKPOINT_LAYER  24
#define CHECKPOINT_TENSOR 104 /* a line of the tensor table */
#define CHECKPOINT_SUM    16
#define CHECKPOINT_HEAD   (CHECKPOINT_FIXED + CHECKPOINT_LAYER * SW_MODEL_MAX_OPS)

struct sw_checkpoint_head {
	uint32_t version, layers_n, optimizer, states_n;
	uint64_t bytes; /* of the file */
	struct sw_checkpoint_id id;
	uint64_t updates; /* of the optimizer */
	uint64_t seed, parameters;
	uint64_t running; /* floats of running statistics, without gaps */
	double best_loss;
	uint64_t stale;
	uint32_t tensors_n;
	uint32_t label_n; /* bytes; 0: no label */
	/* Of the best epoch by the sweep's metric. Its weights and running statistics stand behind
	 * all else unless it is the last epoch. */
	uint64_t best_epoch; /* 0: none is known */
	uint64_t best_updates;
	double best_value;
};

/* A line of the tensor table. */
#define CHECKPOINT_TENSORS 4 /* at most, of one operation */
struct sw_checkpoint_tensor {
	char name[64];    /* as in PyTorch: "0.weight" */
	uint32_t rank;    /* 1 to 4 */
	uint32_t running; /* 1: one of the running statistics; 0: in every set */
	uint64_t dim[4];  /* the first `rank` of them */
};

/* Lists the tensors of operation i in the order of the file; returns how many they are. The second
 * counts those of all operations. */
size_t sw_checkpoint_tensors(const struct sw_model *m, size_t i,
			     struct sw_checkpoint_tensor out[CHECKPOINT_TENSORS]);
size_t sw_checkpoint_tensors_n(const struct sw_model *m);
void sw_checkpoint_tensor_encode(unsigned char out[CHECKPOINT_TENSOR],
				 const struct sw_checkpoint_tensor *t);
/* Checks what the line says: a name of printable ASCII without quotes, a rank, a size. *n:
 * floats. */
SW_NODISCARD sw_status sw_checkpoint_tensor_decode(struct sw_checkpoint_tensor *out, uint64_t *n,
						   const unsigned char in[CHECKPOINT_TENSOR],
						   struct sw_err *err);

/* Are the best epoch's weights others than the last's? */
bool sw_checkpoint_has_best(const struct sw_checkpoint_head *h);
/* Offsets in the file: the table behind the layer list, the label behind that, and the weights. */
uint64_t sw_checkpoint_table_at(const struct sw_checkpoint_head *h);
uint64_t sw_checkpoint_label_at(const struct sw_checkpoint_head *h);
uint64_t sw_checkpoint_weights_at(const struct sw_checkpoint_head *h);
/* Offsets of the best epoch's weights and running statistics, which are the last epoch's where that
 * is the best. */
uint64_t sw_checkpoint_best_at(const struct sw_checkpoint_head *h);
uint64_t sw_checkpoint_best_running_at(const struct sw_checkpoint_head *h);

/* --- checkpoint.c: for a writer --- */

/* For XXH3_freeState(); NULL: no memory. */
XXH3_state_t *sw_checkpoint_sum_start(void);
void sw_checkpoint_sum_end(const XXH3_state_t *sum, unsigned char out[CHECKPOINT_SUM]);
sw_status sw_checkpoint_errno(int code);

/* --- checkpoint.c: for a reader without a net --- */

/* Is it a whole checkpoint of this version, with the right checksum? */
SW_NODISCARD sw_status sw_checkpoint_check(int fd, struct sw_checkpoint_head *out,
					   struct sw_err *err);
/* Exactly n bytes at the offset. SW_INVALID: there are fewer. */
SW_NODISCARD sw_status sw_checkpoint_take(int fd, void *out, size_t n, uint64_t offset,
					  struct sw_err *err);

/* Returns the bytes of header and layer list. */
size_t sw_checkpoint_encode(unsigned char out[CHECKPOINT_HEAD], const struct sw_net *net,
			    const struct sw_checkpoint_id *id);

/* Reads the fixed part. size: of the file; all lengths are checked against it, so that a damaged
 * number allocates and reads nothing. err has a line without the file's name. */
SW_NODISCARD sw_status sw_checkpoint_decode(struct sw_checkpoint_head *out,
					    const unsigned char in[CHECKPOINT_FIXED], uint64_t size,
					    struct sw_err *err);

/* Is it of this trial and epoch, and does it fit the net? layers: the layer list. Called when the
 * checksum was found right. */
SW_NODISCARD sw_status sw_checkpoint_fits(const struct sw_checkpoint_head *h,
					  const unsigned char *layers, const struct sw_net *net,
					  const struct sw_checkpoint_id *id, struct sw_err *err);

#endif
