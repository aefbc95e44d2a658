/* proto/method_table.h — what methods.c and openrpc.c share of the method table. Internal. */
#ifndef SW_PROTO_METHOD_TABLE_H
#define SW_PROTO_METHOD_TABLE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

enum sw_param_type {
	PARAM_OBJECT,
	PARAM_ARRAY,
	PARAM_STRING,
	PARAM_INTEGER,
	PARAM_NUMBER,
	PARAM_BOOLEAN,
	PARAM_TYPE_N
};

/* One parameter; strings and trees point into the document. */
struct sw_method_param {
	const char *name;
	enum sw_param_type type;
	bool required;
	double min, max;    /* of a number, both ends allowed */
	double max_bytes;   /* of a string */
	const cJSON *words; /* of a string: the array of those allowed, or NULL */
};

struct sw_method {
	const char *name;
	const cJSON *tree;
	struct sw_method_param *params;
	const char **names; /* of the parameters, for suggestions */
	size_t n_params;
};

struct sw_methods {
	cJSON *doc;
	struct sw_method *all;
	size_t n;
	size_t *order; /* indices of all[] by name */
};

extern const char *const sw_param_type_names[PARAM_TYPE_N];

#endif
