/* store/peek.c — a file opened for reading alone. */
#include "store/peek.h"
#include "base/memory.h"
#include "store/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct peek {
	struct sw_db db; /* first: the caller holds this */
	char *path;
	bool alone;         /* opened without locks: nobody else had it open */
	struct stat before; /* of the file, when alone */
};

/* "<path><tail>", the caller's to free; NULL: no memory. */
static char *join(const char *path, const char *tail)
{
	const size_t n = strlen(path) + strlen(tail) + 1;
	char *out = sw_malloc(n);

	if (out != NULL)
		(void)snprintf(out, n, "%s%s", path, tail);
	return out;
}

static sw_status find_file(struct peek *p, const char *path, struct stat *st, struct sw_err *err)
{
	if (stat(path, st) != 0)
		return sw_err_set(err, errno == ENOENT || errno == ENOTDIR ? SW_NOT_FOUND : SW_IO,
				  "open %s: %s", path, strerror(errno));
	/* A folder is the state folder of a daemon: its file is meant. */
	p->path = join(path, S_ISDIR(st->st_mode) ? "/" SW_STORE_FILE : "");
	if (p->path == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	if (S_ISDIR(st->st_mode) && stat(p->path, st) != 0)
		return sw_err_set(err, errno == ENOENT ? SW_NOT_FOUND : SW_IO, "open %s: %s",
				  p->path, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return sw_err_set(err, SW_IO, "%s: not a file", p->path);
	return st->st_size != 0 ? SW_OK
				: sw_err_set(err, SW_IO, "%s is empty: it was cut short", p->path);
}

static sw_status has_log(const struct peek *p, bool *has, struct sw_err *err)
{
	char *log = join(p->path, "-wal");
	struct stat st;

	if (log == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	*has = stat(log, &st) == 0;
	free(log);
	return SW_OK;
}

/* "file:/a%20b?immutable=1": what a URI gives a meaning to is escaped. */
static char *uri_of(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._-~";
	static const char tail[] = "?immutable=1";
	char *out = sw_malloc(sizeof "file:" + 3 * strlen(path) + sizeof tail);
	size_t n = sizeof "file:" - 1;

	if (out == NULL)
		return NULL;
	memcpy(out, "file:", n);
	for (const char *c = path; *c != '\0'; c++) {
		if (strchr(plain, *c) != NULL)
			out[n++] = *c;
		else
			n += (size_t)sprintf(out + n, "%%%02X", (unsigned)(unsigned char)*c);
	}
	memcpy(out + n, tail, sizeof tail);
	return out;
}

static sw_status open_file(struct peek *p, struct sw_err *err)
{
	char *uri = p->alone ? uri_of(p->path) : NULL;
	sw_status rc;

	if (p->alone && uri == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	rc = sw_file_connect(&p->db.conn, p->alone ? uri : p->path, p->path,
			     SQLITE_OPEN_READONLY | (p->alone ? SQLITE_OPEN_URI : 0), err);
	free(uri);
	if (rc == SW_OK)
		rc = sw_schema_check(p->db.conn, p->path, err);
	return rc == SW_OK ? sw_file_quick_check(p->db.conn, p->path, err) : rc;
}

sw_status sw_peek_open(struct sw_db **out, const char *path, struct sw_err *err)
{
	struct peek *p = sw_calloc(1, sizeof *p);
	bool log = false;
	sw_status rc;

	*out = NULL;
	if (p == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	if ((rc = find_file(p, path, &p->before, err)) != SW_OK ||
	    (rc = has_log(p, &log, err)) != SW_OK)
		goto fail;
	/* Without a log no daemon has the file open, and `immutable` lets it be read where nothing
	 * may be written, on a disk that is mounted read-only for one. With one SQLite has to lock,
	 * as it would for any reader. */
	p->alone = !log;
	if ((rc = open_file(p, err)) != SW_OK)
		goto fail;
	*out = &p->db;
	return SW_OK;
fail:
	sw_peek_close(&p->db);
	return rc;
}

void sw_peek_close(struct sw_db *db)
{
	struct peek *p = (struct peek *)db;

	if (p == NULL)
		return;
	sw_db_close(&p->db);
	free(p->path);
	free(p);
}

sw_status sw_peek_begin(struct sw_db *db, struct sw_err *err)
{
	return sw_sql_exec(db->conn, "BEGIN", "begin a read", err);
}

sw_status sw_peek_end(struct sw_db *db, struct sw_err *err)
{
	const struct peek *p = (const struct peek *)db;
	struct stat now;
	bool log = false;

	sw_db_reset(db);
	(void)sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
	if (!p->alone)
		return SW_OK;
	const sw_status rc = has_log(p, &log, err);
	if (rc != SW_OK)
		return rc;
	/* `immutable` takes no lock, so that a daemon may have begun to write meanwhile: what was
	 * read is then of no one moment. */
	if (log || stat(p->path, &now) != 0 || now.st_size != p->before.st_size ||
	    now.st_mtim.tv_sec != p->before.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != p->before.st_mtim.tv_nsec)
		return sw_err_set(err, SW_CONFLICT,
				  "%s was opened by somebody else while it was read; try again",
				  p->path);
	return SW_OK;
}

static bool give_last(struct sw_cols *c, void *arg)
{
	*(int64_t *)arg = sw_col_int(c, 0);
	return true;
}

sw_status sw_peek_events(struct sw_db *db, int64_t sweep, int64_t *last, struct sw_err *err)
{
	static const char sql[] =
		"SELECT max(coalesce((SELECT max(ev) FROM event WHERE sweep = ?1), 0),"
		" coalesce((SELECT max(ev) FROM report INDEXED BY report_by_ev WHERE sweep = ?1), "
		"0))";

	*last = 0;
	return sw_db_rows(db, sql, &sweep, 1, "event", give_last, last, err);
}
