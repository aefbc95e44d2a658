/* tls/psk.h — OpenSSL as this folder uses it: TLS 1.3, one cipher, a key that both ends know. */
#ifndef SW_TLS_PSK_H
#define SW_TLS_PSK_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

#define SW_TLS_IDENTITY_CAP 64 /* with its NUL */
#define SW_TLS_KEY_BYTES    32

/* Identity of the peer that proved the key. Owned by the SSL object. */
struct sw_tls_party {
	/* Fills the key; false: unknown. A server is asked for what the client shows. */
	bool (*key)(void *user, const char *identity, unsigned char key[SW_TLS_KEY_BYTES]);
	void *user;
	const char *identity; /* a client's own */
	bool shown;           /* a server: the client showed an identity */
	bool known;           /* and it was known */
};

bool sw_tls_identity_ok(const char *identity, size_t len);

/* NULL: no memory. The caller frees it. */
SSL_CTX *sw_tls_context(bool server);

/* A connection over the non-blocking socket fd, which stays the caller's. NULL: no memory. */
SSL *sw_tls_new(SSL_CTX *context, bool server, int fd, struct sw_tls_party *party);

/* After the handshake: was it made by the key? Nothing else would have got through; this says it
 * once more, of what stands between the port and the daemon. */
bool sw_tls_by_key(const SSL *ssl);

/* Why the call on ssl that has just returned `result` failed, in words; clears OpenSSL's errors. */
void sw_tls_why(SSL *ssl, const struct sw_tls_party *party, int result, char *out, size_t cap);

#endif
