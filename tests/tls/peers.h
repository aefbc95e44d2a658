/* tests/tls/peers.h — both ends of a TLS link in one process: a listener that notes what it is
 * told, and clients that are not as they should be. */
#ifndef SW_TESTS_TLS_PEERS_H
#define SW_TESTS_TLS_PEERS_H

#include "tls/dial.h"
#include "tls/listen.h"
#include <openssl/ssl.h>

#define WAIT_MS 60000

struct heard { /* of the listener */
	unsigned joined, refused;
	unsigned open_most; /* descriptors of this process when one was refused */
	int fds[16];        /* of those that joined, in their order */
	char identity[64];
	char from[64], why[256]; /* of the last that was refused */
};

extern const unsigned char key_of_good[32], key_of_other[32];
extern struct sw_tls_listener *listener;

void listener_up(unsigned port);
void listener_down(void);
void listener_hold(bool on); /* its next event waits */
void forget_good(void);      /* its key is unknown from now on */
struct heard heard(void);
struct heard until_joined(unsigned n); /* all fail the test after WAIT_MS */
struct heard until_refused(unsigned n);

struct sw_tls_dial *dial_up(const char *identity, const unsigned char key[32]);
int dial_connect(const struct sw_tls_dial *d); /* to its unix socket; non-blocking */

int tcp_connect(void);                 /* to the listener; blocking */
void say(int fd, const char *text);    /* all of it, waiting */
void expect(int fd, const char *text); /* reads exactly it */
void expect_end(int fd);               /* nothing more but the end comes */
size_t stuff(int fd, size_t most);     /* writes until no more goes for a second */
size_t drain(int fd, size_t most);     /* reads that many of what stuff() wrote */

/* A handshake at the listener by OpenSSL itself. identity NULL: no key; false: it failed. */
bool shake(const char *identity, const unsigned char key[32], int version);

/* A server that has a certificate, and no key. */
struct impostor {
	int door;
	unsigned port;
};

struct impostor impostor_up(void);
bool impostor_hears(struct impostor *i); /* one connection: a byte of what is for the daemon */

#endif
