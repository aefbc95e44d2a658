#include "daemon/sweep/faults.h"
#include "daemon/plan/plan.h"
#include "daemon/sweep/program_job.h"
#include "daemon/sweep/settle.h"
#include "proto/json.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUESSED (SW_SPEC_WRONG << 1) /* in a member's type: it has the key that was proposed */
#define ROUNDS  (2 * SW_FAULTS_MAX)  /* readings */
#define STUCK   3                    /* readings in a row that found nothing new */

/* --- places --- */

/* Is one the other's, or does it hold it? */
static bool is_around(const char *a, const char *b)
{
	const size_t na = strlen(a), nb = strlen(b), n = na < nb ? na : nb;

	return strncmp(a, b, n) == 0 && (na == nb || (na < nb ? b : a)[n] == '/');
}

static bool begins(const char *ptr, const char *with)
{
	return strncmp(ptr, with, strlen(with)) == 0;
}

/* The member that ptr names, and what holds it; NULL: there is none. *guessed is set if that is
 * known by a key that may be another's. */
static cJSON *find(cJSON *tree, const char *ptr, cJSON **parent, bool *guessed)
{
	char token[sizeof((struct sw_err *)NULL)->ptr];

	*parent = NULL;
	while (tree != NULL && *ptr == '/') {
		size_t n = 0;

		for (ptr++; *ptr != '/' && *ptr != '\0'; ptr++) {
			if (ptr[0] == '~' && ptr[1] != '\0')
				token[n++] = *++ptr == '0' ? '~' : '/';
			else
				token[n++] = *ptr;
		}
		token[n] = '\0';
		*parent = tree;
		tree = cJSON_IsArray(tree) ? cJSON_GetArrayItem(tree, atoi(token))
					   : cJSON_GetObjectItemCaseSensitive(tree, token);
		/* What is in an object says by its own keys that it belongs there. */
		if (tree != NULL && (tree->type & GUESSED) &&
		    (*ptr == '\0' || !cJSON_IsObject(tree)))
			*guessed = true;
	}
	return tree;
}

/* --- mending --- */

/* What stands for a part that is wrong and that others need; of the rest a spec may lack all. */
static const struct {
	const char *unit, *json;
} stand_ins[] = {
	{"/metric", "{\"name\": \"loss\"}"},
	{"/metrics", "[{\"name\": \"loss\"}, {\"name\": \"time\"}]"},
	{"/command", "[\"true\"]"},
	{"/run", "{\"cwd\": \"/\"}"},
	{"/trainer/dataset", "{\"name\": \"digits\"}"},
	{"/trainer/model", "[{\"linear\": 10}]"},
	{"/trainer/model/", "\"relu\""}, /* one of its layers */
};

/* The part that is put aside as a whole: a parameter, a layer, an option of the trainer, else what
 * stands at the top. */
static void unit_of(const char *ptr, char unit[sizeof((struct sw_err *)NULL)->ptr])
{
	size_t depth = begins(ptr, "/trainer/model/") ? 3 : begins(ptr, "/trainer/") ? 2 : 1;
	const char *end = ptr, *in = ptr;

	while (begins(in, "/parameters/")) { /* of groups, too */
		end = in + strlen("/parameters");
		in = end + 1 + strcspn(end + 1, "/");
		depth = 1;
	}
	for (; depth > 0 && *end != '\0'; depth--)
		end += 1 + strcspn(end + 1, "/");
	memcpy(unit, ptr, (size_t)(end - ptr));
	unit[end - ptr] = '\0';
}

static bool put_aside(cJSON *tree, const char *unit)
{
	bool guessed;
	cJSON *parent, *node = find(tree, unit, &parent, &guessed), *instead = NULL;
	const bool layer = begins(unit, "/trainer/model/") && cJSON_IsArray(parent);

	/* All the rest hangs on these. */
	if (parent == NULL || strcmp(unit, "/parameters") == 0 || strcmp(unit, "/trainer") == 0)
		return false;
	if (begins(unit, "/parameters/")) {
		if (node != NULL)
			node->type |= SW_SPEC_WRONG;
		return node != NULL;
	}
	for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++)
		if (strcmp(stand_ins[i].unit, layer ? "/trainer/model/" : unit) == 0)
			instead = cJSON_Parse(stand_ins[i].json);
	if (instead == NULL) {
		cJSON_Delete(cJSON_DetachItemViaPointer(parent, node));
		return node != NULL;
	}
	if (layer) /* the others keep their places */
		return cJSON_ReplaceItemViaPointer(parent, node, instead) != 0;
	cJSON_Delete(cJSON_DetachItemViaPointer(parent, node));
	return cJSON_AddItemToObject(parent, strrchr(unit, '/') + 1, instead) != 0;
}

