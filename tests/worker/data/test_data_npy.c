/* tests/worker/data/test_data_npy.c — .npy pairs: every dtype, shape and version that is taken, and
 * the line of each that is not. The headers are written by hand. */
#include "tests/run.h"
#include "tests/worker/data/data_set.h"
#include "worker/data/npy.h"
#include <math.h>

#define PAIR "{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\"}"
#define TESTED                                                                                     \
	"{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\","                     \
	"\"val_path\":\"@/vx.npy\",\"val_label_path\":\"@/vy.npy\"}"

static unsigned char file[4096];

/* A file of this version, header and data; returns its size. The header is padded as NumPy does. */
static size_t npy(int version, const char *header, const void *data, size_t bytes)
{
	const size_t pre = version == 1 ? 10 : 12;
	const size_t n = (pre + strlen(header) + 1 + 63) / 64 * 64 - pre;

	memcpy(file, "\x93NUMPY", 6);
	file[6] = (unsigned char)version;
	file[7] = 0;
	file[8] = (unsigned char)n;
	file[9] = (unsigned char)(n >> 8);
	file[10] = file[11] = 0;
	memset(file + pre, ' ', n);
	memcpy(file + pre, header, strlen(header));
	file[pre + n - 1] = '\n';
	memcpy(file + pre + n, data, bytes);
	return pre + n + bytes;
}

static const float rows4[] = {0, 1, 10, 11, 20, 21, 30, 31};
static const int64_t labels4[] = {0, 2, 0, 1};

#define F4X "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }"
#define I8Y "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }"

static void set_put(void)
{
	put("x.npy", file, npy(1, F4X, rows4, sizeof rows4));
	put("vx.npy", file, npy(1, F4X, rows4, sizeof rows4));
	put("y.npy", file, npy(1, I8Y, labels4, sizeof labels4));
	put("vy.npy", file, npy(1, I8Y, labels4, sizeof labels4));
}

static void rows_check(const struct sw_data *data)
{
	unsigned seen = 0;

	for (size_t i = 0; i < 4; i++) {
		const struct sw_data_part *part = i < 2 ? &data->train : &data->val;
		const float *x = part->x + i % 2 * 2;
		const int row = (int)x[0] / 10;

		seen |= 1u << row;
		ck_assert_float_eq(x[0], (float)(10 * row));
		ck_assert_float_eq(x[1], (float)(10 * row + 1));
		ck_assert_int_eq(part->label[i % 2], (int32_t)labels4[row]);
	}
	ck_assert_uint_eq(seen, 15);
}

TEST(npy_of_every_dtype_and_version_becomes_floats)
{
	static const double f8[] = {0, 1, 10, 11, 20, 21, 30, 31};
	static const uint8_t u1[] = {0, 1, 10, 11, 20, 21, 30, 31}, yu1[] = {0, 2, 0, 1};
	static const int32_t i4[] = {0, 1, 10, 11, 20, 21, 30, 31}, yi4[] = {0, 2, 0, 1};
	static const int64_t i8[] = {0, 1, 10, 11, 20, 21, 30, 31};
	static const struct {
		const char *descr;
		const void *data;
		size_t bytes;
	} types[] = {{"<f4", rows4, sizeof rows4},
		     {"<f8", f8, sizeof f8},
		     {"|u1", u1, sizeof u1},
		     {"<i4", i4, sizeof i4},
		     {"<i8", i8, sizeof i8}};
	struct sw_data data;
	char header[128];

	for (size_t t = 0; t < ROWS(types); t++) {
		for (int version = 1; version <= 3; version++) {
			snprintf(header, sizeof header,
				 "{'fortran_order': False, \"descr\": '%s', 'shape': (4,2)}",
				 types[t].descr);
			put("x.npy", file, npy(version, header, types[t].data, types[t].bytes));
			snprintf(header, sizeof header,
				 "{'descr': '%s', 'fortran_order': False, 'shape': (4, 1), }",
				 version == 1   ? "<i8"
				 : version == 2 ? "|u1"
						: "<i4");
			put("y.npy", file,
			    npy(version, header,
				version == 1   ? (const void *)labels4
				: version == 2 ? (const void *)yu1
					       : (const void *)yi4,
				version == 1   ? sizeof labels4
				: version == 2 ? 4
					       : sizeof yi4));
			load_ok(&data, PAIR, as_classes);
			ck_assert_uint_eq(data.classes, 3);
			ck_assert_int_eq(data.input.kind, SW_SHAPE_FLAT);
			rows_check(&data);
			sw_data_fini(&data);
		}
	}
}

