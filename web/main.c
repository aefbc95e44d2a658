/*
 * web/main.c — `sweep-web`, which `sweep web` becomes: serves the page until a signal comes.
 *
 *   sweep-web --socket PATH | --found PATH | --host HOST  PORT [read-only] [open]
 *
 * The verb (cli/verb_web.c) has read the options, and has found the daemon: at a path that it was
 * given, or where any `sweep` finds it.
 */
#include "web/routes.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUICK_MS 10000 /* a few rows, from a daemon that may be at a slow commit */

static int fail(const char *line)
{
	(void)fprintf(stderr, "sweep: web: %s\n", line);
	return 1;
}

/* The browser of the desktop, where there is one: nobody's child, so that nobody waits for it, and
 * without this terminal or what this program does with signals. */
static void open_browser(const char *url, const sigset_t *mask)
{
	const pid_t child = fork();

	if (child > 0)
		(void)waitpid(child, NULL, 0);
	if (child != 0)
		return;
	(void)setsid();
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	if (fork() == 0)
		(void)execlp("xdg-open", "xdg-open", url, (char *)NULL);
	_exit(0);
}

/* client: of another machine; NULL: of this one. */
static sw_status start(struct sw_web *web, const char *socket, struct sw_client *client,
		       unsigned port, struct sw_err *err)
{
	sw_status rc;

	web->quick = (struct sw_link){.socket = socket,
				      .host = web->host,
				      .tick = sw_events_tick,
				      .arg = &web->events,
				      .tick_ms = SW_EVENTS_MS,
				      .reply_ms = client != NULL ? SW_CLIENT_REPLY_MS : QUICK_MS};
	web->slow = (struct sw_link){.socket = socket, .reply_ms = SW_CLIENT_REPLY_MS};
	web->plots = client != NULL ? &web->quick : &web->slow;
	web->http.route = sw_web_route;
	web->http.arg = web;
	if (!sw_web_session_make(&web->http.session))
		return sw_err_set(err, SW_IO, "the kernel gives no random bytes");
	rc = sw_link_start(&web->quick, client, err);
	if (rc == SW_OK && client == NULL)
		rc = sw_link_start(&web->slow, NULL, err);
	return rc == SW_OK ? sw_http_start(&web->http, port, err) : rc;
}

int main(int argc, char **argv)
{
	static struct sw_web web = {.events.lock = PTHREAD_MUTEX_INITIALIZER};
	struct sw_err err = SW_ERR_INIT;
	struct sw_client *client = NULL;
	bool browser = false;
	char url[128];
	sigset_t ends, before;
	int sig;

	if (argc < 4)
		return fail("this is started by `sweep web`");
	if (strcmp(argv[1], "--host") == 0)
		web.host = argv[2];
	if (strcmp(argv[1], "--socket") == 0)
		web.socket = argv[2];
	for (int i = 4; i < argc; i++) {
		web.read_only |= strcmp(argv[i], "read-only") == 0;
		browser |= strcmp(argv[i], "open") == 0;
	}
	/* Now, while somebody is there to type a password, or Ctrl-C. */
	if (web.host != NULL && sw_client_dial(&client, web.host, false, &err) != SW_OK)
		return fail(err.msg);
	/* Before the threads, which inherit it: the signals are waited for here. */
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &ends, &before);
	(void)signal(SIGPIPE, SIG_IGN);
	if (start(&web, argv[2], client, (unsigned)strtoul(argv[3], NULL, 10), &err) != SW_OK)
		return fail(err.msg);
	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u/?token=%s", web.http.session.port,
		       web.http.session.token);
	(void)printf("%s\n", url);
	(void)fflush(stdout);
	if (browser)
		open_browser(url, &before);
	(void)sigwait(&ends, &sig);
	/* It holds nothing that an end could lose; libmicrohttpd would wait for its streams. */
	_exit(0);
}
