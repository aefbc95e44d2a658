/*
 * trainer/file/export.h — the weights of a checkpoint's best epoch as a safetensors file.
 *
 * Format   8 bytes little endian: the length of the header; the header, JSON, padded with spaces to
 *          a multiple of 8; the tensors, row-major, without gaps. Names are those of PyTorch's
 *          state_dict of an nn.Sequential of the same list: "0.weight"; inside a residual
 *          "3.body.0.weight" and "3.projection.0.weight". The optimizer's state stays behind.
 * Memory   64 KiB, and the header.
 * Source   the safetensors format (Hugging Face), as its README describes it.
 */
#ifndef SW_TRAINER_FILE_EXPORT_H
#define SW_TRAINER_FILE_EXPORT_H

#include "base/status.h"
#include <stdint.h>

/* The epoch whose weights were exported: the best one that the checkpoint has. */
struct sw_exported {
	uint64_t sweep, trial, epoch;
};

/* from: a checkpoint, checked as a whole first. to: written beside it (".part") and renamed, so
 * that it is whole or what it was. SW_NOT_FOUND, SW_INVALID: from; SW_FULL, SW_IO, SW_NOMEM. */
SW_NODISCARD sw_status sw_export(const char *from, const char *to, struct sw_exported *out,
				 struct sw_err *err);

#endif
