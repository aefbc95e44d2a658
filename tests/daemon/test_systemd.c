/* tests/daemon/test_systemd.c — what a service manager gave is nobody else's. */
#include "daemon/systemd.h"
#include "tests/run.h"
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

TEST(systemd_variables_are_gone_whoever_they_were_meant_for)
{
	static const char *const names[] = {"LISTEN_FDS",    "LISTEN_PID",    "LISTEN_FDNAMES",
					    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"};
	struct sw_err err = SW_ERR_INIT;
	struct sw_systemd s;
	char path[108] = "as it was";

	for (size_t i = 0; i < ROWS(names); i++)
		ck_assert_int_eq(setenv(names[i], "1", 1), 0);
	ck_assert_int_eq(sw_systemd_take(&s, path, sizeof path, &err), SW_OK);
	for (size_t i = 0; i < ROWS(names); i++)
		ck_assert_msg(getenv(names[i]) == NULL, "%s", names[i]);
	ck_assert_int_eq(s.listen_fd, 0);
	ck_assert_int_eq(s.watchdog_us, 0);
	ck_assert_str_eq(path, "as it was");
	sw_systemd_tell(&s, "READY=1"); /* "1" is no socket's name */
}

/* A socket of another kind would be accepted from, and say nothing that is understood. */
TEST(systemd_socket_is_a_stream_that_listens)
{
	static const struct {
		int type;
		bool listens;
		sw_status rc;
	} rows[] = {{SOCK_STREAM, true, SW_OK},
		    {SOCK_STREAM, false, SW_INVALID},
		    {SOCK_SEQPACKET, true, SW_INVALID},
		    {SOCK_DGRAM, false, SW_INVALID}};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char pid[20], path[108];
	struct sw_systemd s;

	(void)snprintf(pid, sizeof pid, "%ld", (long)getpid());
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct sw_err err = SW_ERR_INIT;
		const int fd = socket(AF_UNIX, rows[i].type, 0);

		(void)snprintf(a.sun_path, sizeof a.sun_path, "/tmp/sw_systemd.%s.%zu", pid, i);
		ck_assert_int_eq(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
		ck_assert(!rows[i].listens || listen(fd, 1) == 0);
		const int kept = dup(3); /* Check's own */

		ck_assert_int_eq(dup2(fd, 3), 3);
		ck_assert_int_eq(setenv("LISTEN_FDS", "1", 1), 0);
		ck_assert_int_eq(setenv("LISTEN_PID", pid, 1), 0);
		const sw_status rc = sw_systemd_take(&s, path, sizeof path, &err);
		(void)unlink(a.sun_path);
		(void)close(fd);
		ck_assert_int_eq(dup2(kept, 3), 3);
		(void)close(kept);
		ck_assert_int_eq(rc, rows[i].rc);
		ck_assert_int_eq(s.listen_fd, rc == SW_OK ? 3 : 0);
	}
}

RUN_TESTS(NULL, NULL)
