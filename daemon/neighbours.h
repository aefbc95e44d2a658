/*
 * daemon/neighbours.h — other sweepds of this machine, of any user and state folder, on the same
 * cores or GPUs.
 *
 * A name in the abstract socket namespace says what each has, and /proc/net/unix shows all of them,
 * without a folder that users share. It cannot see a daemon in another network namespace (most
 * containers), other programs, or that `taskset` keeps two daemons apart.
 */
#ifndef SW_DAEMON_NEIGHBOURS_H
#define SW_DAEMON_NEIGHBOURS_H

struct sw_daemon;

/* Says what this daemon's slots are on, and logs one line if another's are there, too. The names
 * stay as long as the process. */
void sw_neighbours_look(const struct sw_daemon *d);

#endif
