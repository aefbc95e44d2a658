/*
 * tests/store/fault_vfs.h — SQLite's file layer with failures: the default VFS, wrapped.
 *
 * It counts the connections that are open to `vfs_watched` and ever wrote to its log, and those
 * that ever held the lock to checkpoint: SQLite before 3.51.3 can damage a database that has two
 * of them. The lock to write says nothing: a reader that meets half of a new header takes it to
 * look again.
 * The calls named in `fault_vfs_ops` ask sw_fault_hit(SW_FAULT_IO), and fail with fault_vfs_code.
 * Threads  Armed and disarmed while the store's threads run, hence the atomics.
 */
#ifndef SW_TESTS_STORE_FAULT_VFS_H
#define SW_TESTS_STORE_FAULT_VFS_H

#include "base/fault.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

enum { FAULT_WRITE = 1, FAULT_SYNC = 2, FAULT_TRUNCATE = 4, FAULT_READ = 8 };

static atomic_int fault_vfs_ops, fault_vfs_code;
static atomic_bool fault_vfs_quota;                 /* a write that fails is over a quota */
static char vfs_watched[256];                       /* the database's path */
static atomic_int vfs_writers[2], vfs_writers_most; /* of the log, of the file; of either */

struct fault_file {
	sqlite3_file base;
	sqlite3_file *real;            /* behind this struct, in the same block */
	bool watched, is_file, writes; /* is_file: else its log */
};

static sqlite3_vfs fault_vfs;
static sqlite3_io_methods fault_methods;

static inline sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct fault_file *)f)->real;
}

/* A sync that fails for want of space is still a failed sync: errno must not make it a full
 * disk. */
static inline bool fault_vfs_hit(int op)
{
	if ((atomic_load(&fault_vfs_ops) & op) == 0 || !sw_fault_hit(SW_FAULT_IO))
		return false;
	errno = op == FAULT_SYNC ? ENOSPC : fault_vfs_quota ? EDQUOT : EIO;
	return true;
}

static inline void note_writer(sqlite3_file *f)
{
	struct fault_file *ff = (struct fault_file *)f;

	if (!ff->watched || ff->writes)
		return;
	ff->writes = true;
	const int n = atomic_fetch_add(&vfs_writers[ff->is_file], 1) + 1;
	if (n > atomic_load(&vfs_writers_most))
		atomic_store(&vfs_writers_most, n);
}

static inline int fault_close(sqlite3_file *f)
{
	const struct fault_file *ff = (const struct fault_file *)f;

	if (ff->writes)
		(void)atomic_fetch_sub(&vfs_writers[ff->is_file], 1);
	return real_of(f)->pMethods->xClose(real_of(f));
}

static inline int fault_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	if (fault_vfs_hit(FAULT_READ))
		return atomic_load(&fault_vfs_code);
	return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}

static inline int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	note_writer(f);
	if (fault_vfs_hit(FAULT_WRITE))
		return atomic_load(&fault_vfs_code);
	return real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
}

static inline int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	note_writer(f);
	if (fault_vfs_hit(FAULT_TRUNCATE))
		return atomic_load(&fault_vfs_code);
	return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static inline int fault_sync(sqlite3_file *f, int flags)
{
	if (fault_vfs_hit(FAULT_SYNC))
		return atomic_load(&fault_vfs_code);
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static inline int fault_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static inline int fault_lock(sqlite3_file *f, int how)
{
	return real_of(f)->pMethods->xLock(real_of(f), how);
}

static inline int fault_unlock(sqlite3_file *f, int how)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), how);
}

static inline int fault_reserved(sqlite3_file *f, int *out)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static inline int fault_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static inline int fault_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static inline int fault_traits(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static inline int fault_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **p)
{
	return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, p);
}

static inline int fault_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	/* A log's second lock is that to checkpoint. */
	if (at <= 1 && at + n > 1 && (flags & SQLITE_SHM_LOCK) != 0 &&
	    (flags & SQLITE_SHM_EXCLUSIVE) != 0)
		note_writer(f);
	return real_of(f)->pMethods->xShmLock(real_of(f), at, n, flags);
}

static inline void fault_shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static inline int fault_shm_unmap(sqlite3_file *f, int remove)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static inline int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
			     int *out)
{
	sqlite3_vfs *real = vfs->pAppData;
	struct fault_file *ff = (struct fault_file *)f;

	*ff = (struct fault_file){.real = (sqlite3_file *)(void *)(ff + 1)};
	const size_t length = strlen(vfs_watched);
	ff->is_file = (flags & SQLITE_OPEN_MAIN_DB) != 0;
	ff->watched = name != NULL && strncmp(name, vfs_watched, length) == 0 &&
		      strcmp(name + length, ff->is_file ? "" : "-wal") == 0;
	const int rc = real->xOpen(real, name, ff->real, flags, out);
	f->pMethods = ff->real->pMethods == NULL ? NULL : &fault_methods;
	return rc;
}

/* From now on every connection of this process goes through it. */
static inline void fault_vfs_install(void)
{
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	if (real == &fault_vfs)
		return;
	fault_methods = (sqlite3_io_methods){
		.iVersion = 2,
		.xClose = fault_close,
		.xRead = fault_read,
		.xWrite = fault_write,
		.xTruncate = fault_truncate,
		.xSync = fault_sync,
		.xFileSize = fault_size,
		.xLock = fault_lock,
		.xUnlock = fault_unlock,
		.xCheckReservedLock = fault_reserved,
		.xFileControl = fault_control,
		.xSectorSize = fault_sector,
		.xDeviceCharacteristics = fault_traits,
		.xShmMap = fault_shm_map,
		.xShmLock = fault_shm_lock,
		.xShmBarrier = fault_shm_barrier,
		.xShmUnmap = fault_shm_unmap,
	};
	fault_vfs = *real;
	fault_vfs.zName = "fault";
	fault_vfs.pNext = NULL;
	fault_vfs.pAppData = real;
	fault_vfs.szOsFile = (int)sizeof(struct fault_file) + real->szOsFile;
	fault_vfs.xOpen = fault_open;
	(void)sqlite3_vfs_register(&fault_vfs, 1);
}

#ifdef SW_FAULTS
static inline void fault_vfs_arm(int ops, int code, unsigned nth, bool forever)
{
	atomic_store(&fault_vfs_code, code);
	atomic_store(&fault_vfs_ops, ops);
	sw_fault_arm(SW_FAULT_IO, nth, forever);
}

static inline unsigned fault_vfs_disarm(void)
{
	const unsigned fired = sw_fault_fired(SW_FAULT_IO);

	sw_fault_arm(SW_FAULT_IO, 0, false);
	atomic_store(&fault_vfs_ops, 0);
	return fired;
}
#endif

#endif
