/* tests/trainer/file/model_file.h — safetensors files written by hand, of models whose predictions
 * are known. */
#ifndef SW_TESTS_WORKER_FILE_MODEL_FILE_H
#define SW_TESTS_WORKER_FILE_MODEL_FILE_H

#include "tests/trainer/data/data_set.h"

struct tensor {
	const char *name, *type, *shape;
	const float *v;
	size_t n;
};

#define META_MOST 10

struct meta {
	const char *key, *json; /* json: quoted when it is written */
};

static inline size_t escaped(char *to, const char *from)
{
	size_t n = 0;

	for (; *from; from++) {
		if (*from == '"' || *from == '\\')
			to[n++] = '\\';
		to[n++] = *from;
	}
	to[n] = '\0';
	return n;
}

/* Returns the bytes. without: a key, or a tensor, that is left out; with: one that is another. */
static inline size_t model_put(const struct meta *meta, const struct tensor *t, size_t tensors_n,
			       const char *without, const struct meta *with)
{
	static unsigned char file[65536];
	char *text = (char *)file + 8;
	size_t n = (size_t)sprintf(text, "{\"__metadata__\":{\"format\":\"pt\""), at = 0;

	for (size_t i = 0; i < META_MOST && meta[i].key; i++) {
		const char *json = meta[i].json;
		const char *key = meta[i].key;

		if (without && strcmp(key, without) == 0) {
			if (!with || !*with->key)
				continue;
			key = with->key; /* in its place */
		}
		if (with && strcmp(key, with->key) == 0)
			json = with->json;
		n += (size_t)sprintf(text + n, ",\"%s\":\"", key);
		n += escaped(text + n, json);
		n += (size_t)sprintf(text + n, "\"");
	}
	n += (size_t)sprintf(text + n, "}");
	for (size_t i = 0; i < tensors_n; i++) {
		if (without && strcmp(t[i].name, without) == 0)
			continue;
		n += (size_t)sprintf(
			text + n,
			",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
			t[i].name, with && strcmp(with->key, "dtype") == 0 ? with->json : t[i].type,
			with && strcmp(with->key, t[i].name) == 0 ? with->json : t[i].shape, at,
			at + 4 * t[i].n);
		at += 4 * t[i].n;
	}
	n += (size_t)sprintf(text + n, "}");
	for (size_t i = 0; i < 8; i++)
		file[i] = (unsigned char)(n >> 8 * i);
	n += 8;
	for (size_t i = 0; i < tensors_n; i++) {
		if (without && strcmp(t[i].name, without) == 0)
			continue;
		memcpy(file + n, t[i].v, 4 * t[i].n);
		n += 4 * t[i].n;
	}
	put("m.safetensors", file, n);
	return n;
}

/* --- the models --- */

static const float identity[] = {1, 0, 0, 1}, zeros[] = {0, 0}, sum[] = {2, 3}, half[] = {0.5f};
static const float table[] = {0, 0, 1, 0, 0, 2}, means[] = {1, 0, 0, 0, 1, 0};

#define META(m, i, o, d)                                                                           \
	{"sweepd", "1"}, {"model", m}, {"input", i}, {"output", o},                                \
	{                                                                                          \
		"dataset", d                                                                       \
	}
#define TWO "{\"loss\":\"cross_entropy\",\"outputs\":2,\"labels\":1}"

enum { NUMBERS, NAMELESS, VALUE, LARGE, IMAGE, CIFAR, TOKENS, NEXT, TABLE };

