#include "cli/tfevent.h"
#include "base/memory.h"
#include "base/text.h"
#include "proto/json.h"
#include "spec/spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- protocol buffers: fields by their numbers --- */

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_varint(struct sw_tf *t, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		bytes[n++] = (unsigned char)((v & 0x7f) | 0x80);
	bytes[n++] = (unsigned char)v;
	(void)sw_buf_add(&t->b, bytes, n);
}

static void add_key(struct sw_tf *t, unsigned field, enum wire wire)
{
	add_varint(t, (uint64_t)field << 3 | wire);
}

static void add_uint(struct sw_tf *t, unsigned field, uint64_t v)
{
	add_key(t, field, WIRE_VARINT);
	add_varint(t, v);
}

/* n little-endian bytes of v. */
static void put_bytes(char *out, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(v >> (8 * i) & 0xff);
}

static void add_double(struct sw_tf *t, unsigned field, double v)
{
	uint64_t bits;
	char bytes[sizeof bits];

	memcpy(&bits, &v, sizeof bits);
	put_bytes(bytes, bits, sizeof bytes);
	add_key(t, field, WIRE_64);
	(void)sw_buf_add(&t->b, bytes, sizeof bytes);
}

static void add_text(struct sw_tf *t, unsigned field, const char *text)
{
	char *plain = sw_strdup(text);

	if (plain == NULL) {
		t->b.failed = SW_NOMEM;
		return;
	}
	sw_text_plain(plain);
	add_key(t, field, WIRE_BYTES);
	add_varint(t, strlen(plain));
	(void)sw_buf_adds(&t->b, plain);
	free(plain);
}

#define LENGTH 5 /* bytes of a message's length: known only at its end, so written in full width */

static void open_message(struct sw_tf *t, unsigned field)
{
	add_key(t, field, WIRE_BYTES);
	(void)sw_buf_add(&t->b, "\0\0\0\0", LENGTH);
	t->open[t->n++] = t->b.len;
}

static void close_message(struct sw_tf *t)
{
	const size_t at = t->open[--t->n], n = t->b.len - at;

	for (size_t i = 0; i < LENGTH && t->b.failed == SW_OK; i++)
		t->b.data[at - LENGTH + i] =
			(char)((n >> (7 * i) & 0x7f) | (i + 1 < LENGTH ? 0x80 : 0));
}

/* --- records --- */

#define FRAME_HEAD 12 /* length and its checksum; behind the data stands the data's */

/* CRC-32C, half a byte at a time; rotated and moved, for data that holds checksums itself. */
static uint32_t masked_crc(const char *bytes, size_t n)
{
	static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
					   0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
					   0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
					   0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < n; i++) {
		const unsigned byte = (unsigned char)bytes[i];

		crc = crc >> 4 ^ table[(crc ^ byte) & 15];
		crc = crc >> 4 ^ table[(crc ^ byte >> 4) & 15];
	}
	crc = ~crc;
	return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void open_event(struct sw_tf *t, double time_ms, uint64_t step)
{
	static const char none[FRAME_HEAD];

	(void)sw_buf_add(&t->b, none, sizeof none);
	t->n = 0;
	t->open[t->n++] = t->b.len;
	add_double(t, 1, time_ms / 1e3);
	add_uint(t, 2, step);
}

void sw_tf_close(struct sw_tf *t)
{
	char crc[4];

	while (t->n > 1)
		close_message(t);
	if (t->b.failed != SW_OK)
		return;
	char *data = t->b.data + t->open[0], *head = data - FRAME_HEAD;
	const size_t n = t->b.len - t->open[0];
	put_bytes(head, n, 8);
	put_bytes(head + 8, masked_crc(head, 8), 4);
	put_bytes(crc, masked_crc(data, n), sizeof crc);
	(void)sw_buf_add(&t->b, crc, sizeof crc);
}

void sw_tf_version(struct sw_tf *t, double time_ms)
{
	open_event(t, time_ms, 0);
	add_text(t, 3, "brain.Event:2");
	sw_tf_close(t);
}

