/* store/jobs.c — queues of writes and reads: the last comes at the end, the first goes. */
#include "store/internal.h"
#include <stdlib.h>

void sw_jobs_init(struct sw_store_jobs *list)
{
	list->head = NULL;
	list->tail = &list->head;
}

void sw_jobs_add(struct sw_store_jobs *list, struct sw_store_job *job)
{
	job->next = NULL;
	*list->tail = job;
	list->tail = &job->next;
}

struct sw_store_job *sw_jobs_take(struct sw_store_jobs *list)
{
	struct sw_store_job *job = list->head;

	if (job != NULL && (list->head = job->next) == NULL)
		list->tail = &list->head;
	return job;
}

void sw_jobs_move(struct sw_store_jobs *to, struct sw_store_jobs *from)
{
	if (from->head == NULL)
		return;
	/* All at once, so that the lock is held for no longer than this, however many there are. */
	*to->tail = from->head;
	to->tail = from->tail;
	sw_jobs_init(from);
}

void sw_jobs_free(struct sw_store_job *job)
{
	if (job != NULL && job->tx != NULL)
		sw_tx_destroy(job->tx); /* the job is part of it */
	else
		free(job);
}

size_t sw_jobs_clear(struct sw_store_jobs *list)
{
	size_t n = 0;

	for (struct sw_store_job *job; (job = sw_jobs_take(list)) != NULL; n++)
		sw_jobs_free(job);
	return n;
}
