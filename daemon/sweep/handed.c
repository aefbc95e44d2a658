#include "daemon/sweep/handed.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct head {
	char magic[8];
	uint64_t run;
	char boot[48];
};
_Static_assert(sizeof(struct head) == 64, "no padding");

static const char magic[8] = {'S', 'w', 'H', 'a', 'n', 'd', 'e', 'd'};

/* False: the kernel does not say. */
static bool read_boot(char boot[48])
{
	const int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	memset(boot, 0, 48);
	if (fd < 0)
		return false;
	n = read(fd, boot, 36);
	(void)close(fd);
	return n == 36;
}

static void path_of(char *path, size_t cap, const char *dir, const char *name)
{
	(void)snprintf(path, cap, "%s/%s", dir, name);
}

void sw_handed_open(struct sw_handed *past, const char *dir)
{
	char path[PATH_MAX + 16], boot[48];
	struct head head;

	path_of(path, sizeof path, dir, "handed");
	*past = (struct sw_handed){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
	if (past->fd < 0)
		return;
	if (pread(past->fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
	    memcmp(head.magic, magic, sizeof magic) == 0 && read_boot(boot) &&
	    memcmp(head.boot, boot, sizeof boot) == 0 && head.run <= INT64_MAX)
		past->run = head.run;
	else
		sw_handed_close(past);
}

static off_t place_of(int64_t sweep)
{
	return (off_t)sizeof(struct head) + (off_t)sweep * (off_t)sizeof(uint64_t);
}

uint64_t sw_handed_up_to(const struct sw_handed *past, int64_t sweep)
{
	uint64_t trial = 0;

	if (past->fd < 0 ||
	    pread(past->fd, &trial, sizeof trial, place_of(sweep)) != (ssize_t)sizeof trial)
		return 0;
	return trial;
}

void sw_handed_draw(struct sw_handed *now)
{
	uint64_t run = 0;

	*now = (struct sw_handed){.fd = -1};
	if (getrandom(&run, sizeof run, 0) == (ssize_t)sizeof run)
		now->run = (run >> 1) | 1;
}

static bool write_head(int fd, uint64_t run)
{
	struct head head = {.run = run};

	memcpy(head.magic, magic, sizeof magic);
	return read_boot(head.boot) && write(fd, &head, sizeof head) == (ssize_t)sizeof head;
}

void sw_handed_begin(struct sw_handed *now, const char *dir)
{
	char path[PATH_MAX + 16], fresh[PATH_MAX + 16];

	path_of(path, sizeof path, dir, "handed");
	path_of(fresh, sizeof fresh, dir, "handed.new");
	if (now->run == 0)
		return;
	now->fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (now->fd >= 0 && write_head(now->fd, now->run) && rename(fresh, path) == 0)
		return;
	sw_log(SW_LOG_WARN, "handed.refused", "path=%s error=\"%s\"", path, strerror(errno));
	sw_handed_close(now);
}

bool sw_handed_note(const struct sw_handed *now, int64_t sweep, uint64_t trial)
{
	return now->run != 0 && now->fd >= 0 &&
	       pwrite(now->fd, &trial, sizeof trial, place_of(sweep)) == (ssize_t)sizeof trial;
}

void sw_handed_close(struct sw_handed *handed)
{
	if (handed->fd >= 0)
		(void)close(handed->fd);
	handed->fd = -1;
}
