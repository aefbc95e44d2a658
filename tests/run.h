/*
 * tests/run.h — the main of a suite of Check tests, which a test joins where it stands:
 *
 *	TEST(buf_append_keeps_bytes_and_nul)
 *	{
 *		...
 *	}
 *
 *	TEST_ROWS(rpc_request_is_read, requests)
 *	{
 *		... requests[_i] ...
 *	}
 *
 *	RUN_TESTS(setup, teardown)
 *
 * setup and teardown run around each test; NULL: there is none. A suite that needs more says it in
 * SUITE(tcase) instead, as Check has it. Each test runs in a process of its own. One that hangs is
 * ended after 120 s times CK_TIMEOUT_MULTIPLIER; tcase_set_timeout() says otherwise. With
 * SW_FIRST_FAILURE in the environment the process ends at its first failure, which is all that
 * tests/planted wants to know.
 *
 * Check itself, <stdio.h>, <stdlib.h>, <string.h> and <unistd.h> come with it.
 */
#ifndef SW_TESTS_RUN_H
#define SW_TESTS_RUN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Check tells its parent of each assertion that held, through a file: half of the time that a suite
 * takes, and most of it with sanitizers. It serves to say after which of them a test crashed; what
 * crashes here is found by the name of the test and the sanitizers' trace. */
#define _mark_point(file, line) ((void)0)

static inline void suite_failed(const char *file, int line, const char *what)
{
	if (getenv("SW_FIRST_FAILURE") == NULL)
		return;
	(void)fprintf(stderr, "%s:%d:F: %s\n", file, line, what);
	_exit(EXIT_FAILURE);
}

#define _ck_assert_failed(file, line, what, ...)                                                   \
	(suite_failed(file, line, what), (_ck_assert_failed)(file, line, what, __VA_ARGS__))

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* The tests of this file, in their order. */
static inline TCase *suite_tests(void)
{
	static TCase *tcase;

	if (tcase == NULL)
		tcase = tcase_create("");
	return tcase;
}

/* The test once for each `_i` from `from` up to, without, `to`. */
#define TEST_LOOP(name, from, to)                                                                  \
	static void name##_fn(int _i);                                                             \
	__attribute__((constructor)) static void name##_add(void)                                  \
	{                                                                                          \
		static const TTest test = {#name, name##_fn, __FILE__, __LINE__};                  \
		tcase_add_loop_test(suite_tests(), &test, from, to);                               \
	}                                                                                          \
	static void name##_fn(int _i CK_ATTRIBUTE_UNUSED)

#define TEST(name)             TEST_LOOP(name, 0, 1)
#define TEST_ROWS(name, table) TEST_LOOP(name, 0, (int)ROWS(table))

#define SUITE(tcase)                                                                               \
	static void suite_fill(TCase *tcase);                                                      \
	int main(void)                                                                             \
	{                                                                                          \
		return suite_run(__FILE__, suite_fill);                                            \
	}                                                                                          \
	static void suite_fill(TCase *tcase CK_ATTRIBUTE_UNUSED)

#define RUN_TESTS(setup, teardown)                                                                 \
	SUITE(tcase)                                                                               \
	{                                                                                          \
		tcase_add_checked_fixture(tcase, setup, teardown);                                 \
	}

/* A process's exit status: 0 if all passed. */
static inline int suite_run(const char *file, void (*fill)(TCase *tcase))
{
	const char *name = strrchr(file, '/');
	Suite *suite = suite_create(name != NULL ? name + 1 : file);
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, suite_tests());
	tcase_set_timeout(suite_tests(), 120);
	fill(suite_tests());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
