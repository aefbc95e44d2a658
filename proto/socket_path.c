#include "proto/socket_path.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
		n = snprintf(out, cap, "/tmp/sweepd-%lu/sweepd.sock", uid);
	if (n >= 0 && (size_t)n < cap && n < SW_SOCKET_PATH_MAX)
		return SW_OK;
	if (cap > 0)
		out[0] = '\0';
	return SW_TOO_BIG;
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
