#include "tls/psk.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#define CIPHER "TLS_AES_128_GCM_SHA256" /* its hash is that of the keys */
static const unsigned char CIPHER_ID[2] = {0x13, 0x01};

bool sw_tls_identity_ok(const char *identity, size_t len)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";

	if (len == 0 || len >= SW_TLS_IDENTITY_CAP)
		return false;
	for (size_t i = 0; i < len; i++)
		if (identity[i] == '\0' || !strchr(allowed, identity[i]))
			return false;
	return true;
}

/* OpenSSL has an external key as a session that never took place. NULL: no memory. */
static SSL_SESSION *session_of(SSL *ssl, const unsigned char key[SW_TLS_KEY_BYTES])
{
	/* TLS 1.3 binds a key to a hash, which comes from a cipher. */
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, CIPHER_ID);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session && cipher && SSL_SESSION_set1_master_key(session, key, SW_TLS_KEY_BYTES) == 1 &&
	    SSL_SESSION_set_cipher(session, cipher) == 1 &&
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

/* A server's. 1 with no session: unknown, and the next identity that the client shows is tried;
 * after the last the handshake fails, since there is no certificate. */
static int on_find(SSL *ssl, const unsigned char *identity, size_t len, SSL_SESSION **session)
{
	struct sw_tls_party *party = SSL_get_app_data(ssl);
	unsigned char key[SW_TLS_KEY_BYTES];
	char name[SW_TLS_IDENTITY_CAP];
	int rc = 1;

	*session = NULL;
	/* For sw_tls_why(): a stranger without any key is told apart from one with a wrong name. */
	party->shown = true;
	if (!sw_tls_identity_ok((const char *)identity, len))
		return 1;
	memcpy(name, identity, len);
	name[len] = '\0';
	if (party->key(party->user, name, key)) {
		party->known = true;
		*session = session_of(ssl, key);
		rc = *session != NULL;
	}
	OPENSSL_cleanse(key, sizeof key);
	return rc;
}

/* A client's; OpenSSL takes the session, the identity stays ours. */
static int on_use(SSL *ssl, const EVP_MD *md, const unsigned char **identity, size_t *len,
		  SSL_SESSION **session)
{
	struct sw_tls_party *party = SSL_get_app_data(ssl);
	unsigned char key[SW_TLS_KEY_BYTES];

	(void)md; /* one cipher, one hash */
	*session = NULL;
	*identity = (const unsigned char *)party->identity;
	*len = strlen(party->identity);
	if (party->key(party->user, party->identity, key))
		*session = session_of(ssl, key);
	OPENSSL_cleanse(key, sizeof key);
	return *session != NULL;
}

SSL_CTX *sw_tls_context(bool server)
{
	SSL_CTX *c = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());

	if (!c)
		return NULL;
	if (SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(c, CIPHER) != 1 || SSL_CTX_set_num_tickets(c, 0) != 1) {
		SSL_CTX_free(c);
		return NULL;
	}
	/* No ticket and no cache: a session that is resumed would outlive a key that was taken
	 * away. */
	(void)SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
	(void)SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	/* a server without the key would show a certificate: nobody is trusted by one */
	SSL_CTX_set_verify(c, server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
	/* a peer that sends a row of key updates shall not hold the thread */
	(void)SSL_CTX_clear_mode(c, SSL_MODE_AUTO_RETRY);
	if (server)
		SSL_CTX_set_psk_find_session_callback(c, on_find);
	else
		SSL_CTX_set_psk_use_session_callback(c, on_use);
	return c;
}

SSL *sw_tls_new(SSL_CTX *context, bool server, int fd, struct sw_tls_party *party)
{
	SSL *ssl = SSL_new(context);

	if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_set_app_data(ssl, party) != 1) {
		SSL_free(ssl);
		ERR_clear_error();
		return NULL;
	}
	if (server)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	return ssl;
}

bool sw_tls_by_key(const SSL *ssl)
{
	return SSL_version(ssl) == TLS1_3_VERSION && SSL_session_reused(ssl) == 1;
}

/* The words for an error of OpenSSL's library; NULL: its own will do. */
static const char *reason_words(int reason)
{
	switch (reason) {
	case SSL_R_HTTP_REQUEST:
	case SSL_R_HTTPS_PROXY_REQUEST:
		return "it speaks HTTP, not TLS";
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
	case SSL_R_UNEXPECTED_MESSAGE:
		return "it speaks no TLS";
	case SSL_R_UNSUPPORTED_PROTOCOL:
		return "it offers no TLS 1.3";
	case SSL_R_NO_SHARED_CIPHER:
		return "it does not offer " CIPHER;
	default:
		return NULL;
	}
}

void sw_tls_why(SSL *ssl, const struct sw_tls_party *party, int result, char *out, size_t cap)
{
	const int saved = errno, kind = SSL_get_error(ssl, result);
	const unsigned long e = ERR_peek_last_error();
	const int reason = ERR_GET_REASON(e);
	const char *words = reason_words(reason), *theirs = ERR_reason_error_string(e);

	if (kind == SSL_ERROR_SYSCALL && saved != 0)
		snprintf(out, cap, "%s", strerror(saved));
	else if (kind != SSL_ERROR_SSL || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		snprintf(out, cap, "it closed before the handshake ended");
	else if (words)
		snprintf(out, cap, "%s", words);
	else if (reason == SSL_R_BINDER_DOES_NOT_VERIFY)
		snprintf(out, cap, "its key is wrong");
	else if (reason > SSL_AD_REASON_OFFSET)
		snprintf(out, cap, "the other end refused the handshake (%s)", theirs);
	else if (SSL_is_server(ssl) && !party->known)
		snprintf(out, cap, "%s",
			 party->shown ? "its identity is unknown" : "it shows no key");
	else
		snprintf(out, cap, "%s", theirs ? theirs : "the handshake failed");
	ERR_clear_error();
}
