#include "tests/tls/peers.h"
#include "tests/run.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

const unsigned char key_of_good[32] = {1, 2, 3}, key_of_other[32] = {4, 5, 6};
struct sw_tls_listener *listener;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct heard all;
static bool forgotten;
static bool counts_open; /* of a thousand refusals each would else read a thousand descriptors */

static bool on_key(void *user, const char *identity, unsigned char key[32])
{
	(void)user;
	pthread_mutex_lock(&lock);
	const bool good = strcmp(identity, "good-1.0") == 0 && !forgotten;
	const bool other = strcmp(identity, "other-1.0") == 0;

	pthread_mutex_unlock(&lock);
	if (good || other)
		memcpy(key, good ? key_of_good : key_of_other, 32);
	return good || other;
}

static void on_joined(void *user, const char *identity, int fd)
{
	(void)user;
	pthread_mutex_lock(&lock);
	if (all.joined < 16)
		all.fds[all.joined] = fd;
	all.joined++;
	strcpy(all.identity, identity);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static unsigned open_now(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void on_refused(void *user, const char *from, const char *why)
{
	(void)user;
	pthread_mutex_lock(&lock);
	const unsigned n = counts_open ? open_now() : 0;

	all.open_most = n > all.open_most ? n : all.open_most;
	all.refused++;
	snprintf(all.from, sizeof all.from, "%s", from);
	snprintf(all.why, sizeof all.why, "%s", why);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void listener_up(unsigned port)
{
	static const struct sw_tls_events events = {on_key, on_joined, on_refused};
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_tls_listen(&listener, "127.0.0.1", port, &events, NULL, &err) == SW_OK,
		      "%s", err.msg);
}

void listener_down(void)
{
	sw_tls_listener_close(listener);
	listener = NULL;
}

void listener_hold(bool on)
{
	if (!on) {
		pthread_mutex_unlock(&lock);
		return;
	}
	pthread_mutex_lock(&lock);
	counts_open = true;
}

void forget_good(void)
{
	pthread_mutex_lock(&lock);
	forgotten = true;
	pthread_mutex_unlock(&lock);
}

static struct heard until(const unsigned *count, unsigned n)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_MS / 1000;
	pthread_mutex_lock(&lock);
	while (*count < n)
		ck_assert_msg(pthread_cond_timedwait(&changed, &lock, &end) == 0,
			      "%u of %u; the last that was refused: %s", *count, n, all.why);
	const struct heard now = all;

	pthread_mutex_unlock(&lock);
	return now;
}

struct heard heard(void)
{
	return until(&all.joined, 0);
}

struct heard until_joined(unsigned n)
{
	return until(&all.joined, n);
}

struct heard until_refused(unsigned n)
{
	return until(&all.refused, n);
}

struct sw_tls_dial *dial_up(const char *identity, const unsigned char key[32])
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_tls_dial *d;

	ck_assert_msg(sw_tls_dial(&d, "127.0.0.1", sw_tls_listener_port(listener), identity, key,
				  &err) == SW_OK,
		      "%s", err.msg);
	return d;
}

int dial_connect(const struct sw_tls_dial *d)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, sw_tls_dial_path(d));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int tcp_connect(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((uint16_t)sw_tls_listener_port(listener))};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_msg(connect(fd, (struct sockaddr *)&at, sizeof at) == 0, "%s", strerror(errno));
	return fd;
}

/* false: nothing for ms. */
static bool ready(int fd, short events, int ms)
{
	return poll(&(struct pollfd){.fd = fd, .events = events}, 1, ms) > 0;
}

void say(int fd, const char *text)
{
	for (size_t n = strlen(text), done = 0; done < n;) {
		ck_assert(ready(fd, POLLOUT, WAIT_MS));
		const ssize_t sent = send(fd, text + done, n - done, MSG_NOSIGNAL);

		ck_assert_msg(sent > 0 || errno == EAGAIN, "%s", strerror(errno));
		done += sent > 0 ? (size_t)sent : 0;
	}
}

