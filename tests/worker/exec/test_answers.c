/* tests/worker/exec/test_answers.c — answers to a program that reads them late, or never. */
#include "tests/run.h"
#include "worker/exec/answers.h"
#include <sys/socket.h>

#define ODD "{\"decision\":\"continue\",\"not_stored\":\"line 3\"}\n"

static struct sw_answers answers;
static int way[2];

static void setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, way), 0);
	sw_answers_init(&answers);
}

static void add(const char *line, int times)
{
	for (int i = 0; i < times; i++) {
		sw_answers_add(&answers, line);
		sw_answers_send(&answers, way[0]);
	}
}

/* All that can be read is so many of these lines. */
static void want(const char *line, int times)
{
	char got[200];
	const size_t len = strlen(line);

	for (int i = 0; i < times; i++) {
		sw_answers_send(&answers, way[0]);
		for (size_t n = 0; n < len;) {
			const ssize_t some = recv(way[1], got + n, len - n, MSG_DONTWAIT);

			ck_assert_msg(some > 0, "%d of %d times %s", i, times, line);
			n += (size_t)some;
		}
		got[len] = '\0';
		ck_assert_str_eq(got, line);
	}
}

TEST(answers_keep_their_order_and_number)
{
	add(SW_ANSWERS_GOON, 1000);
	add(ODD, 1);
	add(SW_ANSWERS_GOON, 200000);
	want(SW_ANSWERS_GOON, 1000);
	want(ODD, 1);
	want(SW_ANSWERS_GOON, 200000);
	ck_assert_int_eq(recv(way[1], &answers, 1, MSG_DONTWAIT), -1);
}

TEST(answers_to_nobody_are_forgotten)
{
	add(SW_ANSWERS_GOON, 10000);
	ck_assert_uint_gt(answers.n, 0);
	close(way[1]);
	sw_answers_send(&answers, way[0]);
	ck_assert_uint_eq(answers.n + answers.counted, 0);
}

RUN_TESTS(setup, NULL)
