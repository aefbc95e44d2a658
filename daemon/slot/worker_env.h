/* daemon/slot/worker_env.h — what a program that reads foreign files sees of the daemon's
 * environment: a worker, and `sweep-worker check`. */
#ifndef SW_DAEMON_SLOT_WORKER_ENV_H
#define SW_DAEMON_SLOT_WORKER_ENV_H

#define SW_WORKER_ENV_MAX 128

/* more ("NAME=value", NULL-terminated), then those of the daemon's own that are on a short list and
 * that `more` does not name; NULL-terminated. The texts are borrowed. */
void sw_worker_env_fill(char *env[SW_WORKER_ENV_MAX + 1], char *const more[]);

#endif
