/*
 * daemon/pilot/others.h — jobs of this user that another state folder's sweepd asked for, as the
 * last good list names them. That sweepd may live, or be gone with its folder: no list can tell.
 */
#ifndef SW_DAEMON_PILOT_OTHERS_H
#define SW_DAEMON_PILOT_OTHERS_H

#include "base/status.h"
#include "daemon/pilot/state.h"
#include "proto/json.h"

/* With it all names of all state folders begin: "sweepd-3f2a91c04b7d-17.0". */
#define SW_PILOT_ALL "sweepd-"

/* Reads the output of a list that went well; at most 1,000 of the jobs are kept. */
void sw_others_read(struct sw_daemon_pilot *all, const char *text);
/* "others" of device.list: an object for each state folder. */
void sw_others_write(const struct sw_daemon_pilot *all, struct sw_jw *w);
/* The jobs of one state folder, "sweepd-3f2a91c04b7d", valid up to the next list; *n > 0 if SW_OK.
 * SW_INVALID: not such a name, or this folder's own; SW_NOT_FOUND: no job of it is known. */
SW_NODISCARD sw_status sw_others_find(const struct sw_daemon_pilot *all, const char *folder,
				      const struct sw_pilot_line **first, size_t *n,
				      struct sw_err *err);

#endif