void sw_tf_restart(struct sw_tf *t, double time_ms, uint64_t step)
{
	open_event(t, time_ms, step);
	open_message(t, 7); /* session_log */
	add_uint(t, 1, 1);  /* START */
	sw_tf_close(t);
}

void sw_tf_open(struct sw_tf *t, double time_ms, uint64_t step)
{
	open_event(t, time_ms, step);
	open_message(t, 5); /* summary */
}

void sw_tf_scalar(struct sw_tf *t, const char *tag, double v)
{
	const float f = (float)v;
	uint32_t bits;
	char bytes[sizeof bits];

	open_message(t, 1); /* value */
	add_text(t, 1, tag);
	memcpy(&bits, &f, sizeof bits);
	put_bytes(bytes, bits, sizeof bytes);
	add_key(t, 2, WIRE_32);
	(void)sw_buf_add(&t->b, bytes, sizeof bytes);
	close_message(t);
}

/* --- the HParams tab --- */

/* Its records are metadata of a value without a value. field: of HParamsPluginData. */
static void open_hparams(struct sw_tf *t, double time_ms, const char *tag, unsigned field)
{
	sw_tf_open(t, time_ms, 0);
	open_message(t, 1); /* value */
	add_text(t, 1, tag);
	open_message(t, 9); /* metadata */
	open_message(t, 1); /* plugin_data */
	add_text(t, 1, "hparams");
	open_message(t, 2); /* content */
	open_message(t, field);
}

/* A google.protobuf.Value. */
static void add_value(struct sw_tf *t, unsigned field, const cJSON *v)
{
	struct sw_buf text;
	struct sw_jw w;

	open_message(t, field);
	if (cJSON_IsNumber(v)) {
		add_double(t, 2, v->valuedouble);
	} else if (cJSON_IsBool(v)) {
		add_uint(t, 4, cJSON_IsTrue(v) ? 1 : 0);
	} else if (cJSON_IsString(v)) {
		add_text(t, 3, v->valuestring);
	} else {
		sw_buf_init(&text, (size_t)1 << 20);
		sw_jw_init(&w, &text);
		sw_jw_cjson(&w, v);
		if (text.failed != SW_OK)
			t->b.failed = text.failed;
		else
			add_text(t, 3, text.data);
		sw_buf_fini(&text);
	}
	close_message(t);
}

/* Entries of the map hparams. Groups nest as deep as JSON may; another object is a value. */
static void add_params(struct sw_tf *t, const cJSON *params, const cJSON *declared,
		       const char *prefix)
{
	char name[2 * SW_SPEC_MAX_PARAM_NAME];
	const cJSON *v;

	cJSON_ArrayForEach (v, params) {
		const cJSON *group = sw_json_get(sw_json_get(declared, v->string), "parameters");

		(void)snprintf(name, sizeof name, "%s%s%s", prefix, v->string,
			       group != NULL ? "." : "");
		if (group != NULL) {
			add_params(t, v, group, name);
			continue;
		}
		open_message(t, 1);
		add_text(t, 1, name);
		add_value(t, 2, v);
		close_message(t);
	}
}

void sw_tf_session_start(struct sw_tf *t, double time_ms, const cJSON *params,
			 const cJSON *declared)
{
	open_hparams(t, time_ms, "_hparams_/session_start_info", 3);
	add_params(t, params, declared, "");
	add_double(t, 5, time_ms / 1e3);
	sw_tf_close(t);
}

void sw_tf_session_end(struct sw_tf *t, double time_ms, const char *state)
{
	const bool failed = strcmp(state, "FAILED") == 0 || strcmp(state, "INFEASIBLE") == 0;

	open_hparams(t, time_ms, "_hparams_/session_end_info", 4);
	add_uint(t, 1, failed ? 2 : strcmp(state, "COMPLETED") == 0); /* api.proto's Status */
	add_double(t, 2, time_ms / 1e3);
	sw_tf_close(t);
}