/* Takes the word that the message proposes. False: it proposes none. */
static bool take_proposal(cJSON *parent, cJSON *node, const char *msg)
{
	static const char lead[] = "did you mean \"";
	const char *at = strstr(msg, lead);
	char word[128];

	if (at == NULL || sscanf(at + sizeof lead - 1, "%127[^\"]", word) != 1)
		return false;
	if (begins(msg, "unknown key ") && sw_json_get(parent, word) == NULL) {
		node->type |= GUESSED;
		return cJSON_AddItemToObject(parent, word,
					     cJSON_DetachItemViaPointer(parent, node)) != 0;
	}
	return cJSON_IsString(node) && cJSON_SetValuestring(node, word) != NULL;
}

/* *again is set if the place may be wrong by a guess, else it is left. False: nothing more can be
 * done. */
static bool mend(cJSON *tree, const struct sw_err *err, bool *again)
{
	cJSON *parent, *node = find(tree, err->ptr, &parent, again);
	cJSON *trainer = cJSON_GetObjectItemCaseSensitive(tree, "trainer");
	char unit[sizeof err->ptr];

	unit_of(err->ptr, unit);
	/* Which parameters a trainer uses is not known any more. */
	if (trainer != NULL && begins(err->ptr, "/trainer/"))
		trainer->type |= SW_SPEC_WRONG;
	if (node != NULL && cJSON_IsObject(parent) && !*again) {
		if (take_proposal(parent, node, err->msg))
			return true;
		if (strcmp(unit, err->ptr) != 0) {
			cJSON_Delete(cJSON_DetachItemViaPointer(parent, node));
			return true;
		}
	}
	return put_aside(tree, unit);
}

/* --- finding --- */

static void note(struct sw_faults *f, const struct sw_err *err)
{
	if (f->n < SW_FAULTS_MAX)
		f->list[f->n++] = *err;
}

static bool is_noted(const struct sw_faults *f, const char *ptr)
{
	for (size_t i = 0; i < f->n; i++)
		if (is_around(f->list[i].ptr, ptr))
			return true;
	return false;
}

/* As a submission is built. *whole: all but the files was looked at and is good. */
static sw_status check(const cJSON *tree, const cJSON *env, uint64_t seed, bool *whole,
		       struct sw_err *err)
{
	struct sw_spec *spec = NULL;
	struct sw_sweep *sched = NULL;
	bool wrong = false;
	sw_status rc = sw_spec_read(&spec, tree, err);

	*whole = false;
	if (rc != SW_OK)
		return rc;
	rc = sw_plan_ranges(spec, err);
	for (size_t i = 0; i < spec->n_params; i++)
		wrong = wrong || spec->params[i].wrong;
	if (rc == SW_OK && !wrong)
		rc = sw_plan_build(&sched, spec, seed, NULL, err);
	*whole = rc == SW_OK;
	if (rc == SW_OK && spec->command != NULL)
		rc = sw_program_job_check(spec, env, err);
	sw_sweep_destroy(sched);
	sw_spec_destroy(spec);
	return rc;
}

/* A worker reads the data of a spec that is good in all else; here is at least whether it can. */
static void check_data(struct sw_faults *f, const cJSON *tree)
{
	static const char at[] = "/trainer/dataset/path";
	const char *path =
		sw_json_text(sw_json_get(sw_json_get(tree, "trainer"), "dataset"), "path", "");
	struct sw_err err = SW_ERR_INIT;

	if (*path != '/' || access(path, R_OK) == 0 || is_noted(f, at))
		return;
	(void)sw_err_at(&err, SW_INVALID, at, "%s: %s", path, strerror(errno));
	note(f, &err);
}

void sw_faults_find(struct sw_faults *f, const cJSON *spec, const cJSON *env, uint64_t seed)
{
	cJSON *tree = cJSON_Duplicate(spec, 1);
	unsigned stuck = 0;
	bool whole = false;

	*f = (struct sw_faults){.n = 0};
	for (unsigned round = 0; round < ROUNDS && stuck < STUCK && !whole && tree != NULL;
	     round++) {
		struct sw_err err = SW_ERR_INIT;
		const sw_status rc = check(tree, env, seed, &whole, &err);

		if (rc != SW_INVALID)
			break;
		bool again = is_noted(f, err.ptr);
		const bool mended = mend(tree, &err, &again);

		if (!again)
			note(f, &err);
		stuck = again ? stuck + 1 : 0;
		if (!mended)
			break;
	}
	check_data(f, tree);
	cJSON_Delete(tree);
}
