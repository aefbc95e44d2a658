/* tests/proto/form_check.h — each key of a table refuses what it says that it refuses: another
 * kind, a value beyond its ends, a word that is none of its own, a key that it has not, one that
 * lacks. Each time the line and its place are looked at. */
#ifndef SW_TESTS_PROTO_FORM_CHECK_H
#define SW_TESTS_PROTO_FORM_CHECK_H

#include "proto/form.h"
#include "proto/json.h"
#include "tests/run.h"
#include <float.h>
#include <math.h>

/* A line on a value of that key: what it must be; or that a word is not known, or a text or an
 * array is not as it should be. */
static void check_line(const struct sw_form_key *k, const char *msg)
{
	char want[320], must[400], unknown[80], has[80];

	(void)snprintf(must, sizeof must, "\"%s\" must be %s", k->name,
		       sw_key_want(k, want, sizeof want));
	(void)snprintf(unknown, sizeof unknown, "unknown %s \"", k->name);
	(void)snprintf(has, sizeof has, "\"%s\" has ", k->name);
	ck_assert_msg(strncmp(msg, must, strlen(must)) == 0 ||
			      strncmp(msg, unknown, strlen(unknown)) == 0 ||
			      strncmp(msg, has, strlen(has)) == 0,
		      "%s, and it %s", msg, must);
}

/* How many faults the value has as that key's. */
static size_t faults_of(const struct sw_form_key *k, cJSON *v)
{
	struct sw_err list[8];
	struct sw_faults f = {list, 8, 0};

	ck_assert_ptr_nonnull(v);
	sw_key_check(k, v, "/at", &f);
	for (size_t i = 0; i < f.n && i < f.cap; i++) {
		ck_assert_int_eq(list[i].code, SW_INVALID);
		ck_assert_str_eq(list[i].ptr, "/at");
		check_line(k, list[i].msg);
	}
	cJSON_Delete(v);
	return f.n;
}

/* The one fault is inside the value of that key: at this place, and its line begins so. */
static void check_inside(const struct sw_form_key *k, cJSON *v, const char *ptr, const char *line)
{
	struct sw_err list[40];
	struct sw_faults f = {list, 40, 0};

	sw_key_check(k, v, "/at", &f);
	ck_assert_uint_gt(f.n, 0);
	ck_assert_str_eq(list[0].ptr, ptr);
	ck_assert_msg(strncmp(list[0].msg, line, strlen(line)) == 0, "%s", list[0].msg);
	cJSON_Delete(v);
}

static void check_kind(const struct sw_form_key *k)
{
	static const struct {
		const char *text;
		enum sw_key_kind kinds[3];
	} values[] = {
		{"null", {SW_KEY_ANY}},
		{"true", {SW_KEY_BOOLEAN}},
		{"1e300", {SW_KEY_INTEGER, SW_KEY_REAL}},
		{"\"zq\"", {SW_KEY_STRING, SW_KEY_CHOICE}},
		{"[]", {SW_KEY_ARRAY}},
		{"{}", {SW_KEY_OBJECT}},
	};

	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		bool own = k->searched && values[i].text[0] == '"';

		for (size_t j = 0; j < 3; j++)
			own = own || values[i].kinds[j] == k->kind;
		if (!own)
			ck_assert_msg(faults_of(k, cJSON_Parse(values[i].text)) == 1,
				      "\"%s\" takes %s", k->name, values[i].text);
	}
}

static void check_ends(const struct sw_form_key *k)
{
	const double step = k->kind == SW_KEY_INTEGER ? 1 : 1e-6;
	const double less = k->min - fmax(step, fabs(k->min) * 1e-9),
		     more = k->max + fmax(step, fabs(k->max) * 1e-9);

	if (k->kind == SW_KEY_INTEGER)
		ck_assert_uint_eq(faults_of(k, cJSON_CreateNumber(k->min + 0.5)), 1);
	if (k->min > -DBL_MAX) {
		ck_assert_uint_eq(faults_of(k, cJSON_CreateNumber(less)), 1);
		ck_assert_uint_eq(faults_of(k, cJSON_CreateNumber(k->min)), k->min_open);
	}
	if (k->max < DBL_MAX) {
		ck_assert_uint_eq(faults_of(k, cJSON_CreateNumber(more)), 1);
		ck_assert_uint_eq(faults_of(k, cJSON_CreateNumber(k->max)), k->max_open);
	}
	if (!isnan(k->fallback))
		ck_assert_uint_eq(faults_of(k, cJSON_CreateNumber(k->fallback)), 0);
}

