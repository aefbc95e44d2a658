/* tests/spec/spec_text.h — specs as the tables of these tests write them. */
#ifndef SW_TESTS_SPEC_SPEC_TEXT_H
#define SW_TESTS_SPEC_SPEC_TEXT_H

#include "proto/json.h"
#include "spec/spec.h"
#include "tests/run.h"

/* The text with " for each ', as rows write it. It lives until a test has made 64 more. */
static inline const char *quoted(const char *text)
{
	static char *made[64];
	static size_t n;
	char *own = strdup(text);

	for (char *p = own; (p = strchr(p, '\'')) != NULL;)
		*p = '"';
	free(made[n % ROWS(made)]);
	return made[n++ % ROWS(made)] = own;
}

static inline cJSON *parse(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	const char *json = quoted(text);
	cJSON *tree = NULL;

	ck_assert_msg(sw_json_parse(&tree, json, strlen(json), &err) == SW_OK, "%s in %s", err.msg,
		      json);
	return tree;
}

#define METRIC "'method':'random','metric':{'name':'loss'}"
#define HEAD   "{" METRIC ",'parameters':{'x':{'min':0.0,'max':1.0}}"
#define PARAM  "{" METRIC ",'parameters':{'x':"
#define TRAIN                                                                                      \
	"{" METRIC ",'parameters':{'l1':{'distribution':'pow2','min':4,'max':64},"                 \
	"'lr':{'min':0.01,'max':0.1},'opt':{'values':['sgd','adamw']}},'trainer':"
#define MODEL "'model':[{'linear':'l1'},'relu',{'linear':10}]"
#define REST  "'dataset':{'name':'digits'}," MODEL ",'optimizer':'opt'"

#define SPACE(params)         "{" METRIC ",'parameters':{" params "}}"
#define RULED(params, ruling) "{" METRIC ",'parameters':{" params "},'constraints':" ruling "}"

/* For the tables: what "when" and "constraints" may name. */
#define ABC                                                                                        \
	"'a':{'min':1,'max':9},'b':{'min':1,'max':9},'c-d':{'min':0.0,'max':1.0},"                 \
	"'opt':{'values':['sgd','adamw',7,null,true]},'n':{'values':[16,32]},"                     \
	"'k':{'value':3},'g':{'parameters':{'wd':{'min':0.0,'max':1.0}}},'2e1':{'min':0,'max':2}"

/* It lives until a test has read sixteen more: nobody has to destroy it. */
static inline struct sw_spec *read_spec(const char *text)
{
	static struct sw_spec *read[16];
	static size_t n;
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = parse(text);

	ck_assert_msg(sw_spec_read(&s, tree, &err) == SW_OK, "%s: %s", err.ptr, err.msg);
	ck_assert_ptr_nonnull(s);
	cJSON_Delete(tree);
	sw_spec_destroy(read[n % ROWS(read)]);
	return read[n++ % ROWS(read)] = s;
}

/* The spec is refused with this line at this place. */
static inline void check_refused(const char *text, const char *ptr, const char *msg)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = parse(text);

	const sw_status rc = sw_spec_read(&s, tree, &err);
	ck_assert_str_eq(err.msg, msg);
	ck_assert_str_eq(err.ptr, ptr);
	ck_assert_int_eq(rc, SW_INVALID);
	ck_assert_ptr_null(s);
	cJSON_Delete(tree);
}

/* The warnings of a spec: ptr and msg of each in turn, want[n] NULL after the last. */
static inline void check_warnings(const struct sw_spec *s, const char *const *want, size_t n)
{
	for (size_t i = 0; i < s->n_warnings; i++) {
		ck_assert_uint_lt(2 * i, n);
		ck_assert_pstr_eq(s->warnings[i].ptr, want[2 * i]);
		ck_assert_pstr_eq(s->warnings[i].msg, want[2 * i + 1]);
	}
	ck_assert(s->n_warnings == n / 2 || want[2 * s->n_warnings] == NULL);
}

static inline void check_warned(const char *text, const char *const *want, size_t n)
{
	check_warnings(read_spec(text), want, n);
}

#endif
