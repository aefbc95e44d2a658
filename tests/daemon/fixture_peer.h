/* tests/daemon/fixture_peer.h — those who talk to the daemon: clients and workers, each a real unix
 * socket in this process. What they get is written into fixture_seen. */
#ifndef SW_TESTS_DAEMON_FIXTURE_PEER_H
#define SW_TESTS_DAEMON_FIXTURE_PEER_H

#include <stdbool.h>
#include <stddef.h>

#define FIXTURE_PEERS 12

struct fixture_peer; /* opaque */

/* The peer of that name, connected to the socket at path if it is not yet. */
struct fixture_peer *fixture_peer_of(const char *name, const char *path);
/* Sends a request; how its answer is shown follows from the method. */
void fixture_peer_ask(struct fixture_peer *p, const char *method, const char *params);
/* Asks for what changed in the sweep since its last answer, for so long. */
void fixture_peer_follow(struct fixture_peer *p, int sweep, const char *wait_s);
/* Sends text, with ' for " and $ for the end of a line. An answer is shown as it comes. */
void fixture_peer_send(struct fixture_peer *p, const char *text, size_t n);
/* Sends what waits and takes what has come, of all of them: what the speaker (NULL: nobody) gets
 * is shown without its name. True: something went or came. */
bool fixture_peers_read(const struct fixture_peer *speaker);
/* It reads nothing from now on, or reads again. */
void fixture_peer_deaf(struct fixture_peer *p, bool deaf);
void fixture_peer_close(struct fixture_peer *p);
void fixture_peer_leave(const char *name); /* the same, of whoever has that name, if it is there */
void fixture_peers_close(void);            /* all */

/* fixture_line.c: the request of a line of a story (fixture.h), said by the peer that it names. */
struct fixture_peer *fixture_say_line(const char *line, const char *socket);
/* A sweep of fixture.h with these keys. */
void fixture_submit(struct fixture_peer *p, const char *keys, bool trainer);

#endif
