/* cli/beside.h — the programs that are installed beside this one. */
#ifndef SW_CLI_BESIDE_H
#define SW_CLI_BESIDE_H

#include <limits.h>
#include <sys/types.h>

#define SW_BESIDE_MAX (PATH_MAX + 16)

/* The path of `name` in this program's folder; the value of the variable `given` counts more (a
 * test's, or another build's). */
void sw_beside_path(const char *name, const char *given, char out[SW_BESIDE_MAX]);

/* Starts the program; in: its stdin, -1: this one's. 0 or an errno. */
int sw_beside_spawn(const char *path, char *const argv[], int in, pid_t *pid);

/* Starts `sweepd validate`, which answers sweep.validate as a daemon does: *fd is a socket to it,
 * the caller's. It ends when that is closed. 0 or an errno. */
int sw_beside_validate(int *fd);

#endif
