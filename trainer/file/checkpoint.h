/*
 * trainer/file/checkpoint.h — a trial's state after an epoch, in a file: what training goes on from
 * as if it had never stopped; and the weights of its best epoch so far, which are what is exported.
 *
 * The order of rows and the masks of dropout are functions of (seed, epoch, update), so
 * that these three numbers, the weights and the optimizer's tensors are all the state there is.
 *
 * Format   checkpoint_format.h has it in full: little endian, a header, the layer list, the
 *          model's label, float32 tensors without gaps, XXH3-128 over all of it. Nothing in it is a
 *          path or is executed.
 * Shapes   It holds no hyperparameter: a trial with another learning rate, batch size, momentum or
 *          dropout may go on from it (pbt). Layers and the optimizer must be the same.
 * Files    <dir>/<trial>-<epoch>.ckpt, mode 0600. Written beside it as .tmp-<trial>-<epoch>-XXXXXX,
 *          synced, renamed, the folder synced: the name holds a whole file or what it held before.
 * Memory   Writing holds one tensor set on the host, reading all of them; freed before return.
 * Errors   One line in err that names the file and not its folder.
 * Source   XXH3: Collet, xxHash 0.8, doc/xxhash_spec.md.
 */
#ifndef SW_TRAINER_FILE_CHECKPOINT_H
#define SW_TRAINER_FILE_CHECKPOINT_H

#include "trainer/net/net.h"

#define SW_CHECKPOINT_VERSION 1

struct sw_checkpoint_id {
	uint64_t sweep, trial; /* whose state it is */
	uint64_t epoch;        /* the last finished one */
};

/* With net->best, the weights of the best epoch so far. Makes dir, and the folder that it is in,
 * when they are not there. SW_FULL: no space or quota, or a limit on sizes; SW_IO; SW_TOO_BIG: the
 * path; SW_NOMEM; SW_DEVICE_LOST. What had this name before is then still there, unless only the
 * sync of the folder failed, which comes last. Cost: a download and a write of 4 bytes for each
 * parameter and optimizer state, three syncs. */
SW_NODISCARD sw_status sw_checkpoint_write(struct sw_net *net, const struct sw_checkpoint_id *id,
					   const char *dir, struct sw_err *err);

/* Puts the state into a net that has made no update yet; net->seed, net->step and net->best become
 * the file's.
 * id: what the file must be of. SW_NOT_FOUND: no such file; SW_INVALID: no checkpoint, cut short,
 * damaged, another's, or of other shapes; SW_IO; SW_NOMEM; SW_DEVICE_LOST. Unless it is
 * SW_DEVICE_LOST the net is as it was after a failure. Cost: two reads of the file, an upload. */
SW_NODISCARD sw_status sw_checkpoint_read(struct sw_net *net, const struct sw_checkpoint_id *id,
					  const char *path, struct sw_err *err);

/* The newest checkpoint of a trial in the folder that is of an epoch below `below`: its epoch; 0:
 * it has no such file, or the folder cannot be read. Cost: one pass over the folder. */
uint64_t sw_checkpoint_before(const char *dir, uint64_t trial, uint64_t below);

#endif
