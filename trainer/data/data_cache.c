/* trainer/data/data_cache.c — data sets kept from trial to trial, so that a trial's start costs
 * nothing, and shared by trials that run at once. A list: entries stay where they are while they
 * are held. */
#include "base/beat.h"
#include "base/memory.h"
#include "trainer/data/data.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define IDLE_MOST 4 /* sets without a holder */

struct entry {
	struct entry *next;
	unsigned holders;
	char *spec; /* the data set's JSON, one line */
	char path[sizeof((struct sw_data_source *)0)->path];
	struct sw_data_want want;
	uint64_t stamp; /* of its files */
	uint64_t used;  /* the get that used it last */
	struct sw_data data;
};

struct sw_data_cache {
	const struct sw_ops *ops;
	pthread_mutex_t lock; /* of what follows; held while a set is read */
	uint64_t gets;
	size_t loads;
	struct entry *entries;
};

sw_status sw_data_cache_create(struct sw_data_cache **out, const struct sw_ops *ops)
{
	*out = sw_calloc(1, sizeof **out);
	if (!*out)
		return SW_NOMEM;
	(*out)->ops = ops;
	if (pthread_mutex_init(&(*out)->lock, NULL) == 0)
		return SW_OK;
	free(*out);
	*out = NULL;
	return SW_NOMEM;
}

/* Another lane may hold it for as long as a set takes to be read. */
static void cache_lock(struct sw_data_cache *c)
{
	struct timespec until;

	do {
		sw_beat();
		(void)clock_gettime(CLOCK_REALTIME, &until); /* it knows no other */
		until.tv_sec++;
	} while (pthread_mutex_timedlock(&c->lock, &until) != 0);
}

/* Takes e. */
static void entry_free(struct entry *e)
{
	free(e->spec);
	sw_data_fini(&e->data);
	free(e);
}

/* Drops sets without a holder, the least lately used first, until there are at most `keep` of them,
 * and all sets have at most `most` bytes. */
static void drop_idle(struct sw_data_cache *c, size_t keep, size_t most)
{
	for (;;) {
		struct entry **oldest = NULL, *e;
		size_t idle = 0, bytes = 0;

		/* Counted anew after each that goes: the list is short. */
		for (struct entry **at = &c->entries; *at; at = &(*at)->next) {
			bytes += (*at)->data.bytes;
			if ((*at)->holders)
				continue;
			idle++;
			if (!oldest || (*at)->used < (*oldest)->used)
				oldest = at;
		}
		if (!oldest || (idle <= keep && bytes <= most))
			return; /* what running trials hold stays, however large */
		e = *oldest;
		*oldest = e->next;
		entry_free(e);
	}
}

void sw_data_cache_destroy(struct sw_data_cache *c)
{
	if (!c)
		return;
	while (c->entries) {
		struct entry *e = c->entries;

		c->entries = e->next;
		entry_free(e);
	}
	pthread_mutex_destroy(&c->lock);
	free(c);
}

size_t sw_data_cache_loads(const struct sw_data_cache *c)
{
	return c->loads;
}

/* Sizes and times of all files; of one that is missing, nothing: reading it tells. */
static uint64_t stamp_of(const struct sw_data_source *source)
{
	char file[SW_DATASET_MAX_PATH + 64];
	struct stat st;
	uint64_t h = 0;

	for (size_t i = 0; sw_data_source_file(source, i, file); i++) {
		if (stat(file, &st) != 0)
			continue; /* the reader says that it is missing */
		const uint64_t is[] = {i, (uint64_t)st.st_ino, (uint64_t)st.st_size,
				       (uint64_t)st.st_mtim.tv_sec, (uint64_t)st.st_mtim.tv_nsec};

		h = XXH3_64bits_withSeed(is, sizeof is, h);
	}
	return h;
}

static bool entry_is(const struct entry *e, const char *spec, const struct sw_data_source *source,
		     struct sw_data_want want, uint64_t stamp)
{
	return strcmp(e->spec, spec) == 0 && strcmp(e->path, source->path) == 0 &&
	       e->want.classes == want.classes && e->want.split_seed == want.split_seed &&
	       e->want.scale == want.scale && e->want.all == want.all &&
	       e->want.test == want.test && e->want.val_fraction == want.val_fraction &&
	       e->want.sum == want.sum && e->stamp == stamp;
}

