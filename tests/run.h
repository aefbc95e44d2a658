/*
 * tests/run.h — the main of a suite of Check tests. A test file ends with
 *
 *	SUITE(tcase)
 *	{
 *		tcase_add_test(tcase, buf_append_keeps_bytes_and_nul);
 *		tcase_add_rows(tcase, rpc_request_is_read, requests);
 *	}
 *
 * Each test runs in a process of its own. One that hangs is ended after 120 s times
 * CK_TIMEOUT_MULTIPLIER; tcase_set_timeout() says otherwise.
 */
#ifndef SW_TESTS_RUN_H
#define SW_TESTS_RUN_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Check tells its parent of each assertion that held, through a file: half of the time that a suite
 * takes, and most of it with sanitizers. It serves to say after which of them a test crashed; what
 * crashes here is found by the name of the test and the sanitizers' trace. */
#define _mark_point(file, line) ((void)0)

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* The test once for each row of a table; `_i` is the row. */
#define tcase_add_rows(tcase, test, table) tcase_add_loop_test(tcase, test, 0, (int)ROWS(table))

#define SUITE(tcase)                                                                               \
	static void suite_fill(TCase *tcase);                                                      \
	int main(void)                                                                             \
	{                                                                                          \
		return suite_run(__FILE__, suite_fill);                                            \
	}                                                                                          \
	static void suite_fill(TCase *tcase)

/* A process's exit status: 0 if all passed. */
static inline int suite_run(const char *file, void (*fill)(TCase *tcase))
{
	const char *name = strrchr(file, '/');
	Suite *suite = suite_create(name != NULL ? name + 1 : file);
	TCase *tcase = tcase_create("");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 120);
	fill(tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
