#include "worker/exec/lines.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

void sw_lines_init(struct sw_lines *l)
{
	l->from = l->n = 0;
	l->skip = l->ended = l->cut = l->returned = false;
	l->number = 0;
}

bool sw_lines_read(struct sw_lines *l, int fd)
{
	ssize_t n;

	if (l->ended || l->n == SW_LINES_MAX)
		return false; /* no room until lines are taken: the program waits in its pipe */
	n = read(fd, l->data + l->n, SW_LINES_MAX - l->n);
	if (n > 0)
		l->n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		l->ended = true;
	return n > 0;
}

/* Gives data[from..to), without carriage returns, and goes on at `next`. */
static void take_line(struct sw_lines *l, size_t to, size_t next, char **line, size_t *len)
{
	const char *back;

	while (to > l->from && l->data[to - 1] == '\r')
		to--;
	back = memrchr(l->data + l->from, '\r', to - l->from);
	/* A terminal would show what stands behind the last carriage return. */
	if (back)
		l->from = (size_t)(back - l->data) + 1;
	l->data[to] = '\0';
	*line = l->data + l->from;
	*len = to - l->from;
	l->from = next;
	l->number++;
	l->cut = l->skip;
}

/* An object up to a carriage return, before data[to], is a line. */
static bool take_object(struct sw_lines *l, size_t to, char **line, size_t *len)
{
	char *at = l->data + l->from, *back;

	for (; (back = memchr(at, '\r', (size_t)(l->data + to - at))) != NULL; at = back + 1) {
		while (*at == ' ' || *at == '\t')
			at++;
		if (*at != '{' || back[-1] != '}')
			continue;
		l->from = (size_t)(at - l->data);
		take_line(l, (size_t)(back - l->data), (size_t)(back - l->data) + 1, line, len);
		l->returned = true;
		return true;
	}
	return false;
}

/* Makes room behind what was not taken. false: all of the room is one line's. */
static bool make_room(struct sw_lines *l)
{
	const char *back = memrchr(l->data + l->from, '\r', l->n - l->from);

	/* not the last byte: a newline may follow */
	if (back && back + 1 < l->data + l->n)
		l->from = (size_t)(back - l->data) + 1;
	memmove(l->data, l->data + l->from, l->n - l->from);
	l->n -= l->from;
	l->from = 0;
	return l->n < SW_LINES_MAX;
}

bool sw_lines_next(struct sw_lines *l, char **line, size_t *len)
{
	for (;;) {
		/* Behind an object that a carriage return ended: a newline, or more of them, belong
		 * to it. */
		while (l->returned && l->from < l->n) {
			l->returned = l->data[l->from] == '\r';
			l->from += l->returned || l->data[l->from] == '\n';
		}
		const char *end = memchr(l->data + l->from, '\n', l->n - l->from);
		const size_t at = end ? (size_t)(end - l->data) : l->n;

		if (l->skip) {
			l->skip = !end;
			l->from = end ? at + 1 : l->n;
			if (end)
				continue;
		}
		if (!l->skip && take_object(l, at, line, len))
			return true;
		if (end) {
			take_line(l, at, at + 1, line, len);
			return true;
		}
		if (!make_room(l)) { /* a line over the limit: its start now, the rest is skipped */
			l->skip = true;
			take_line(l, l->n, l->n, line, len);
			return true;
		}
		if (l->ended && l->n > 0) { /* the last line may lack its newline */
			take_line(l, l->n, l->n, line, len);
			return true;
		}
		return false;
	}
}
