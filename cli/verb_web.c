/* cli/verb_web.c — `web`: finds the daemon, then becomes the program that serves the page. */
#include "cli/beside.h"
#include "cli/verb.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is there a desktop that could show a browser? Through ssh there is none. */
static bool has_desktop(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return getenv("SSH_CONNECTION") == NULL &&
	       ((x != NULL && x[0] != '\0') || (wayland != NULL && wayland[0] != '\0'));
}

int sw_verb_web(struct sw_cli *c)
{
	char name[] = "sweep-web", found[] = "--found", socket[] = "--socket", host[] = "--host";
	char at[PATH_MAX], port[24];
	char read_only[] = "read-only", open_it[] = "open";
	char *words[8] = {name};
	struct sw_err err = SW_ERR_INIT;
	size_t n = 1;

	if (c->args.port > 65535)
		return sw_cli_usage(c, "web: --port is at most 65535");
	/* What is wrong with the daemon is said here, in this program's words. The far one is
	 * dialled once, by the other program: ssh may ask for a password. */
	if (c->args.host == NULL) {
		const int status = sw_cli_failed(c, sw_cli_connect(c, &c->client, &err), &err);
		if (status != SW_EXIT_DONE)
			return status;
	}
	if (c->args.host == NULL && getenv("SSH_CONNECTION") != NULL && isatty(STDERR_FILENO) &&
	    !(c->args.given & SW_OPT_PORT))
		sw_cli_say(c, "for a browser on another machine, there: "
			      "ssh -t -L 8642:127.0.0.1:8642 THIS sweep web --port 8642");
	(void)snprintf(port, sizeof port, "%u", (unsigned)c->args.port);
	words[n++] = c->args.host != NULL ? host : c->socket_given ? socket : found;
	words[n++] = c->args.host != NULL ? (char *)c->args.host : c->socket;
	/* The commands that the page shows are for another terminal: in another folder, and without
	 * this one's SWEEPD_SOCKET. */
	if (c->args.host == NULL && c->socket[0] != '/' && realpath(c->socket, at) != NULL &&
	    strlen(at) < sizeof c->socket)
		words[n - 1] = at;
	words[n++] = port;
	if (c->args.given & SW_OPT_READ_ONLY)
		words[n++] = read_only;
	if (!(c->args.given & SW_OPT_NO_OPEN) && has_desktop())
		words[n++] = open_it;
	sw_cli_say(c, "cannot run sweep-web: %s", strerror(sw_beside_web(words)));
	return SW_EXIT_REFUSED;
}
