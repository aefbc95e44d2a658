/* tests/daemon/test_systemd.c — what a service manager gave is nobody else's. */
#include "daemon/systemd.h"
#include "tests/run.h"
#include <unistd.h>

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

RUN_TESTS(NULL, NULL)
