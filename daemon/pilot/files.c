#include "daemon/pilot/files.h"
#include "base/buf.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/net/port.h"
#include "daemon/slot/slot.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX    4096
#define STAGGER_MAX 120 /* seconds: so that pilots of one submission do not all leave at once */

struct path {
	char s[PATH_MAX + 128];
};

static struct path path_of(const struct sw_daemon *d, const char *name, const char *after)
{
	struct path p;

	(void)snprintf(p.s, sizeof p.s, "%s/pilots/%.64s%s", d->config.state, name, after);
	return p;
}

static struct path path_of_pilot(const struct sw_pilot *p, const char *after)
{
	return path_of(p->w->slots->d, p->name, after);
}

/* --- one file --- */

static sw_status write_file(const char *path, int flags, const char *text, struct sw_err *err)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	const size_t n = strlen(text);
	const bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
	const int why = errno;

	if (fd >= 0)
		(void)close(fd);
	return ok ? SW_OK
		  : sw_err_set(err, why == ENOSPC ? SW_FULL : SW_IO, "cannot write %s: %s", path,
			       strerror(why));
}

/* At most the last cap - 1 bytes. False: it is not there. */
static bool read_end(const char *path, char *out, size_t cap)
{
	const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		const off_t room = (off_t)cap - 1;

		n = pread(fd, out, cap - 1, st.st_size > room ? st.st_size - room : 0);
	}
	if (fd >= 0)
		(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

static sw_status draw(void *out, size_t n, struct sw_err *err)
{
	return getrandom(out, n, 0) == (ssize_t)n
		       ? SW_OK
		       : sw_err_set(err, SW_IO, "no random bytes: %s", strerror(errno));
}

static void write_hex(const unsigned char *raw, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

/* --- names --- */

sw_status sw_pilot_files_save(const struct sw_daemon *d, struct sw_err *err)
{
	const struct path to = path_of(d, "names", ""), from = path_of(d, "names", ".new");
	char text[128];

	(void)snprintf(text, sizeof text, "prefix %s\nnext %llu\nport %u\n", d->pilot.prefix,
		       (unsigned long long)d->pilot.next, d->pilot.port);
	if (write_file(from.s, O_TRUNC, text, err) != SW_OK)
		return err->code;
	return rename(from.s, to.s) == 0
		       ? SW_OK
		       : sw_err_set(err, SW_IO, "cannot write %s: %s", to.s, strerror(errno));
}

sw_status sw_pilot_files_open(struct sw_daemon *d, struct sw_err *err)
{
	const struct path names = path_of(d, "names", ""), folder = path_of(d, "", "");
	unsigned long long next = 0;
	unsigned char raw[6];
	char text[TEXT_MAX], hex[16];

	if (mkdir(folder.s, 0700) != 0 && errno != EEXIST)
		return sw_err_set(err, SW_IO, "cannot create %s: %s", folder.s, strerror(errno));
	if (!read_end(names.s, text, sizeof text) ||
	    sscanf(text, "prefix %31s\nnext %llu\nport %u", d->pilot.prefix, &next,
		   &d->pilot.port) != 3) {
		if (draw(raw, sizeof raw, err) != SW_OK)
			return err->code;
		write_hex(raw, sizeof raw, hex);
		(void)snprintf(d->pilot.prefix, sizeof d->pilot.prefix, "sweepd-%s-", hex);
		next = 1;
		d->pilot.port = 0;
	}
	d->pilot.next = next;
	const sw_status rc = write_file(path_of(d, "probe", "").s, O_TRUNC, d->pilot.prefix, err);
	return rc == SW_OK ? sw_pilot_files_save(d, err) : rc;
}

/* --- what a pilot is told --- */

static const char *address_of(const struct sw_daemon *d, char host[256])
{
	if (d->config.pilots.address[0] != '\0')
		return d->config.pilots.address;
	if (gethostname(host, 256) != 0)
		(void)snprintf(host, 256, "localhost");
	host[255] = '\0';
	return host;
}

sw_status sw_pilot_files_tell(const struct sw_pilot *p, const char *worker, unsigned char key[32],
			      struct sw_err *err)
{
	const struct sw_daemon *d = p->w->slots->d;
	const struct sw_pilot_options *o = &d->config.pilots;
	const struct sw_slot *s = p->w->slots;
	char text[TEXT_MAX], hex[65], host[256];
	unsigned stagger = 0;

	if (draw(key, 32, err) != SW_OK || draw(&stagger, sizeof stagger, err) != SW_OK)
		return err->code;
	write_hex(key, 32, hex);
	const int n = snprintf(
		text, sizeof text,
		"dial %s %u\nname %s\nkey %s\nworker %s\nslot %d\ndevice %s\ncores %u\n"
		"memory %lld\ntime %u\nstagger %u\nprobe %s %s\n",
		address_of(d, host), sw_port_number(d), p->name, hex, worker, s->index,
		s->device.gpu ? "gpu:0" : "cpu:0", s->device.cores,
		(long long)(s->device.gpu ? d->config.gpu_memory : d->config.cpu_memory), o->time_s,
		stagger % STAGGER_MAX, path_of(d, "probe", "").s, d->pilot.prefix);
	const sw_status rc = n > 0 && (size_t)n < sizeof text
				     ? write_file(path_of_pilot(p, "").s, O_EXCL, text, err)
				     : sw_err_set(err, SW_INVALID, "the state's path is too long");
	OPENSSL_cleanse(text, sizeof text);
	OPENSSL_cleanse(hex, sizeof hex);
	return rc;
}

void sw_pilot_files_began(const struct sw_pilot *p)
{
	char line[40];
	struct sw_err err = SW_ERR_INIT;

	(void)snprintf(line, sizeof line, "began %lld\n", (long long)p->began_ms);
	/* Without it the time that is left is not shown after a restart. */
	if (write_file(path_of_pilot(p, "").s, O_APPEND, line, &err) != SW_OK)
		return;
}

bool sw_pilot_files_read(struct sw_pilot *p, unsigned char key[32])
{
	char text[TEXT_MAX];
	const char *at;
	long long began;
	bool ok = read_end(path_of_pilot(p, "").s, text, sizeof text) &&
		  (at = strstr(text, "\nkey ")) != NULL;

	for (size_t i = 0; ok && i < 32; i++)
		ok = sscanf(at + 5 + 2 * i, "%2hhx", &key[i]) == 1;
	at = strstr(text, "\nbegan ");
	if (at != NULL && sscanf(at, "\nbegan %lld", &began) == 1)
		p->began_ms = began;
	OPENSSL_cleanse(text, sizeof text);
	return ok;
}

void sw_pilot_files_said(const struct sw_pilot *p, char *out, size_t cap)
{
	char text[1024];

	*out = '\0';
	if (!read_end(path_of_pilot(p, ".log").s, text, sizeof text))
		return;
	for (size_t n = strlen(text); n > 0 && strchr("\r\n ", text[n - 1]) != NULL;)
		text[--n] = '\0';
	const char *line = strrchr(text, '\n');
	(void)snprintf(out, cap, "%s", line != NULL ? line + 1 : text);
	sw_text_plain(out);
}

void sw_pilot_files_remove(const struct sw_pilot *p)
{
	const struct path folder = path_of(p->w->slots->d, "", "");
	const size_t n = strlen(p->name);
	DIR *dir = opendir(folder.s);
	const struct dirent *e;

	/* NAME.1 is not NAME.10: what an executor keeps beside it has a dot behind the name. */
	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, p->name, n) == 0 &&
		    (e->d_name[n] == '\0' || e->d_name[n] == '.'))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		(void)closedir(dir);
}
