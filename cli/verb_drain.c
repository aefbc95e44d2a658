/* cli/verb_drain.c — `drain`: no more trials are handed out, and what runs is waited for. */
#include "cli/verb.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One look a second. On a terminal the line is written over; elsewhere a change is a new one. */
static void say_running(const struct sw_cli *c, uint64_t running, uint64_t *said)
{
	char text[96];

	if (running == *said)
		return;
	*said = running;
	(void)snprintf(text, sizeof text, "%llu trial%s on slots run%s; no other is handed out",
		       (unsigned long long)running, running == 1 ? "" : "s",
		       running == 1 ? "s" : "");
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r%s\033[K", text);
	else
		sw_cli_say(c, "%s", text);
}

/* Until nothing runs, or (stop) the daemon is gone. An exit status. */
static int wait_idle(struct sw_cli *c, bool stop)
{
	const struct timespec pause = {.tv_nsec = 200000000};
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	uint64_t running = UINT64_MAX, said = UINT64_MAX;
	sw_status rc = SW_OK;
	bool on = true;

	/* Whether it drains is asked each time: another user may have taken it back. */
	while (rc == SW_OK && on && (stop || running > 0)) {
		rc = sw_client_call(c->client, "daemon.info", NULL, SW_CLIENT_REPLY_MS, &r, &err);
		if (rc != SW_OK)
			break; /* it has ended */
		on = cJSON_IsTrue(sw_json_get(r.result, "draining"));
		if (sw_json_u64(sw_json_get(r.result, "running"), &running) && on)
			say_running(c, running, &said);
		if (stop || running > 0)
			(void)nanosleep(&pause, NULL);
	}
	sw_client_reply_fini(&r);
	if (isatty(STDERR_FILENO) && said != UINT64_MAX)
		(void)fputs("\n", stderr);
	if (!on) {
		sw_cli_say(c, "another `sweep drain --off` took it back");
		return SW_EXIT_REFUSED;
	}
	/* of a daemon that ends the connection is lost */
	if (rc != SW_OK && (!stop || (rc != SW_IO && rc != SW_NOT_FOUND)))
		return sw_cli_failed(c, rc, &err);
	(void)sw_buf_addf(&c->out, "%s\n",
			  stop ? "the daemon has ended"
			       : "nothing runs; `sweep drain --off` or a restart hands out again");
	return SW_EXIT_DONE;
}

int sw_verb_drain(struct sw_cli *c)
{
	const bool off = (c->args.given & SW_OPT_OFF) != 0,
		   stop = (c->args.given & SW_OPT_STOP) != 0;
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_buf params;
	struct sw_jw w;

	if (off && stop)
		return sw_cli_usage(c, "drain: --off and --stop exclude each other");
	sw_cli_begin(c, &params, &w);
	sw_jw_kbool(&w, "on", !off);
	sw_jw_kbool(&w, "stop", stop);
	sw_jw_obj_end(&w);
	const int status = sw_cli_call_written(c, "daemon.drain", &params, &r);
	sw_client_reply_fini(&r);
	if (status != SW_EXIT_DONE || c->args.given & SW_OPT_JSON)
		return status;
	if (!off)
		return wait_idle(c, stop);
	(void)sw_buf_adds(&c->out, "trials are handed out again\n");
	return SW_EXIT_DONE;
}
