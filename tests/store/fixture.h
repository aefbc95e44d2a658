/* tests/store/fixture.h — a store in a directory of its own, and an owner that waits for it. */
#ifndef SW_TESTS_STORE_FIXTURE_H
#define SW_TESTS_STORE_FIXTURE_H

#include "store/store.h"
#include "tests/folder.h"
#include "tests/store/fault_vfs.h"
#include <check.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	char dir[64];
	char path[96];
	struct sw_store *store;
	pthread_mutex_t lock;
	pthread_cond_t woken;
	unsigned wakes;
	struct sw_err fatal; /* code SW_OK: none */
};

static struct fixture f; /* a test has one, of its own process */

static inline void fixture_wake(void *user)
{
	(void)user;
	pthread_mutex_lock(&f.lock);
	f.wakes++;
	pthread_cond_broadcast(&f.woken);
	pthread_mutex_unlock(&f.lock);
}

static inline void fixture_fatal(void *user, const struct sw_err *e)
{
	(void)user;
	pthread_mutex_lock(&f.lock);
	f.fatal = *e;
	pthread_cond_broadcast(&f.woken);
	pthread_mutex_unlock(&f.lock);
}

static inline sw_status fixture_try_open(struct sw_err *err)
{
	const struct sw_store_hooks hooks = {fixture_wake, fixture_fatal, NULL};

	return sw_store_open(&f.store, f.dir, &hooks, err);
}

static inline void fixture_open(void)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(fixture_try_open(&err) == SW_OK, "%s", err.msg);
}

static inline void fixture_close(void)
{
	sw_store_close(f.store);
	f.store = NULL;
	ck_assert_int_le(atomic_load(&vfs_writers_most), 1); /* DESIGN: one connection writes */
}

/* A directory, no store yet. */
static inline void fixture_init(void)
{
	f = (struct fixture){.store = NULL};
	(void)snprintf(f.dir, sizeof f.dir, "%s/sweepd-store-XXXXXX", folder_of_tests());
	ck_assert_ptr_nonnull(mkdtemp(f.dir));
	(void)snprintf(f.path, sizeof f.path, "%s/sweepd.db", f.dir);
	(void)snprintf(vfs_watched, sizeof vfs_watched, "%s", f.path);
	fault_vfs_install();
	ck_assert_int_eq(pthread_mutex_init(&f.lock, NULL), 0);
	ck_assert_int_eq(pthread_cond_init(&f.woken, NULL), 0);
}

static inline void fixture_fini(void)
{
	char name[400];
	const struct dirent *e;

	fixture_close();
	DIR *d = opendir(f.dir);
	while (d != NULL && (e = readdir(d)) != NULL) {
		(void)snprintf(name, sizeof name, "%s/%s", f.dir, e->d_name);
		(void)unlink(name);
	}
	if (d != NULL)
		(void)closedir(d);
	(void)rmdir(f.dir);
	pthread_cond_destroy(&f.woken);
	pthread_mutex_destroy(&f.lock);
}

/* Another directory, for the next round of a loop. */
static inline void fixture_renew(void)
{
	fixture_fini();
	fixture_init();
}

/* Sleeps until the store has woken its owner once more than *seen. True: it has failed. */
static inline bool fixture_sleep(unsigned *seen)
{
	pthread_mutex_lock(&f.lock);
	while (f.wakes == *seen && f.fatal.code == SW_OK)
		pthread_cond_wait(&f.woken, &f.lock);
	*seen = f.wakes;
	const bool failed = f.fatal.code != SW_OK;

	pthread_mutex_unlock(&f.lock);
	return failed;
}

/* Polls at each wake until *n is at least want. */
static inline void fixture_wait(const unsigned *n, unsigned want)
{
	for (unsigned seen = 0; sw_store_poll(f.store), *n < want;)
		ck_assert_msg(!fixture_sleep(&seen), "%s", f.fatal.msg);
}

static inline void fixture_wait_fatal(void)
{
	pthread_mutex_lock(&f.lock);
	while (f.fatal.code == SW_OK)
		pthread_cond_wait(&f.woken, &f.lock);
	pthread_mutex_unlock(&f.lock);
}

static inline void count_done(void *arg)
{
	(*(unsigned *)arg)++;
}

static inline struct sw_tx *tx_new(void)
{
	struct sw_tx *tx;

	ck_assert_int_eq(sw_tx_create(&tx), SW_OK);
	return tx;
}

/* Commits and waits until it is on disk. */
static inline void commit_now(struct sw_tx *tx)
{
	unsigned done = 0;

	ck_assert_int_eq(sw_store_commit(f.store, tx, count_done, &done), SW_OK);
	fixture_wait(&done, 1);
}

static inline void put_sweep(struct sw_tx *tx, int64_t sweep)
{
	const struct sw_row_sweep row = {
		.sweep = sweep, .name = "s", .spec = "{}", .state = "RUNNING", .metric = "loss"};

	sw_tx_sweep_insert(tx, &row);
}

static inline void put_trial(struct sw_tx *tx, int64_t sweep, int64_t trial)
{
	const struct sw_row_trial row = {
		.sweep = sweep, .trial = trial, .state = "RUNNING", .params = "{}", .attempt = 1};

	sw_tx_trial_insert(tx, &row);
}

static inline void put_report(struct sw_tx *tx, int64_t trial, int64_t seq, double value)
{
	const struct sw_row_report row = {.sweep = 1,
					  .trial = trial,
					  .attempt = 1,
					  .seq = seq,
					  .ev = seq,
					  .step = seq,
					  .time_ms = 5,
					  .has_value = true,
					  .value = value,
					  .metrics = "{\"loss\":1}",
					  .verdict = "continue"};

	sw_tx_report(tx, &row);
}

/* Opens it, with sweep 1 and its trial 1. */
static inline void fixture_begin(void)
{
	fixture_open();
	struct sw_tx *tx = tx_new();
	put_sweep(tx, 1);
	put_trial(tx, 1, 1);
	commit_now(tx);
}

#endif
