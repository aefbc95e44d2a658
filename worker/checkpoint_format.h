/* worker/checkpoint_format.h — the header of a checkpoint as bytes (docs/checkpoint.md): what
 * checkpoint.c (files) and checkpoint_format.c (meaning) share. */
#ifndef SW_WORKER_CHECKPOINT_FORMAT_H
#define SW_WORKER_CHECKPOINT_FORMAT_H

#include "worker/checkpoint.h"

#define CHECKPOINT_FIXED 104 /* bytes before the layer list */
#define CHECKPOINT_LAYER 24
#define CHECKPOINT_SUM   16
#define CHECKPOINT_HEAD  (CHECKPOINT_FIXED + CHECKPOINT_LAYER * SW_MODEL_MAX_OPS)

struct checkpoint_head {
	uint32_t version, layers_n, optimizer, states_n;
	uint64_t bytes; /* of the file */
	struct sw_checkpoint_id id;
	uint64_t step, seed, parameters;
	uint64_t running; /* floats of running statistics, without gaps */
	double best_loss;
	uint64_t stale;
};

/* Floats of a net's running statistics without gaps. */
uint64_t checkpoint_running(const struct sw_model *m);

/* Returns the bytes of header and layer list. */
size_t checkpoint_encode(unsigned char out[CHECKPOINT_HEAD], const struct sw_net *net,
			 const struct sw_checkpoint_id *id);

/* The fixed part. size: of the file. What it says of lengths is checked against size, so that
 * nothing is allocated or read by a damaged number. err has a line without the file's name. */
SW_NODISCARD sw_status checkpoint_decode(struct checkpoint_head *out,
					 const unsigned char in[CHECKPOINT_FIXED], uint64_t size,
					 struct sw_err *err);

/* Is it of this trial and epoch, and does it fit the net? layers: the layer list. Called when the
 * checksum was found right. */
SW_NODISCARD sw_status checkpoint_fits(const struct checkpoint_head *h, const unsigned char *layers,
				       const struct sw_net *net, const struct sw_checkpoint_id *id,
				       struct sw_err *err);

#endif
