/* daemon/verify/replay_main.h — `sweepd replay DB [SWEEP]`: is a database what its events say? */
#ifndef SW_DAEMON_VERIFY_REPLAY_MAIN_H
#define SW_DAEMON_VERIFY_REPLAY_MAIN_H

#include <stdio.h>

#define SW_REPLAY_SAME   0
#define SW_REPLAY_DIFFER 1 /* a stored sweep is not what its events lead to */
#define SW_REPLAY_USAGE  2
#define SW_REPLAY_FILE   3 /* no such file, not a sweepd database, damaged, of another schema */

/* argv[0] is "replay". Writes one line a sweep to out, what went wrong and, on a terminal, how far
 * it is to errors. Returns one of the above, the exit status. */
int sw_replay_main(int argc, char *const *argv, FILE *out, FILE *errors);

#endif
