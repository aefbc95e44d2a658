/* tests/proto/spec_text.h — specs as the tables of these tests write them. */
#ifndef SW_TESTS_PROTO_SPEC_TEXT_H
#define SW_TESTS_PROTO_SPEC_TEXT_H

#include "proto/json.h"
#include "proto/spec.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* Rows write ' for ". */
static inline cJSON *parse(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	char *json = strdup(text);
	cJSON *tree = NULL;

	for (char *p = json; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	ck_assert_msg(sw_json_parse(&tree, json, strlen(json), &err) == SW_OK, "%s in %s", err.msg,
		      json);
	free(json);
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

#endif
