/* daemon/main.c — sweepd: the tuning service of one machine. */
#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/slot/executor.h"
#include "daemon/statedir.h"
#include "daemon/verify/replay_main.h"
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define EXIT_START 3 /* the state directory or the socket could not be used */

static sw_status open_log(const struct sw_config *c, struct sw_err *err)
{
	if (*c->log == '\0')
		return sw_log_open(NULL, c->log_level, err);
	/* Its folder may be the state directory, which is made later. */
	const sw_status rc = sw_statedir_parents(c->log, err);
	return rc == SW_OK ? sw_log_open(c->log, c->log_level, err) : rc;
}

int main(int argc, char **argv)
{
	static struct sw_daemon daemon;
	struct sw_config config;
	struct sw_err err = SW_ERR_INIT;
	uv_loop_t *loop = uv_default_loop();
	int rc = EXIT_SUCCESS;

	if (argc > 1 && strcmp(argv[1], "replay") == 0)
		return sw_replay_main(argc - 1, argv + 1, stdout, stderr);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN); /* until the loop takes it; workers get the default back */
	if (sw_config_parse(&config, argc, argv, &err) != SW_OK) {
		(void)fprintf(stderr, "sweepd: %s (see sweepd --help)\n", err.msg);
		return EXIT_USAGE;
	}
	if (config.help || config.version) {
		(void)printf("%s", config.help ? sw_config_usage() : "sweepd " SW_VERSION "\n");
		return EXIT_SUCCESS;
	}
	if (open_log(&config, &err) != SW_OK) {
		(void)fprintf(stderr, "sweepd: %s\n", err.msg);
		return EXIT_START;
	}
	if (loop == NULL) {
		(void)fprintf(stderr, "sweepd: cannot create the event loop\n");
		return EXIT_START;
	}
	if (sw_daemon_start(&daemon, loop, &sw_clock_system, &sw_executor_local, &config, &err) !=
	    SW_OK) {
		(void)fprintf(stderr, "sweepd: %s\n", err.msg);
		rc = EXIT_START;
	}
	(void)uv_run(loop, UV_RUN_DEFAULT);
	sw_daemon_fini(&daemon);
	(void)uv_run(loop, UV_RUN_DEFAULT); /* what the end itself closed */
	(void)uv_loop_close(loop);
	return rc;
}
