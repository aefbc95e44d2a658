/* tests/e2e/chain.c — a chain of forks: NAME LINKS. Each process starts the next, in a session of
 * its own, and ends; none lives for longer than that takes. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int n, char **word)
{
	prctl(PR_SET_NAME, word[n - 2]);
	signal(SIGTERM, SIG_IGN);
	for (long left = atol(word[n - 1]); left > 0; left--) {
		if (fork() > 0)
			_exit(0);
		setsid();
	}
	return 0;
}