static void check_words(const struct sw_form_key *k)
{
	for (size_t i = 0; k->choices[i] != NULL; i++)
		ck_assert_uint_eq(faults_of(k, cJSON_CreateString(k->choices[i])), 0);
	for (size_t i = 0; i < k->hints_n; i++)
		ck_assert_uint_eq(faults_of(k, cJSON_CreateString(k->hints[i].key)), 1);
	ck_assert_uint_eq(faults_of(k, cJSON_CreateString("zq")), k->searched ? 0 : 1);
}

static void check_length(const struct sw_form_key *k)
{
	const size_t most = k->max < 1e5 ? (size_t)k->max : 1;
	char *text = calloc(1, most + 2);

	memset(text, 'a', most + 1);
	ck_assert_uint_eq(faults_of(k, cJSON_CreateString(text)), k->max < 1e5);
	text[most] = '\0';
	ck_assert_uint_eq(faults_of(k, cJSON_CreateString(text)), 0);
	if (k->min > 0)
		ck_assert_uint_eq(faults_of(k, cJSON_CreateString("")), 1);
	if (k->plain)
		ck_assert_uint_eq(faults_of(k, cJSON_CreateString("a\nb")), 1);
	free(text);
}

static void check_number_of_items(const struct sw_form_key *k)
{
	cJSON *list = cJSON_CreateArray();

	if (k->min > 0)
		ck_assert_uint_eq(faults_of(k, cJSON_CreateArray()), 1);
	for (size_t i = 0; k->max < 1e5 && i <= (size_t)k->max; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNull());
	if (k->max < 1e5)
		ck_assert_uint_eq(faults_of(k, list), 1);
	else
		cJSON_Delete(list);
}

static void check_items(const struct sw_form_key *k)
{
	cJSON *list = cJSON_CreateArray();
	char line[400], want[320];

	for (size_t i = 0; i == 0 || i < (size_t)k->min; i++)
		cJSON_AddItemToArray(list, cJSON_CreateNull());
	(void)snprintf(line, sizeof line, "each of \"%s\" must be %s, not null", k->item->name,
		       sw_key_want(k->item, want, sizeof want));
	check_inside(k, list, "/at/0", line);
}

/* An object of the form that this word picks, with one more key. */
static cJSON *object_with(const char *by, const char *word, const char *key)
{
	cJSON *object = cJSON_CreateObject();

	if (by != NULL)
		cJSON_AddStringToObject(object, by, word);
	cJSON_AddNullToObject(object, key);
	return object;
}

/* A key that no form has. */
static void check_neighbour(const struct sw_form_key *k, const char *by, const char *word)
{
	check_inside(k, object_with(by, word, "qqqq/"), "/at/qqqq~1",
		     "unknown key \"qqqq/\"; known here: ");
}

static void check_form(const struct sw_form *form);

static void check_forms(const struct sw_form_key *k)
{
	const struct sw_forms *all = k->forms;
	char ptr[80], line[400], want[320];

	for (size_t i = 0; i < all->n; i++) {
		const struct sw_form *form = &all->list[i];
		const bool other = all->or_by != NULL && strcmp(all->or_by, form->name) == 0;
		const char *by = other ? form->name : all->by;

		check_form(form);
		check_neighbour(k, by, form->name);
		for (size_t j = 0; j < form->hints_n; j++) {
			const char *key = form->hints[j].key;

			(void)snprintf(ptr, sizeof ptr, "/at/%s", key);
			(void)snprintf(line, sizeof line, "unknown key \"%s\"; did you mean", key);
			if (form->hints[j].use == NULL)
				(void)snprintf(line, sizeof line, "\"%s\" is not supported", key);
			if (sw_form_find(form, key) == NULL)
				check_inside(k, object_with(by, form->name, key), ptr, line);
		}
	}
	(void)snprintf(ptr, sizeof ptr, "/at/%s", all->by);
	(void)snprintf(line, sizeof line, "unknown %s \"zq\": it must be %s", all->by,
		       sw_key_want(all->pick, want, sizeof want));
	check_inside(k, object_with(all->by, "zq", "qqqq"), ptr, line);
}

