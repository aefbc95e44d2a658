/* daemon/statedir.h — the state directory and its one lock. */
#ifndef SW_DAEMON_STATEDIR_H
#define SW_DAEMON_STATEDIR_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

/* Creates path[cap], at most PATH_MAX, (and its parents) 0700 where missing, makes it absolute in
 * place, refuses one that others may write in, and takes the lock. database: it holds the database,
 * so a network file system is refused, too (SQLite's WAL does not work there). *lock_fd is the
 * caller's: the lock ends when it is closed. SW_CONFLICT: another daemon has it; the line names its
 * pid. */
SW_NODISCARD sw_status sw_statedir_open(char *path, size_t cap, bool database, int *lock_fd,
					struct sw_err *err);

/* Writes into the lock file that lock_fd holds where the daemon listens, for clients that find it
 * by its state folder (sw_socket_path_told()). A full disk is no reason to stop. */
void sw_statedir_tell(int lock_fd, const char *socket);

/* Is the lock file that lock_fd holds still the one in dir? Not when the directory was removed or
 * replaced: then nothing written there is found again. */
bool sw_statedir_holds(const char *dir, int lock_fd);

/* Takes SW_STATEDIR_RESERVE bytes of dir's disk as the file `reserve`, or gives them back: a
 * deletion has to write before it makes room, on a full disk too. No room for it is no error. */
#define SW_STATEDIR_RESERVE (1 << 20)
void sw_statedir_reserve(const char *dir, bool take);

/* Creates the parent folders of path, 0700 where missing. */
SW_NODISCARD sw_status sw_statedir_parents(const char *path, struct sw_err *err);

/* SW_DENIED: somebody else could put files into the folder, or take them out: it belongs to neither
 * this user nor root, or group or others may write in it (`sticky`: unless the sticky bit keeps
 * them from what is not theirs, as in /tmp). The line begins with `what` and ends with `fix`. */
SW_NODISCARD sw_status sw_statedir_check(const char *folder, bool sticky, const char *what,
					 const char *fix, struct sw_err *err);

#endif
