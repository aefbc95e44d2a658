/*
 * daemon/slot/xid.h — what the driver's numbered errors (XIDs) mean for the GPU's users.
 *
 * Pure     Source: NVIDIA's catalogue of XID errors (docs.nvidia.com/deploy/xid-errors).
 */
#ifndef SW_DAEMON_SLOT_XID_H
#define SW_DAEMON_SLOT_XID_H

#include <stdbool.h>

/* After it the GPU works again only when it was reset, whatever its readings say. */
bool sw_xid_is_loss(unsigned xid);
/* A few words for each number. */
const char *sw_xid_words(unsigned xid);

#endif
