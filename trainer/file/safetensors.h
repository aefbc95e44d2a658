/*
 * trainer/file/safetensors.h — reads a safetensors file: its metadata, and tensors of floats by
 * name.
 *
 * Checked  The header's length and form, and each tensor's place against the size of the file: all
 *          bytes belong to exactly one tensor's range, as the format says. There is no checksum.
 * Limits   A header of 16 MiB and 100,000 values.
 * Errors   SW_NOT_FOUND, SW_IO, SW_INVALID, SW_NOMEM: one line with the path.
 * Source   The safetensors format (Hugging Face), as its README describes it.
 */
#ifndef SW_TRAINER_FILE_SAFETENSORS_H
#define SW_TRAINER_FILE_SAFETENSORS_H

#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdint.h>

struct sw_checkpoint_tensor; /* trainer/file/checkpoint_format.h */

struct sw_safetensors {
	int fd;
	char show[84];   /* the path, for messages */
	cJSON *header;   /* {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {...}} */
	uint64_t begin;  /* of the tensors, in the file */
	uint64_t length; /* of them all, in bytes */
};

SW_NODISCARD sw_status sw_safetensors_open(struct sw_safetensors *s, const char *path,
					   struct sw_err *err);
void sw_safetensors_close(struct sw_safetensors *s);

/* Finds a text of the metadata; NULL: it has no such name. */
const char *sw_safetensors_meta(const struct sw_safetensors *s, const char *key);

/* Reads the tensor of this name into float[n], n the product of its dimensions. SW_INVALID: there
 * is none, or it is of another shape or type. */
SW_NODISCARD sw_status sw_safetensors_read(const struct sw_safetensors *s,
					   const struct sw_checkpoint_tensor *of, float *out,
					   struct sw_err *err);

#endif
