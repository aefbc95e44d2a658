/*
 * web/session.h — whose the page is: who opened the URL that `sweep web` printed.
 *
 * The token of that URL is exchanged at the first request, so that it stands in no address
 * afterwards: for a cookie, and for a key that the page's script keeps and sends with each POST.
 * Cookies know no port: a browser shows them to whatever else it visits on this machine; what a
 * page has stored it shows to that page alone.
 *
 * The browser is started with the URL among its arguments, which every user of the machine can
 * read: so the kernel is asked whose a connection is. Host and Origin are checked, too: a page from
 * elsewhere whose name was bound to 127.0.0.1 (DNS rebinding) has another Host, and one that sends
 * requests here has another Origin.
 */
#ifndef SW_WEB_SESSION_H
#define SW_WEB_SESSION_H

#include <netinet/in.h>
#include <stdbool.h>

#define SW_SESSION_SECRET 43 /* bytes of text: 256 bits in base64url, and a NUL */

struct sw_web_session {
	char token[SW_SESSION_SECRET + 1], cookie[SW_SESSION_SECRET + 1],
		key[SW_SESSION_SECRET + 1];
	char name[24]; /* of the cookie: cookies know no port, and there may be another page */
	unsigned port;
};

/* Draws the secrets. False: the kernel gives no random bytes. */
bool sw_web_session_make(struct sw_web_session *s);
void sw_web_session_listen(struct sw_web_session *s, unsigned port);

/* Does the kernel name another user (not root) as the one whose connection comes from there, or
 * say that it was closed? One built without sock_diag says nothing; then the token alone counts. */
bool sw_web_session_is_other(const struct sw_web_session *s, const struct sockaddr_in *from);

/* Is it what a browser sends of this page? host, given: NULL where it sends none. */
bool sw_web_session_is_host(const struct sw_web_session *s, const char *host);
bool sw_web_session_is_origin(const struct sw_web_session *s, const char *origin);
/* Compares in constant time. */
bool sw_web_session_is_secret(const char *secret, const char *given);

#endif
