#include "proto/socket_path.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL "sweepd/sweepd.sock"

sw_status sw_socket_path_default(char *out, size_t cap)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	const unsigned long uid = (unsigned long)getuid();
	char dir[64];
	struct stat st;
	int n;

	(void)snprintf(dir, sizeof dir, "/run/user/%lu", uid);
	if (run != NULL && run[0] == '/')
		n = snprintf(out, cap, "%s/" TAIL, run);
	else if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == getuid())
		n = snprintf(out, cap, "%s/" TAIL, dir);
	else
		/* In a folder that the daemon checks to be its own: in /tmp itself anybody could
		 * bind the name first. */
		n = snprintf(out, cap, "/tmp/sweepd-%lu/sweepd.sock", uid);
	if (n >= 0 && (size_t)n < cap && n < SW_SOCKET_PATH_MAX)
		return SW_OK;
	if (cap > 0)
		out[0] = '\0';
	return SW_TOO_BIG;
}

sw_status sw_state_path_default(char *out, size_t cap)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (xdg != NULL && xdg[0] == '/')
		n = snprintf(out, cap, "%s/sweepd", xdg);
	else if (home != NULL && home[0] == '/')
		n = snprintf(out, cap, "%s/.local/state/sweepd", home);
	else
		return SW_NOT_FOUND;
	return n >= 0 && (size_t)n < cap ? SW_OK : SW_TOO_BIG;
}

sw_status sw_socket_path_told(char *out, size_t cap, long *pid)
{
	char path[PATH_MAX], text[SW_SOCKET_PATH_MAX + 32];
	const sw_status rc = sw_state_path_default(path, sizeof path - sizeof "/lock");

	if (rc != SW_OK)
		return SW_NOT_FOUND;
	(void)strcat(path, "/lock");
	const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	const ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	/* a daemon holds its lock for as long as it lives */
	const bool lives = n > 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (fd >= 0)
		(void)close(fd);
	text[n > 0 ? n : 0] = '\0';
	*pid = lives ? strtol(text, NULL, 10) : 0;
	const char *at = strchr(text, '\n');
	const size_t len = at != NULL ? strcspn(at + 1, "\n") : 0;
	/* The daemon writes the line end last, so a text without it is not whole yet. */
	if (at == NULL || at[1] != '/' || at[1 + len] != '\n' || len >= cap)
		return SW_NOT_FOUND;
	memcpy(out, at + 1, len);
	out[len] = '\0';
	return SW_OK;
}

sw_status sw_socket_server_check(int fd, const char *path, struct sw_err *err)
{
	struct ucred server; /* as it was when it began to listen */
	socklen_t len = sizeof server;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &len) != 0)
		return sw_err_set(err, SW_IO, "cannot tell who listens at %s: %s", path,
				  strerror(errno));
	if (server.uid == geteuid() || server.uid == 0)
		return SW_OK;
	return sw_err_set(
		err, SW_DENIED,
		"another user (uid %lu) listens at %s: nothing was sent; run this as that "
		"user, or give your own daemon's socket",
		(unsigned long)server.uid, path);
}