void expect(int fd, const char *text)
{
	char got[64] = "";
	size_t n = 0;

	while (n < strlen(text)) {
		ck_assert_msg(ready(fd, POLLIN, WAIT_MS), "only '%s' of '%s' came", got, text);
		const ssize_t one = recv(fd, got + n, strlen(text) - n, 0);

		ck_assert_msg(one > 0, "the end after '%s' of '%s'", got, text);
		n += (size_t)one;
	}
	ck_assert_str_eq(got, text);
}

void expect_end(int fd)
{
	char c;

	ck_assert(ready(fd, POLLIN, WAIT_MS));
	ck_assert_msg(recv(fd, &c, 1, 0) <= 0, "more came");
}

static unsigned char pattern(size_t at)
{
	return (unsigned char)(at ^ at >> 8 ^ at >> 16);
}

size_t stuff(int fd, size_t most)
{
	unsigned char block[4096];
	size_t done = 0;

	while (done < most && ready(fd, POLLOUT, 1000)) {
		for (size_t i = 0; i < sizeof block; i++)
			block[i] = pattern(done + i);
		const ssize_t n = send(fd, block,
				       most - done < sizeof block ? most - done : sizeof block,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		ck_assert_msg(n > 0 || errno == EAGAIN, "%s", strerror(errno));
		done += n > 0 ? (size_t)n : 0;
	}
	return done;
}

size_t drain(int fd, size_t most)
{
	unsigned char block[4096];
	size_t done = 0;

	while (done < most) {
		ck_assert_msg(ready(fd, POLLIN, WAIT_MS), "nothing after %zu bytes", done);
		const ssize_t n =
			recv(fd, block, most - done < sizeof block ? most - done : sizeof block, 0);

		ck_assert_msg(n > 0, "the end after %zu of %zu bytes", done, most);
		for (ssize_t i = 0; i < n; i++)
			ck_assert_uint_eq(block[i], pattern(done + (size_t)i));
		done += (size_t)n;
	}
	return done;
}

struct shown {
	const char *identity;
	const unsigned char *key;
};

static int on_use(SSL *ssl, const EVP_MD *md, const unsigned char **identity, size_t *len,
		  SSL_SESSION **session)
{
	const struct shown *shown = SSL_get_app_data(ssl);

	(void)md;
	*session = SSL_SESSION_new();
	SSL_SESSION_set1_master_key(*session, shown->key, 32);
	SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, (const unsigned char *)"\x13\x01"));
	SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
	*identity = (const unsigned char *)shown->identity;
	*len = strlen(shown->identity);
	return 1;
}

bool shake(const char *identity, const unsigned char key[32], int version)
{
	struct shown shown = {identity, key};
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	const int fd = tcp_connect();

	SSL_set_min_proto_version(ssl, version);
	SSL_set_max_proto_version(ssl, version);
	SSL_set_app_data(ssl, &shown);
	if (identity)
		SSL_set_psk_use_session_callback(ssl, on_use);
	SSL_set_fd(ssl, fd);
	const bool done = SSL_connect(ssl) == 1;

	SSL_free(ssl);
	SSL_CTX_free(context);
	close(fd);
	return done;
}

struct impostor impostor_up(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct impostor i = {.door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	socklen_t len = sizeof at;

	ck_assert_int_eq(bind(i.door, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(listen(i.door, 1), 0);
	ck_assert_int_eq(getsockname(i.door, (struct sockaddr *)&at, &len), 0);
	i.port = ntohs(at.sin_port);
	return i;
}

bool impostor_hears(struct impostor *i)
{
	const int fd = accept(i->door, NULL, NULL);
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	SSL *ssl = SSL_new(context);
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *own = X509_new();
	char c;

	X509_gmtime_adj(X509_getm_notBefore(own), 0);
	X509_gmtime_adj(X509_getm_notAfter(own), 3600);
	X509_set_pubkey(own, key);
	ck_assert_int_gt(X509_sign(own, key, EVP_sha256()), 0);
	ck_assert_int_eq(SSL_use_certificate(ssl, own), 1);
	ck_assert_int_eq(SSL_use_PrivateKey(ssl, key), 1);
	SSL_set_fd(ssl, fd);
	const bool hears = SSL_accept(ssl) == 1 && SSL_read(ssl, &c, 1) == 1;

	SSL_free(ssl);
	SSL_CTX_free(context);
	X509_free(own);
	EVP_PKEY_free(key);
	close(fd);
	close(i->door);
	return hears;
}
