/* tests/trainer/data/test_data_npy.c — the headers of .npy files, and numbers far from zero. Whole
 * and damaged files: test_data_arrays.c. */
#include "tests/trainer/data/data_set.h"
#include "trainer/data/npy.h"
#include <math.h>

#define PAIR "{\"format\":\"npy\",\"path\":\"@/x.npy\",\"label_path\":\"@/y.npy\"}"

static const char *const large[] = {
	"x.npy: <f8(4, 2)1 1.7e9 5.5e6 1700000001 5.5e6 1700000002 5.5e6 1700000003 5.5e6",
	"x.npy: <f8(4, 2, 1, 1)1 1.7e9 5.5e6 1700000001 5.5e6 1700000002 5.5e6 1700000003 5.5e6",
	"x.npy: <i8(4, 2)1 1.7e12 7 1700000000001 7 1700000000002 7 1700000000003 7",
	"x.npy: <i8(4, 2, 1, 1)1 1.7e12 7 1700000000001 7 1700000000002 7 1700000000003 7",
};

TEST_ROWS(npy_large_beside_its_range_is_scaled_in_double, large)
{
	struct sw_data_want want = as_classes;
	struct sw_data data;

	want.classes = false;
	want.scale = SW_SCALE_AUTO;
	files_put("y.npy: <i8(4,)1 1.7e9 1700000001 1700000002 1700000003");
	files_put(large[_i]);
	load_ok(&data, PAIR, want);
	const float *x = data.train.x, *target = data.train.target;
	const double scale = data.input.kind == SW_SHAPE_IMAGE ? (double)data.scale[0] : 1;
	const double between = fabs((double)target[1] - (double)target[0]);

	/* two training rows: one deviation below and above */
	ck_assert_double_eq(data.target_shift, 1700000000 + round(data.target_shift - 1.7e9));
	ck_assert_double_eq_tol(fabs((double)(x[2] - x[0])) * scale, 2, 1e-6);
	ck_assert(between == 1 || between == 2 || between == 3);
	ck_assert_float_eq(x[1], x[3]);
	sw_data_fini(&data);
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
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
	 "F has no dimensions, only one number"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0), }", "F: dimension 1 is 0"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 99999999999999999999), }",
	 "F: dimension 1 is over 2^31 - 1"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }",
	 "F has over 4 dimensions, at most (rows, channels, height, width) are possible"},
	{"{'descr': '<f4', 'fortran_order': False, }",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{'descr': '<f4', 'descr': '<f4', 'shape': (4,), }",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{'dtype': '<f4'}",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{'descr': '<f4' 'fortran_order': False}",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{'descr': 4, 'fortran_order': False, 'shape': (4, 2)}",
	 "F: the header is not NumPy's: 'descr' is not a string"},
	{"{'descr': '<f4",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"{",
	 "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
	{"", "F: the header is not NumPy's: it is no dictionary of descr, fortran_order and shape"},
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

RUN_TESTS(folder_make, folder_remove)