/* A path may lead to other data on another machine, or to newer. */
static sw_status compare_sum(const struct sw_data_source *source, uint64_t want, struct sw_err *err)
{
	char host[64] = "";
	uint64_t sum = 0;
	const sw_status rc = want != 0 ? sw_data_source_sum(source, &sum, err) : SW_OK;

	if (rc != SW_OK || sum == want)
		return rc;
	(void)gethostname(host, sizeof host - 1);
	return sw_err_at(err, SW_INVALID, "/path",
			 "%s holds other data on %s than it did where the sweep was submitted: the "
			 "folder must be the same on all machines, or have the same files",
			 source->path, host);
}

static sw_status load_entry(struct sw_data_cache *c, struct sw_queue *q, struct entry *e,
			    const struct sw_data_source *source, struct sw_data_want want,
			    struct sw_err *err)
{
	struct sw_err first = SW_ERR_INIT;
	sw_status rc = compare_sum(source, want.sum, err);

	if (rc != SW_OK)
		return rc;
	/* first beside all sets that are kept, then alone, then from the host's memory */
	c->loads++;
	rc = sw_data_load(&e->data, source, want, c->ops, q, &first);
	if (rc == SW_NOMEM) {
		drop_idle(c, 0, SIZE_MAX);
		first = (struct sw_err)SW_ERR_INIT;
		rc = sw_data_load(&e->data, source, want, c->ops, q, &first);
	}
	if (rc == SW_NOMEM && want.device_bytes > 1) {
		want.device_bytes = 1; /* streamed */
		first = (struct sw_err)SW_ERR_INIT;
		rc = sw_data_load(&e->data, source, want, c->ops, q, &first);
	}
	return rc == SW_OK ? SW_OK : sw_err_at(err, rc, first.ptr, "%s", first.msg);
}

/* A new entry of the list, without a holder. Takes spec. */
static sw_status entry_make(struct sw_data_cache *c, struct sw_queue *q, char *spec,
			    const struct sw_data_source *source, struct sw_data_want want,
			    uint64_t stamp, struct entry **out, struct sw_err *err)
{
	struct entry *e;
	sw_status rc;

	/* Before the new one is read, so that its memory is free by then. */
	drop_idle(c, IDLE_MOST - 1, SIZE_MAX);
	e = sw_calloc(1, sizeof *e);
	*out = e;
	if (!e) {
		free(spec);
		return sw_err_set(err, SW_NOMEM, "no memory for a data set");
	}
	e->spec = spec;
	memcpy(e->path, source->path, sizeof e->path);
	e->want = want;
	e->stamp = stamp;
	rc = load_entry(c, q, e, source, want, err);
	if (rc != SW_OK) {
		entry_free(e);
		return rc;
	}
	/* Listed only when it is whole: nobody finds a set that could not be read. */
	e->next = c->entries;
	c->entries = e;
	return SW_OK;
}

sw_status sw_data_cache_hold(struct sw_data_cache *c, struct sw_queue *q, const cJSON *dataset,
			     struct sw_data_want want, const struct sw_data **out,
			     struct sw_err *err)
{
	struct sw_data_source source;
	struct entry *e;
	uint64_t stamp;
	char *spec;
	sw_status rc = sw_data_source_read(&source, dataset, err);

	*out = NULL;
	if (rc != SW_OK)
		return rc;
	spec = cJSON_PrintUnformatted(dataset);
	if (!spec)
		return sw_err_set(err, SW_NOMEM, "no memory for the data set's key");
	/* Before the files are read: what changes after this makes the next trial read them
	 * again. */
	stamp = stamp_of(&source);
	cache_lock(c);
	for (e = c->entries; e && !entry_is(e, spec, &source, want, stamp);)
		e = e->next;
	if (e)
		free(spec);
	else
		rc = entry_make(c, q, spec, &source, want, stamp, &e, err);
	if (rc == SW_OK) {
		e->used = ++c->gets;
		e->holders++;
		*out = &e->data;
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void sw_data_cache_release(struct sw_data_cache *c, const struct sw_data *data)
{
	if (!data)
		return; /* a hold that failed */
	cache_lock(c);
	for (struct entry *e = c->entries; e; e = e->next)
		e->holders -= &e->data == data;
	pthread_mutex_unlock(&c->lock);
}

void sw_data_cache_trim(struct sw_data_cache *c, size_t most)
{
	cache_lock(c);
	drop_idle(c, IDLE_MOST, most);
	pthread_mutex_unlock(&c->lock);
}
