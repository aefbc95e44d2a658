/*
 * proto/checkpoint_path.h — the name of a trial's state: TRIAL-STEP.ckpt, a file of the trainer's
 * or a folder of a program's; and of a program's own folder, TRIAL.dir, as if of step 0.
 *
 * Worker and daemon share the folder that it lies in, so the name is part of what they agree on. A
 * file that is still written has another one, ".tmp-...", and is renamed when it is whole.
 * Pure
 */
#ifndef SW_PROTO_CHECKPOINT_PATH_H
#define SW_PROTO_CHECKPOINT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_CHECKPOINT_NAME_MAX 64 /* bytes of a name, its "/" and NUL included */

/* out[cap]: the path in dir, or with dir NULL the name alone. What does not fit is cut: cap is at
 * least strlen(dir) + SW_CHECKPOINT_NAME_MAX. */
void sw_checkpoint_path(char *out, size_t cap, const char *dir, uint64_t trial, uint64_t step);
/* Reads them back from a path or a name; false: not such a name. */
bool sw_checkpoint_path_read(const char *path, uint64_t *trial, uint64_t *step);

#endif
