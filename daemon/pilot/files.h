/*
 * daemon/pilot/files.h — STATE/pilots: what pilots are told, which holds their keys, and what the
 * next start must know.
 *
 *   names         the prefix of all names, and the port
 *   probe         by which a pilot finds out if it sees the daemon's files
 *   NAME.i        what the pilot is told: its key among it; there for as long as its job is
 *   NAME.i.log    what it printed
 *
 * The folder is 0700, the files 0600. It may lie on a shared file system: once the daemon is up,
 * libuv's pool writes in it.
 */
#ifndef SW_DAEMON_PILOT_FILES_H
#define SW_DAEMON_PILOT_FILES_H

#include "base/status.h"
#include "daemon/pilot/state.h"

struct sw_daemon;

/* Makes the folder, and reads or draws the names. */
SW_NODISCARD sw_status sw_pilot_files_open(struct sw_daemon *d, struct sw_err *err);
/* d->pilot.port, for the next start. */
SW_NODISCARD sw_status sw_pilot_files_save(const struct sw_daemon *d, struct sw_err *err);
/* The file of the pilot of that name is written, or err says why not. */
typedef void sw_pilot_told_cb(struct sw_daemon *d, const char *name, const struct sw_err *err);
/* Draws a key, and has what the pilot is told written: told() follows if this is SW_OK. worker: its
 * id. */
SW_NODISCARD sw_status sw_pilot_files_tell(const struct sw_pilot *p, const char *worker,
					   unsigned char key[32], sw_pilot_told_cb *told,
					   struct sw_err *err);
/* Notes that it began. */
void sw_pilot_files_began(const struct sw_pilot *p);
/* Its key, its shape, p->time_s and p->began_ms again. False: it was told nothing that is there
 * still. */
bool sw_pilot_files_read(struct sw_pilot *p, unsigned char key[32]);
/* The last line that it printed, made harmless; "" for none. It is read at once. */
void sw_pilot_files_said(const struct sw_pilot *p, char *out, size_t cap);
/* Its key and all else of it. */
void sw_pilot_files_remove(struct sw_daemon *d, const char *name);

#endif