TEST(npy_large_beside_its_range_is_scaled_in_double)
{
	static const double f8[] = {1.7e9,     5.5e6, 1.7e9 + 1, 5.5e6,
				    1.7e9 + 2, 5.5e6, 1.7e9 + 3, 5.5e6};
	static const int64_t i8[] = {1700000000000, 7, 1700000000001, 7,
				     1700000000002, 7, 1700000000003, 7};
	static const int64_t y[] = {1700000000, 1700000001, 1700000002, 1700000003};
	struct sw_data_want want = as_classes;
	struct sw_data data;

	want.classes = false;
	want.standardize = true;
	put("y.npy", file, npy(1, I8Y, y, sizeof y));
	for (int t = 0; t < 2; t++)
		for (int image = 0; image < 2; image++) {
			char header[128];

			(void)snprintf(
				header, sizeof header,
				"{'descr': '<%s', 'fortran_order': False, 'shape': (4, %s), }",
				t ? "i8" : "f8", image ? "2, 1, 1" : "2");
			put("x.npy", file,
			    npy(1, header, t ? (const void *)i8 : (const void *)f8, sizeof f8));
			load_ok(&data, PAIR, want);
			const float *x = data.train.x, *target = data.train.target;
			const double scale = image ? (double)data.scale[0] : 1;
			const double between = fabs((double)target[1] - (double)target[0]);

			/* two training rows: one deviation below and above */
			ck_assert_double_eq(data.target_shift,
					    1700000000 + round(data.target_shift - 1.7e9));
			ck_assert_double_eq_tol(fabs((double)(x[2] - x[0])) * scale, 2, 1e-6);
			ck_assert(between == 1 || between == 2 || between == 3);
			ck_assert_float_eq(x[1], x[3]);
			sw_data_fini(&data);
		}
}

TEST(npy_given_validation_part_is_kept_apart)
{
	static const float other[] = {5, 5, 6, 6, 7, 7, 8, 8};
	struct sw_data data;

	set_put();
	put("vx.npy", file, npy(1, F4X, other, sizeof other));
	load_ok(&data, TESTED, as_classes);
	ck_assert_uint_eq(data.train.rows, 4);
	ck_assert_uint_eq(data.val.rows, 4);
	ck_assert_mem_eq(data.train.x, rows4, sizeof rows4);
	ck_assert_mem_eq(data.val.x, other, sizeof other);
	sw_data_fini(&data);
}

