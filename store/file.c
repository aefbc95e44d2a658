/*
 * store/file.c — the file: made whole or not at all, private, hardened, checked.
 *
 * A new file is built beside its place and renamed into it, so a sweepd.db that is there and empty
 * was cut short by something, and is refused rather than taken for new.
 */
#include "base/log.h"
#include "base/memory.h"
#include "store/internal.h"
#include "store/wal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DEFENSIVE and the rest: a damaged or hostile file can make SQL fail, not run code. A foreign key
 * is one look-up in the row's own parent, so they are on. 16 MiB of pages, 64 MiB of log at
 * rest. */
static const char hardening[] = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
				"PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;"
				"PRAGMA cache_size = -16384; PRAGMA busy_timeout = 1000;";
static const char durability[] = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
				 "PRAGMA journal_size_limit = 67108864;";

/* All three are replaced: a copy of the file beside the log of another day becomes a database that
 * never was. */
#define REMEDY                                                                                     \
	"put a backup back in the place of " SW_STORE_FILE ", " SW_STORE_FILE                      \
	"-wal and " SW_STORE_FILE "-shm, or remove all three to begin anew"

sw_status sw_file_connect(sqlite3 **out, const char *path, const char *name, int flags,
			  struct sw_err *err)
{
	char doing[400];
	sqlite3 *conn = NULL;
	sw_status rc;

