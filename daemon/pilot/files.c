#include "daemon/pilot/files.h"
#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/port.h"
#include "daemon/slot/slot.h"
#include "spec/spec.h"
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
	const int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	const size_t n = strlen(text);
	/* Not synced: a job whose file a power cut takes is asked for anew. */
	const bool ok = fd >= 0 && write(fd, text, n) == (ssize_t)n;
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

/* --- off the loop --- */

/* The folder may be on a file system that is slow, so libuv's pool writes in it. */
struct task {
	uv_work_t work;
	struct sw_daemon *d;
	char name[SW_PILOT_NAME];
	uv_work_cb run;
	int flags;              /* of open(), of one that writes */
	sw_pilot_told_cb *told; /* NULL: nobody waits */
	struct sw_err err;
	char text[TEXT_MAX];
};

static void on_task(uv_work_t *work, int status)
{
	struct task *t = work->data;

	(void)status; /* never cancelled */
	/* It may hold a key. */
	OPENSSL_cleanse(t->text, sizeof t->text);
	if (t->told != NULL)
		t->told(t->d, t->name, &t->err);
	free(t);
}

static struct task *task_of(struct sw_daemon *d, const char *name, uv_work_cb run)
{
	struct task *t = sw_daemon_calloc(1, sizeof *t, "write a pilot's files");

	t->work.data = t;
	t->d = d;
	(void)snprintf(t->name, sizeof t->name, "%s", name);
	t->run = run;
	return t;
}

static void do_later(struct task *t)
{
	if (uv_queue_work(t->d->loop, &t->work, t->run, on_task) != 0)
		sw_daemon_die("write a pilot's files", SW_INTERNAL);
}

/* --- names --- */

sw_status sw_pilot_files_save(const struct sw_daemon *d, struct sw_err *err)
{
	const struct path to = path_of(d, "names", ""), from = path_of(d, "names", ".new");
	char text[128];

	(void)snprintf(text, sizeof text, "prefix %s\nport %u\n", d->pilot.prefix, d->pilot.port);
	if (write_file(from.s, O_CREAT | O_TRUNC, text, err) != SW_OK)
		return err->code;
	/* Replaced as a whole: a half-written prefix would make every job of this folder a
	 * stranger's. */
	return rename(from.s, to.s) == 0
		       ? SW_OK
		       : sw_err_set(err, SW_IO, "cannot write %s: %s", to.s, strerror(errno));
}

sw_status sw_pilot_files_open(struct sw_daemon *d, struct sw_err *err)
{
	const struct path names = path_of(d, "names", ""), folder = path_of(d, "", "");
	unsigned char raw[6];
	uint32_t first;
	char text[TEXT_MAX], hex[16];

	if (mkdir(folder.s, 0700) != 0 && errno != EEXIST)
		return sw_err_set(err, SW_IO, "cannot create %s: %s", folder.s, strerror(errno));
	if (draw(raw, sizeof raw, err) != SW_OK || draw(&first, sizeof first, err) != SW_OK)
		return err->code;
	/* Names must never come again: each start counts on from a number of its own. A random
	 * start for each daemon instead of a stored counter: names of jobs whose row was never
	 * stored must not come again either. */
	d->pilot.next = first;
	if (!read_end(names.s, text, sizeof text) ||
	    sscanf(text, "prefix %31s\nport %u", d->pilot.prefix, &d->pilot.port) != 2) {
		write_hex(raw, sizeof raw, hex);
		(void)snprintf(d->pilot.prefix, sizeof d->pilot.prefix, "sweepd-%s-", hex);
		d->pilot.port = 0;
	}
	const sw_status rc =
		write_file(path_of(d, "probe", "").s, O_CREAT | O_TRUNC, d->pilot.prefix, err);
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

static void run_write(uv_work_t *work)
{
	struct task *t = work->data;

	(void)write_file(path_of(t->d, t->name, "").s, t->flags, t->text, &t->err);
}

sw_status sw_pilot_files_tell(const struct sw_pilot *p, const char *worker, unsigned char key[32],
			      sw_pilot_told_cb *told, struct sw_err *err)
{
	struct sw_daemon *d = p->w->slots->d;
	const struct sw_slot *s = p->w->slots;
	char hex[65], host[256];
	unsigned stagger = 0;

	if (draw(key, 32, err) != SW_OK || draw(&stagger, sizeof stagger, err) != SW_OK)
		return err->code;
	struct task *t = task_of(d, p->name, run_write);
	write_hex(key, 32, hex);
	const int n =
		snprintf(t->text, sizeof t->text,
			 "dial %s %u\nname %s\nkey %s\nworker %s\nslot %d\ndevice %s:0\ncores %u\n"
			 "memory %lld\ntime %u\nshape %llu\nstagger %u\nprobe %s %s\n",
			 address_of(d, host), sw_port_number(d), p->name, hex, worker, s->index,
			 s->device.kind->word, s->device.cores,
			 (long long)sw_device_memory(&s->device, &d->config), p->time_s,
			 (unsigned long long)p->w->shape, stagger % STAGGER_MAX,
			 path_of(d, "probe", "").s, d->pilot.prefix);
	OPENSSL_cleanse(hex, sizeof hex);
	if (n < 0 || (size_t)n >= sizeof t->text) {
		OPENSSL_cleanse(t->text, sizeof t->text);
		free(t);
		return sw_err_set(err, SW_INVALID, "the state's path is too long");
	}
	/* A file of that name would be another job's: names are not given twice, so something is
	 * wrong. */
	t->flags = O_CREAT | O_EXCL;
	t->told = told;
	do_later(t);
	return SW_OK;
}

void sw_pilot_files_began(const struct sw_pilot *p)
{
	struct task *t = task_of(p->w->slots->d, p->name, run_write);

	/* Only where it is still told. If it fails, the time that is left is not shown after a
	 * restart. */
	t->flags = O_APPEND;
	(void)snprintf(t->text, sizeof t->text, "began %lld\n", (long long)p->began_ms);
	do_later(t);
}

/* Finds the text behind the key, such as "\nkey "; "": the key is missing. */
static const char *find_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? at + strlen(key) : "";
}

bool sw_pilot_files_read(struct sw_pilot *p, unsigned char key[32])
{
	unsigned long long shape = SW_SPEC_SHAPE_USUAL;
	long long began = 0;
	char text[TEXT_MAX];
	bool ok = read_end(path_of_pilot(p, "").s, text, sizeof text);
	const char *hex = find_value(text, "\nkey ");

	for (size_t i = 0; ok && i < 32; i++)
		ok = sscanf(hex + 2 * i, "%2hhx", &key[i]) == 1;
	ok = ok && sscanf(find_value(text, "\nshape "), "%llu", &shape) == 1 &&
	     sscanf(find_value(text, "\ntime "), "%u", &p->time_s) == 1;
	(void)sscanf(find_value(text, "\nbegan "), "%lld", &began); /* it may not have begun */
	p->w->shape = shape;
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

static void run_remove(uv_work_t *work)
{
	const struct task *t = work->data;
	const size_t n = strlen(t->name);
	DIR *dir = opendir(path_of(t->d, "", "").s);
	const struct dirent *e;

	/* NAME.1 is not NAME.10: what an executor keeps beside it has a dot behind the name. */
	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, t->name, n) == 0 &&
		    (e->d_name[n] == '\0' || e->d_name[n] == '.'))
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		(void)closedir(dir);
}

void sw_pilot_files_remove(struct sw_daemon *d, const char *name)
{
	do_later(task_of(d, name, run_remove));
}