TEST(npy_of_values_is_for_regression)
{
	static const double y[] = {0.5, -1, 2.25, 1e6};
	struct sw_data_want want = as_classes;
	struct sw_data data;

	want.classes = false;
	set_put();
	put("y.npy", file,
	    npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", y, sizeof y));
	load_ok(&data, PAIR, want);
	ck_assert_uint_eq(data.classes, 0);
	for (size_t i = 0; i < 2; i++)
		ck_assert_float_eq(data.train.target[i],
				   (float)y[(size_t)(data.train.x[2 * i] / 10)]);
	sw_data_fini(&data);
	refused(PAIR, as_classes, "/label_path",
		"@/y.npy: byte 128 (row 0) is the label 0.5, expected an integer from 0 to 65535");
}

TEST(npy_images_are_channels_first_and_bytes_stay_bytes)
{
	static const struct {
		const char *shape, *image;
		size_t c, h, w;
	} shapes[] = {
		{"(4, 3, 1, 2)", "", 3, 1, 2},
		{"(4, 3, 2)", "", 1, 3, 2},
		{"(4, 6)", ",\"image\":[2,1,3]", 2, 1, 3},
		{"(4, 3, 2)", ",\"image\":[6,1,1]", 6, 1, 1},
	};
	uint8_t pixels[24];
	float floats[24];
	struct sw_data data;
	char header[128], spec[256];

	for (int i = 0; i < 24; i++) {
		pixels[i] = (uint8_t)(10 * i);
		floats[i] = (float)i;
	}
	set_put();
	for (size_t i = 0; i < 8; i++) {
		const bool u8 = i % 2;

		snprintf(header, sizeof header,
			 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
			 u8 ? "|u1" : "<f4", shapes[i / 2].shape);
		put("x.npy", file,
		    npy(1, header, u8 ? (void *)pixels : (void *)floats, u8 ? 24 : 96));
		snprintf(spec, sizeof spec,
			 "{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\"%s}",
			 shapes[i / 2].image);
		load_ok(&data, spec, as_classes);
		ck_assert_int_eq(data.input.kind, SW_SHAPE_IMAGE);
		ck_assert_uint_eq(data.input.c, shapes[i / 2].c);
		ck_assert_uint_eq(data.input.h, shapes[i / 2].h);
		ck_assert_uint_eq(data.input.w, shapes[i / 2].w);
		ck_assert_int_eq(data.train.u8 != NULL, u8);
		ck_assert_int_eq(data.train.x != NULL, !u8);
		ck_assert_float_eq(data.scale[0], u8 ? (float)(1.0 / 255) : 1);
		sw_data_fini(&data);
	}
	refused("{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\",\"image\":[1,"
		"2,2]}",
		as_classes, "/image",
		"@/x.npy has rows of 6 numbers, an image of 1 x 2 x 2 needs 4");
}

static const struct damage broken[] = {
	{"x.npy", GONE, 0, 0, "/path", "@/x.npy: No such file or directory"},
	{"x.npy", CUT, 0, 0, "/path", "@/x.npy is empty"},
	{"x.npy", CUT, 7, 0, "/path", "@/x.npy ends at byte 7, the header needs it up to byte 8"},
	{"x.npy", CUT, 9, 0, "/path", "@/x.npy ends at byte 9, the header needs it up to byte 10"},
	{"x.npy", CUT, 100, 0, "/path",
	 "@/x.npy ends at byte 100, the header needs it up to byte 128"},
	{"x.npy", CUT, 128, 0, "/path", "@/x.npy has 128 bytes, its header says 160"},
	{"x.npy", CUT, 159, 0, "/path", "@/x.npy has 159 bytes, its header says 160"},
	{"x.npy", ADD, 4, 0, "/path", "@/x.npy has 164 bytes, its header says 160"},
	{"x.npy", SET, 0, 'P', "/path",
	 "@/x.npy is not a .npy file: it does not begin with \\x93NUMPY"},
	{"x.npy", SET, 6, 4, "/path", "@/x.npy: byte 6 is version 4.0, expected 1.0, 2.0 or 3.0"},
	{"x.npy", SET, 7, 1, "/path", "@/x.npy: byte 6 is version 1.1, expected 1.0, 2.0 or 3.0"},
	{"x.npy", SET, 9, 255, "/path",
	 "@/x.npy ends at byte 160, the header needs it up to byte 65408"},
	{"x.npy", SET, 10, '[', "/path",
	 "@/x.npy: the header is not NumPy's: it does not begin with {"},
	{"x.npy", SET, 20, '>', "/path",
	 "@/x.npy: the header is not NumPy's: 'descr' is not a string"},
	{"x.npy", SET, 11, '>', "/path", "@/x.npy: the header is not NumPy's: a key is expected"},
	{"x.npy", SET, 131, 0x7f, "/path", NULL},
	{"x.npy", SET, 134, 0x80, "/path", NULL},
};

TEST_ROWS(npy_damaged_gets_its_line, broken)
{
	const struct damage *d = &broken[_i];

	set_put();
	npy(1, F4X, rows4, sizeof rows4);
	if (d->says) {
		damage_put(d, file, 160);
		refused(PAIR, as_classes, d->ptr, d->says);
		return;
	}
	/* 0x7f800000 is infinity, 0x7fc00000 no number */
	file[128 + 4 * (d->at - 130) + 3] = 0x7f;
	file[128 + 4 * (d->at - 130) + 2] = (unsigned char)(d->at == 131 ? 0x80 : 0xc0);
	put("x.npy", file, 160);
	refused(PAIR, as_classes, "/path",
		d->at == 131 ? "@/x.npy: byte 132 (row 0, column 1) is inf: not a finite float"
			     : "@/x.npy: byte 144 (row 2, column 0) is nan: not a finite float");
}

static const struct {
	const char *text, *says; /* NULL: it is fine */
} headers[] = {
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }", NULL},
	{" {\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(4,)}\n", NULL},
	{"{'descr': '>f4', 'fortran_order': False, 'shape': (4, 2), }",
	 "F has the dtype >f4 (big endian), expected f4, f8, u1, i4 or i8, little endian"},
	{"{'descr': '<c8', 'fortran_order': False, 'shape': (4, 2), }",
	 "F has the dtype <c8, expected f4, f8, u1, i4 or i8, little endian"},
	{"{'descr': '|O', 'fortran_order': False, 'shape': (4, 2), }",
	 "F has the dtype |O, expected f4, f8, u1, i4 or i8, little endian"},
	{"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }",
	 "F has a structured dtype, expected f4, f8, u1, i4 or i8"},
	{"{'descr': '<f4', 'fortran_order': True, 'shape': (4, 2), }",
	 "F is in Fortran order: save numpy.ascontiguousarray() of it"},
	{"{'descr': '<f4', 'fortran_order': 0, 'shape': (4, 2), }",
	 "F: the header is not NumPy's: 'fortran_order' is neither True nor False"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': 4, }",
	 "F: the header is not NumPy's: 'shape' is not a tuple"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 2), }",
	 "F: the header is not NumPy's: 'shape' is not a tuple of integers"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2",
	 "F: the header is not NumPy's: 'shape' is never closed"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
	 "F has no dimensions, only one number"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0), }", "F: dimension 1 is 0"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 99999999999999999999), }",
	 "F: dimension 1 is over 2^31 - 1"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }",
	 "F has over 4 dimensions, at most (rows, channels, height, width) are possible"},
	{"{'descr': '<f4', 'fortran_order': False, }",
	 "F: the header is not NumPy's: descr, fortran_order or shape is missing"},
	{"{'descr': '<f4', 'descr': '<f4', 'shape': (4,), }",
	 "F: the header is not NumPy's: a key appears twice"},
	{"{'dtype': '<f4'}",
	 "F: the header is not NumPy's: a key that is not descr, fortran_order or shape"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x",
	 "F: the header is not NumPy's: text follows its end"},
	{"{'descr': '<f4' 'fortran_order': False}",
	 "F: the header is not NumPy's: it does not end with }"},
	{"{'descr': '<f4", "F: the header is not NumPy's: 'descr' is not a string"},
	{"{", "F: the header is not NumPy's: a key is expected"},
	{"", "F: the header is not NumPy's: it does not begin with {"},
};