	(void)snprintf(doing, sizeof doing, "open %s", name);
	*out = NULL;
	/* Each connection is used by one thread at a time, so SQLite's own mutexes stay out. SQLite
	 * gives a connection even where it fails; it holds the error, and has to be closed. */
	if (sqlite3_open_v2(path, &conn, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		rc = sw_sql_err(err, conn, doing);
		goto fail;
	}
	(void)sqlite3_extended_result_codes(conn, 1);
	/* Older libraries do not know some of these: what they refuse is one defence less, and no
	 * error. */
	(void)sqlite3_db_config(conn, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(conn, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(conn, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_limit(conn, SQLITE_LIMIT_ATTACHED, 0);
	if ((rc = sw_sql_exec(conn, hardening, doing, err)) != SW_OK)
		goto fail;
	*out = conn;
	return SW_OK;
fail:
	(void)sqlite3_close(conn);
	return rc;
}

static sw_status sync_dir_of(const char *path, struct sw_err *err)
{
	char *dir = sw_strdup(path);
	sw_status rc = SW_OK;
	int fd = -1;

	if (dir == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	char *slash = strrchr(dir, '/');
	if (slash != NULL)
		slash[slash == dir] = '\0'; /* "/x" is in "/" */
	fd = open(slash == NULL ? "." : dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A rename is durable only once its folder is: without this a power cut may leave neither
	 * file. */
	if (fd < 0 || fsync(fd) != 0)
		rc = sw_err_set(err, SW_IO, "sync %s: %s", dir, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	free(dir);
	return rc;
}

/* An empty file of mode 0600 whatever the umask, in place of anything with that name. */
static sw_status make_private(const char *path, struct sw_err *err)
{
	sw_status rc = SW_OK;

	/* An earlier start may have left its unfinished file there, or somebody put one: O_EXCL
	 * would meet it. */
	(void)unlink(path);
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) != 0)
		rc = sw_err_set(err, errno == ENOSPC || errno == EDQUOT ? SW_FULL : SW_IO,
				"create %s: %s", path, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

/* Files that SQLite left beside a database that is gone would be taken for the new one's. */
static void remove_beside(const char *path)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
	char name[PATH_MAX + 16];
	struct stat st;

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		(void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
		if (lstat(name, &st) != 0 || unlink(name) != 0)
			continue;
		if (st.st_size > 0)
			sw_log(SW_LOG_WARN, "store.removed",
			       "path=\"%s\" bytes=%lld why=\"its database is gone\"", name,
			       (long long)st.st_size);
	}
}

static sw_status create_file(const char *path, struct sw_err *err)
{
	const size_t n = strlen(path) + sizeof ".new";
	char *fresh = sw_malloc(n);
	sqlite3 *conn = NULL;
	sw_status rc;

	if (fresh == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	(void)snprintf(fresh, n, "%s.new", path);
	if ((rc = make_private(fresh, err)) != SW_OK ||
	    (rc = sw_file_connect(&conn, fresh, fresh, SQLITE_OPEN_READWRITE, err)) != SW_OK ||
	    (rc = sw_sql_exec(conn, "PRAGMA auto_vacuum = INCREMENTAL", fresh, err)) != SW_OK ||
	    (rc = sw_schema_update(conn, fresh, err)) != SW_OK)
		goto out;
	(void)sqlite3_close(
		conn); /* committed and synced by the rollback journal: one whole file */
	conn = NULL;
	/* Behind the last step that may fail for long, and before the rename: from then on a log
	 * that lies there is replayed into this file. */
	remove_beside(path);
	if (rename(fresh, path) != 0)
		rc = sw_err_set(err, SW_IO, "rename %s: %s", fresh, strerror(errno));
	else
		rc = sync_dir_of(path, err);
out:
	(void)sqlite3_close(conn);
	if (rc != SW_OK)
		(void)unlink(fresh);
	free(fresh);
	return rc;
}

/* Before SQLite opens it: never afterwards, a close() here would drop SQLite's locks. */
static sw_status check_place(const char *path, struct sw_err *err)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT
			       ? create_file(path, err)
			       : sw_err_set(err, SW_IO, "open %s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sw_err_set(err, SW_IO, "%s: not a file", path);
	if (st.st_size == 0)
		return sw_err_set(err, SW_IO, "%s is empty: it was cut short; " REMEDY, path);
	if ((st.st_mode & 077) != 0 && chmod(path, 0600) != 0)
		return sw_err_set(err, SW_IO, "make %s private: %s", path, strerror(errno));
	return SW_OK;
}

sw_status sw_file_quick_check(sqlite3 *conn, const char *path, struct sw_err *err)
{
	sqlite3_stmt *q = NULL;
	sw_status rc = SW_OK;
	char doing[400];

	(void)snprintf(doing, sizeof doing, "check %s", path);
	/* quick_check reads every page but compares no index with its table, which is most of what
	 * the whole check takes. */
	if (sqlite3_prepare_v2(conn, "PRAGMA quick_check(1)", -1, &q, NULL) != SQLITE_OK ||
	    sqlite3_step(q) != SQLITE_ROW) {
		rc = sw_sql_err(err, conn, doing);
		goto out;
	}
	const char *said = (const char *)sqlite3_column_text(q, 0);
	if (said == NULL || strcmp(said, "ok") != 0)
		rc = sw_err_set(err, SW_DAMAGED, "%s is damaged: %s", path,
				said == NULL ? "no answer from its check" : said);
out:
	(void)sqlite3_finalize(q); /* repeats the step's code */
	return rc;
}

/* Says what SQLite will leave out without a word. true: something. */
static bool tell_lost(const char *path)
{
	char name[PATH_MAX + 16];

	(void)snprintf(name, sizeof name, "%s-wal", path);
	const struct sw_wal_lost lost = sw_wal_walk(name);
	if (lost.commits == 0 && (lost.found > 0 || lost.rest > 0))
		sw_log(SW_LOG_INFO, "store.wal",
		       "path=\"%s\" commits=%lld left_out_bytes=%lld why=\"the last daemon was "
		       "killed: "
		       "so many commits were found in its log; what lies behind them is of earlier "
		       "ones, "
		       "of one that was cut short, or of a log that was\"",
		       name, (long long)lost.found, (long long)lost.rest);
	if (lost.commits == 0)
		return false;
	sw_log(SW_LOG_WARN, "store.wal",
	       "path=\"%s\" frame=%lld frames=%lld commits=%lld why=\"damaged at that frame (0: in "
	       "its header): the whole frames behind it are left out, and what was acknowledged in "
	       "their commits is lost%s; put a backup back if you have a newer one, and look at "
	       "what there is with sweepd replay\"",
	       name, (long long)lost.frame, (long long)lost.frames, (long long)lost.commits,
	       lost.commits == 1 ? " (a loss of power leaves one commit that was not acknowledged)"
				 : "");
	return true;
}

static sw_status set_up(sqlite3 *conn, const char *path, struct sw_err *err)
{
	char doing[400];
	sw_status rc;

	(void)snprintf(doing, sizeof doing, "open %s", path);
	/* The owner is checked first: nothing is written to a stranger's file or to another
	 * version's. */
	if ((rc = sw_schema_update(conn, path, err)) != SW_OK ||
	    (rc = sw_sql_exec(conn, "PRAGMA journal_mode = WAL", doing, err)) != SW_OK ||
	    (rc = sw_sql_exec(conn, durability, doing, err)) != SW_OK)
		return rc;
	return sw_file_quick_check(conn, path, err);
}

sw_status sw_file_open(sqlite3 **out, const char *path, struct sw_err *err)
{
	/* The log begins anew, or the next start would find the same loss again. */
	static const char fold[] = "PRAGMA wal_checkpoint(TRUNCATE)";
	struct sw_err why = SW_ERR_INIT;
	sqlite3 *conn = NULL;
	sw_status rc;

	*out = NULL;
	if ((rc = check_place(path, err)) != SW_OK)
		return rc;
	const bool lost = tell_lost(path); /* before SQLite writes over it */
	if ((rc = sw_file_connect(&conn, path, path, SQLITE_OPEN_READWRITE, &why)) == SW_OK)
		rc = set_up(conn, path, &why);
	if (rc == SW_OK && lost)
		rc = sw_sql_exec(conn, fold, "fold the log into the database", &why);
	if (rc != SW_OK) {
		(void)sqlite3_close(conn);
		return rc == SW_DAMAGED ? sw_err_set(err, rc, "%.200s; " REMEDY, why.msg)
					: sw_err_set(err, rc, "%s", why.msg);
	}
	*out = conn;
	return SW_OK;
}

bool sw_file_inodes(const char *path, struct sw_inode at[2])
{
	static const char *const suffixes[] = {"", "-wal"};
	char name[PATH_MAX + 16];
	struct stat st;

	for (int i = 0; i < 2; i++) {
		(void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
		/* By device and inode: SQLite holds both files open, and would write on into ones
		 * that have lost their name. */
		if (stat(name, &st) != 0)
			return false;
		at[i] = (struct sw_inode){.dev = st.st_dev, .ino = st.st_ino};
	}
	return true;
}

bool sw_file_in_place(const char *path, const struct sw_inode at[2])
{
	struct sw_inode now[2];

	if (!sw_file_inodes(path, now))
		return false;
	for (int i = 0; i < 2; i++)
		if (now[i].dev != at[i].dev || now[i].ino != at[i].ino)
			return false;
	return true;
}