static unsigned keys_n;
static const struct sw_form *others_form; /* may have what a hint names, too; or NULL */

static void check_key(const struct sw_form_key *k)
{
	keys_n++;
	if (k->kind != SW_KEY_ANY)
		check_kind(k);
	if (k->kind == SW_KEY_INTEGER || k->kind == SW_KEY_REAL)
		check_ends(k);
	if (k->kind == SW_KEY_CHOICE)
		check_words(k);
	if (k->kind == SW_KEY_STRING && !k->searched)
		check_length(k);
	if (k->kind == SW_KEY_ARRAY)
		check_number_of_items(k);
	if (k->item != NULL) {
		check_key(k->item);
		check_items(k);
	}
	if (k->form != NULL) {
		check_form(k->form);
		check_neighbour(k, NULL, NULL);
	}
	if (k->forms != NULL)
		check_forms(k);
}

static size_t faults_of_object(const struct sw_form *form, const char *key, char *msg, size_t cap)
{
	struct sw_err list[60];
	struct sw_faults f = {list, 60, 0};
	cJSON *object = cJSON_CreateObject();
	size_t n = 0;

	cJSON_AddNullToObject(object, key);
	sw_form_check(form, object, "", &f);
	for (size_t i = 0; i < f.n; i++)
		if (list[i].ptr[0] == '/' && strcmp(list[i].ptr + 1, key) == 0) {
			(void)snprintf(msg, cap, "%s", list[i].msg);
			n++;
		}
	cJSON_Delete(object);
	return n;
}

/* That a key is missing is said of those that must be there, and of no other. */
static void check_missing(const struct sw_form *form)
{
	struct sw_err list[40];
	struct sw_faults f = {list, 40, 0};
	cJSON *none = cJSON_CreateObject();
	char line[400], want[320], ptr[80];
	size_t n = 0;

	sw_form_check(form, none, "/at", &f);
	for (size_t i = 0; i < form->n; i++) {
		const struct sw_form_key *k = &form->keys[i];

		if (!k->required)
			continue;
		ck_assert_uint_lt(n, f.n);
		(void)snprintf(line, sizeof line, "\"%s\" is missing: %s", k->name,
			       k->missing != NULL ? k->missing : sw_key_want(k, want, sizeof want));
		(void)snprintf(ptr, sizeof ptr, "/at/%s", k->name);
		ck_assert_str_eq(list[n].msg, line);
		ck_assert_str_eq(list[n++].ptr, ptr);
	}
	ck_assert_uint_eq(f.n, n);
	cJSON_Delete(none);
}

/* Keys from elsewhere, and none at all, are told of; other names for ours mean ours. */
static void check_form(const struct sw_form *form)
{
	char msg[400];

	check_missing(form);

	for (size_t i = 0; i < form->n; i++) {
		check_key(&form->keys[i]);
		if (form->keys[i].means != NULL)
			ck_assert_ptr_nonnull(sw_form_find(form, form->keys[i].means));
	}
	for (size_t i = 0; i < form->hints_n; i++) {
		const struct sw_hint *h = &form->hints[i];

		if (sw_form_find(form, h->key) != NULL)
			continue;
		ck_assert_uint_eq(faults_of_object(form, h->key, msg, sizeof msg), 1);
		ck_assert_ptr_nonnull(strstr(msg, h->use != NULL ? h->use : h->line));
		ck_assert(h->use == NULL || sw_form_find(form, h->use) != NULL ||
			  (others_form != NULL && sw_form_find(others_form, h->use) != NULL));
	}
	ck_assert_uint_eq(faults_of_object(form, "qqqqqqqqqqqq", msg, sizeof msg), 1);
	ck_assert_msg(strstr(msg, "; known here: ") != NULL, "%s", msg);
}

#endif