/* Each header in memory of exactly its size; and each beginning of it, which is never fine. */
TEST_ROWS(npy_header_is_read_or_refused, headers)
{
	const size_t n = strlen(headers[_i].text);

	for (size_t cut = 0; cut <= n; cut++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_npy out;
		char *text = malloc(cut ? cut : 1);

		ck_assert_ptr_nonnull(text);
		memcpy(text, headers[_i].text, cut);
		const sw_status status = sw_npy_header(&out, text, cut, "F", "/path", &err);

		free(text);
		if (cut == n && headers[_i].says)
			ck_assert_str_eq(err.msg, headers[_i].says);
		if (cut == n && !headers[_i].says)
			ck_assert_int_eq(status, SW_OK);
		else if (!strchr(headers[_i].text, '}') || cut < n - 3)
			ck_assert_int_ne(status, SW_OK);
	}
}

TEST(npy_parts_that_do_not_fit_get_their_line)
{
	static const int64_t wrong[] = {0, -1, 1, 0}, same[] = {3, 3, 3, 3};
	static const int64_t big[] = {0, 65536, 1, 0};

	set_put();
	put("y.npy", file,
	    npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", labels4, 24));
	refused(PAIR, as_classes, "/label_path",
		"@/y.npy has 3 labels, expected 4, one for each row");
	put("y.npy", file,
	    npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,2), }", labels4, 32));
	refused(PAIR, as_classes, "/label_path", "@/y.npy has 2 numbers a row, a label is one");
	put("y.npy", file, npy(1, I8Y, wrong, sizeof wrong));
	refused(PAIR, as_classes, "/label_path",
		"@/y.npy: byte 136 (row 1) is the label -1, expected an integer from 0 to 65535");
	put("y.npy", file, npy(1, I8Y, big, sizeof big));
	refused(PAIR, as_classes, "/label_path",
		"@/y.npy: byte 136 (row 1) is the label 65536, expected an integer from 0 to "
		"65535");
	put("y.npy", file, npy(1, I8Y, same, sizeof same));
	refused(PAIR, as_classes, "/label_path", "@/y.npy: all 4 rows have the label 3");
	set_put();
	put("vx.npy", file,
	    npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1, 2), }", rows4, 32));
	refused(TESTED, as_classes, "/val_path",
		"@/vx.npy has images of 1 x 1 x 2 floats, those to train on are rows of 2 numbers");
	put("x.npy", file,
	    npy(1,
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 2147483647, "
		"2147483647), }",
		rows4, 32));
	refused(PAIR, as_classes, "/path", "@/x.npy: the header says over 1 TiB of data");
}

/* A trial's cause is short: of a long path the end is shown. */
TEST(npy_of_a_long_path_shows_its_end)
{
	struct sw_err err = SW_ERR_INIT;
	char spec[512], path[200];
	struct sw_data data;

	memset(path, 'a', sizeof path);
	path[sizeof path - 1] = '\0';
	snprintf(spec, sizeof spec,
		 "{\"format\":\"npy\",\"path\":\"@/%s/x.npy\",\"label_path\":\"y\"}", path);
	ck_assert_int_eq(load(&data, spec, as_classes, &err), SW_NOT_FOUND);
	snprintf(spec, sizeof spec, "...%.71s/x.npy: No such file or directory", path);
	ck_assert_str_eq(err.msg, spec);
}

TEST(npy_without_memory_or_disk_fails_cleanly_at_each_call)
{
	set_put();
	walk_faults(TESTED, as_classes);
}

RUN_TESTS(folder_make, folder_remove)
