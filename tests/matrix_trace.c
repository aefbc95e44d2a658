/*
 * tests/matrix_trace.c — says which code each test of a suite runs. tests/matrix links it into
 * programs that gcc compiled with -fsanitize-coverage=trace-pc, which calls here from each block.
 *
 * $SW_TRACE/N has a byte for each address of the program: 1, it was run. Check forks once for each
 * test, and the Nth child maps N over what was run before: so the file has all that the child and
 * its children run, however they end. 0 is the suite's own, or a program's without Check tests.
 * Where $SW_ONLY is there (",3,17,"), the other children end as they begin.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char __executable_start[], etext[];
static _Alignas(4096) char ran[1 << 25];
static pid_t suite;
static unsigned forks;
static bool left_out;

void __sanitizer_cov_trace_pc(void)
{
	const char *at = __builtin_return_address(0);

	if (left_out) /* not as soon as it is forked: Check waits for its first word */
		(void)raise(SIGKILL);
	if (at >= __executable_start && at < etext) /* not in a library that was loaded */
		ran[at - __executable_start] = 1;
}

/* A program that a test starts finds the files there, and adds nothing. */
static void map_number(unsigned number)
{
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%u", getenv("SW_TRACE"), number);
	fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	if (ftruncate(fd, etext - __executable_start) != 0 ||
	    mmap(ran, sizeof(ran), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != ran)
		abort();
	(void)close(fd);
}

static void before_fork(void)
{
	forks++;
}

static void on_child(void)
{
	const char *only = getenv("SW_ONLY");
	char number[16];

	if (getppid() != suite)
		return;
	(void)snprintf(number, sizeof(number), ",%u,", forks);
	left_out = only != NULL && strstr(only, number) == NULL;
	if (getenv("SW_TRACE") != NULL)
		map_number(forks);
}

__attribute__((constructor)) static void begin(void)
{
	suite = getpid();
	if (pthread_atfork(before_fork, NULL, on_child) == 0 && getenv("SW_TRACE") != NULL)
		map_number(0);
}