static const struct {
	struct meta meta[META_MOST];
	struct tensor tensor[4];
	size_t tensors_n;
} models[] = {
	[NUMBERS] =
		{{META("[{\"linear\":2}]", "{\"kind\":\"numbers\",\"shape\":[2]}", TWO,
		       "{\"format\":\"csv\"}"),
		  {"table",
		   "{\"width\":3,\"target_column\":0,\"header\":true,\"columns\":[{\"name\":"
		   "\"a\",\"column\":1,\"kind\":\"number\",\"center\":1,\"width\":2},{\"name\":\"b,"
		   "c\",\"column\":2,\"kind\":\"number\",\"center\":2,\"width\":4}]}"},
		  {"classes", "[\"no\",\"yes, \\\"sir\\\"\"]"}},
		 {{"0.weight", "F32", "[2,2]", identity, 4}, {"0.bias", "F32", "[2]", zeros, 2}},
		 2},
	[TABLE] = {{META("[{\"linear\":2}]", "{\"kind\":\"numbers\",\"shape\":[2]}", TWO,
			 "{\"format\":\"csv\"}"),
		    {"table",
		     "{\"width\":2,\"target_column\":1,\"header\":true,\"columns\":[{\"name\":"
		     "\"2019\",\"column\":0,\"kind\":\"category\",\"values\":[\"RL\","
		     "\"RM\"]}]}"}},
		   {{"0.weight", "F32", "[2,2]", identity, 4}, {"0.bias", "F32", "[2]", zeros, 2}},
		   2},
	[NAMELESS] = {{META("[{\"linear\":2}]", "{\"kind\":\"numbers\",\"shape\":[2]}", TWO,
			    "{\"format\":\"csv\"}"),
		       {"table",
			"{\"width\":3,\"target_column\":1,\"columns\":[{\"column\":0,\"kind\":"
			"\"number\"},{\"column\":2,\"kind\":\"number\"}]}"}},
		      {{"0.weight", "F32", "[2,2]", identity, 4},
		       {"0.bias", "F32", "[2]", zeros, 2}},
		      2},
	[VALUE] = {{META("[{\"linear\":1}]", "{\"kind\":\"numbers\",\"shape\":[2]}",
			 "{\"loss\":\"mse\",\"outputs\":1,\"labels\":1}", "{\"format\":\"npy\"}")},
		   {{"0.weight", "F32", "[1,2]", sum, 2}, {"0.bias", "F32", "[1]", half, 1}},
		   2},
	[LARGE] = {{META("[{\"linear\":1}]", "{\"kind\":\"numbers\",\"shape\":[2]}",
			 "{\"loss\":\"mse\",\"outputs\":1,\"labels\":1,\"shift\":1.7e12}",
			 "{\"format\":\"csv\"}"),
		    {"mean", "[1700000000.5,5412345]"},
		    {"std", "[0.5,0.125]"}},
		   {{"0.weight", "F32", "[1,2]", sum, 2}, {"0.bias", "F32", "[1]", half, 1}},
		   2},
	[IMAGE] = {{META("[\"flatten\",{\"linear\":2}]",
			 "{\"kind\":\"image\",\"shape\":[1,1,2],\"bytes\":true}", TWO,
			 "{\"format\":\"idx\"}"),
		    {"mean", "[100]"},
		    {"std", "[50]"}},
		   {{"1.weight", "F32", "[2,2]", identity, 4}, {"1.bias", "F32", "[2]", zeros, 2}},
		   2},
	[CIFAR] = {{META("[\"global_avgpool\",\"flatten\",{\"linear\":2}]",
			 "{\"kind\":\"image\",\"shape\":[3,32,32],\"bytes\":true}", TWO,
			 "{\"format\":\"cifar10\"}"),
		    {"mean", "[0,0,0]"},
		    {"std", "[1,1,1]"}},
		   {{"2.weight", "F32", "[2,3]", means, 6}, {"2.bias", "F32", "[2]", zeros, 2}},
		   2},
	[TOKENS] = {{META("[{\"embedding\":2},\"mean_tokens\",{\"linear\":2}]",
			  "{\"kind\":\"tokens\",\"shape\":[2],\"vocab\":3,\"dtype\":\"uint16\","
			  "\"pad\":0}",
			  TWO, "{\"format\":\"tokens\"}")},
		    {{"0.weight", "F32", "[3,2]", table, 6},
		     {"2.weight", "F32", "[2,2]", identity, 4},
		     {"2.bias", "F32", "[2]", zeros, 2}},
		    3},
	[NEXT] = {{META("[{\"embedding\":2},{\"linear\":2}]",
			"{\"kind\":\"tokens\",\"shape\":[2],\"vocab\":3,\"dtype\":\"uint32\"}",
			"{\"loss\":\"cross_entropy\",\"outputs\":2,\"labels\":2}",
			"{\"format\":\"tokens\"}")},
		  {{"0.weight", "F32", "[3,2]", table, 6},
		   {"1.weight", "F32", "[2,2]", identity, 4},
		   {"1.bias", "F32", "[2]", zeros, 2}},
		  3},
};

static inline void model_make(int which)
{
	model_put(models[which].meta, models[which].tensor, models[which].tensors_n, NULL, NULL);
}

#endif
