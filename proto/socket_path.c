#include "proto/socket_path.h"
#include <stdio.h>
#include <stdlib.h>
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
