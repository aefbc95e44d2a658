/* tests/trainer/comm/baton.h — ranks as threads of which one runs at a time, for the stand-in
 * device is one thread's: who has the baton runs, and hands it on wherever it waits. Link with
 * --wrap=pthread_cond_timedwait,--wrap=pthread_rwlock_rdlock,--wrap=pthread_rwlock_wrlock,
 * --wrap=nanosleep. */
#ifndef SW_TESTS_WORKER_COMM_BATON_H
#define SW_TESTS_WORKER_COMM_BATON_H

#include "base/beat.h"
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t turned;
	unsigned long asked, turn; /* turns go round */
} baton = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static _Thread_local bool baton_mine;

static inline void baton_take(void)
{
	pthread_mutex_lock(&baton.lock);
	for (const unsigned long mine = baton.asked++; baton.turn != mine;)
		pthread_cond_wait(&baton.turned, &baton.lock);
	pthread_mutex_unlock(&baton.lock);
	baton_mine = true;
}

static inline void baton_give(void)
{
	baton_mine = false;
	pthread_mutex_lock(&baton.lock);
	baton.turn++;
	pthread_cond_broadcast(&baton.turned);
	pthread_mutex_unlock(&baton.lock);
}

static inline void baton_pass(void *ctx)
{
	(void)ctx;
	baton_give();
	baton_take();
}

int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __real_pthread_rwlock_rdlock(pthread_rwlock_t *l);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *l);
int __real_pthread_rwlock_wrlock(pthread_rwlock_t *l);
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *l);
int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);

/* Not as long as *t: another rank may wait for what this one's device does, and the stand-in's does
 * so only when its host, awake again, beats. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)
{
	struct timespec soon;

	if (!baton_mine)
		return __real_pthread_cond_timedwait(c, m, t);
	(void)clock_gettime(CLOCK_MONOTONIC, &soon);
	soon.tv_nsec += 200000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	baton_give();
	const int rc = __real_pthread_cond_timedwait(c, m, &soon);

	pthread_mutex_unlock(m); /* who has the baton may want it */
	baton_take();
	pthread_mutex_lock(m);
	return rc;
}

int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	while (baton_mine && pthread_rwlock_tryrdlock(l) != 0)
		baton_pass(NULL);
	return baton_mine ? 0 : __real_pthread_rwlock_rdlock(l);
}

int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	while (baton_mine && pthread_rwlock_trywrlock(l) != 0)
		baton_pass(NULL);
	return baton_mine ? 0 : __real_pthread_rwlock_wrlock(l);
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!baton_mine)
		return __real_nanosleep(t, left);
	baton_give();
	const int rc = __real_nanosleep(t, left);

	baton_take();
	return rc;
}

#endif
