#include "worker/exec/answers.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void sw_answers_init(struct sw_answers *a)
{
	a->n = a->counted = 0;
}

/* Appends a line. false: there is no room. */
static bool add_text(struct sw_answers *a, const char *line)
{
	const size_t len = strlen(line);

	if (a->n + len > sizeof a->text)
		return false; /* the caller counts it instead */
	memcpy(a->text + a->n, line, len);
	a->n += len;
	return true;
}

void sw_answers_add(struct sw_answers *a, const char *line)
{
	/* behind one that is only counted all are: the order of the answers is theirs */
	if (a->counted > 0 || !add_text(a, line))
		a->counted++;
}

void sw_answers_send(struct sw_answers *a, int fd)
{
	while (a->n > 0) {
		const ssize_t n = send(fd, a->text, a->n, MSG_NOSIGNAL | MSG_DONTWAIT);

		/* The program has closed its end: nobody reads an answer. */
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			a->n = a->counted = 0;
		if (n <= 0)
			return; /* the socket is full: poll(2) says when it takes more */
		a->n -= (size_t)n;
		memmove(a->text, a->text + n, a->n);
		/* Room has come free: answers that were only counted are all alike, and follow in
		 * their number. */
		while (a->counted > 0 && add_text(a, SW_ANSWERS_GOON))
			a->counted--;
	}
}
