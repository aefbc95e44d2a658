#include "web/session.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
/* These want the types of the above. */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

/* base64url without padding (RFC 4648, section 5). */
static bool draw(char out[SW_SESSION_SECRET + 1])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t raw[SW_SESSION_SECRET];

	if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
		return false;
	for (int i = 0; i < SW_SESSION_SECRET; i++)
		out[i] = digits[raw[i] % 64];
	out[SW_SESSION_SECRET] = '\0';
	return true;
}

bool sw_web_session_make(struct sw_web_session *s)
{
	return draw(s->token) && draw(s->cookie) && draw(s->key);
}

void sw_web_session_listen(struct sw_web_session *s, unsigned port)
{
	s->port = port;
	(void)snprintf(s->name, sizeof s->name, "sweepd-%u", port);
}

bool sw_web_session_is_other(const struct sw_web_session *s, const struct sockaddr_in *from)
{
	const struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 which;
	} ask = {
		.head = {.nlmsg_len = sizeof ask,
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST},
		.which = {.sdiag_family = AF_INET,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = UINT32_MAX,
			  .id = {.idiag_sport = from->sin_port,
				 .idiag_dport = htons((uint16_t)s->port),
				 .idiag_src = {from->sin_addr.s_addr},
				 .idiag_dst = {htonl(INADDR_LOOPBACK)},
				 .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg end;
		char more[1024]; /* attributes */
	} said;
	const int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n = -1;

	/* The answer is there when send() ends. */
	if (fd >= 0 && send(fd, &ask, sizeof ask, 0) == (ssize_t)sizeof ask)
		n = recv(fd, &said, sizeof said, MSG_DONTWAIT);
	if (fd >= 0)
		(void)close(fd);
	/* One that was closed already is nobody's, and 0 its user. */
	return n >= (ssize_t)(sizeof said - sizeof said.more) &&
	       said.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
	       (said.end.idiag_inode == 0 ||
		(said.end.idiag_uid != 0 && said.end.idiag_uid != geteuid()));
}

bool sw_web_session_is_host(const struct sw_web_session *s, const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char here[32];

	for (int i = 0; i < 2 && host != NULL; i++) {
		/* A browser leaves out the port that http has anyway. */
		(void)snprintf(here, sizeof here, s->port == 80 ? "%s" : "%s:%u", names[i],
			       s->port);
		if (strcmp(host, here) == 0)
			return true;
	}
	return false;
}

bool sw_web_session_is_origin(const struct sw_web_session *s, const char *origin)
{
	return strncmp(origin, "http://", 7) == 0 && sw_web_session_is_host(s, origin + 7);
}

bool sw_web_session_is_secret(const char *secret, const char *given)
{
	unsigned other = 0;

	if (given == NULL || strlen(given) != SW_SESSION_SECRET)
		return false;
	for (int i = 0; i < SW_SESSION_SECRET; i++)
		other |= (unsigned)(secret[i] ^ given[i]);
	return other == 0;
}
