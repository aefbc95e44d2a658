/* tests/daemon/slot/test_device.c — what --devices means, and what it refuses. */
#include "daemon/slot/device.h"
#include "tests/folder.h"
#include "tests/run.h"
#include "tests/walk.h"

static const struct {
	const char *spec;
	const char *slots; /* names, separated by spaces; NULL: refused */
	const char *says;  /* a part of the refusal */
} rows[] = {
	{"none", "", NULL},
	{"cpu:1", "cpu:0", NULL},
	{"cpu:3", "cpu:0 cpu:1 cpu:2", NULL},
	{"gpu:0", "gpu:0", NULL},
	{"gpu:3,1", "gpu:3 gpu:1", NULL},
	{"gpu:0+cpu:2", "gpu:0 cpu:0 cpu:1", NULL},
	{"gpu:0:autos", NULL, "numbers with commas"},
	{"gpu:0:2,1", "gpu:0.0 gpu:0.1 gpu:1", NULL},
	{"gpu:0:0", NULL, "numbers with commas"},
	{"gpu:0:2x", NULL, "numbers with commas"},
	{"gpu:0:", NULL, "numbers with commas"},
	{"gpu:0:2000", NULL, "numbers with commas"},
	{"gpu:0:600,1:600", NULL, "more than 1024 slots"},
	{"gpu:GPU-aa", NULL, "no NVML"},
	{"auto:0", NULL, "auto:N"},
	{"autocpu", NULL, "auto:N"},
	{"cpu:0", NULL, "from 1 to"},
	{"cpu:-1", NULL, "from 1 to"},
	{"cpu:2x", NULL, "from 1 to"},
	{"cpu:99999", NULL, "from 1 to"},
	{"cpu:1+cpu:1", NULL, "twice"},
	{"gpu:", NULL, "numbers with commas"},
	{"gpu:0,", NULL, "numbers with commas"},
	{"gpu:0,0", NULL, "twice"},
	{"gpu:a", NULL, "numbers with commas"},
	{"tpu:1", NULL, "it is cpu:N"},
	{"", NULL, "empty"},
	{"+", NULL, "beside + is empty"},
	{"gpu:0+", NULL, "beside + is empty"},
	{"gpu:0++cpu:1", NULL, "beside + is empty"},
};

TEST_ROWS(device_row_gives_its_slots_or_one_line, rows)
{
	struct sw_device *v = NULL;
	struct sw_err err = SW_ERR_INIT;
	size_t n = 0;
	char names[256] = "";
	const sw_status rc = sw_device_parse(rows[_i].spec, NULL, &v, &n, &err);

	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			strcat(names, " ");
		strcat(names, v[i].name);
		ck_assert_uint_ge(v[i].cores, 1);
		ck_assert(v[i].kind->several && !v[i].kind->away);
	}
	free(v);
	if (rows[_i].slots != NULL) {
		ck_assert_msg(rc == SW_OK, "%s: %s", rows[_i].spec, err.msg);
		ck_assert_str_eq(names, rows[_i].slots);
	} else {
		ck_assert_int_eq(rc, SW_INVALID);
		ck_assert_msg(strstr(err.msg, rows[_i].says) != NULL, "%s: %s", rows[_i].spec,
			      err.msg);
		ck_assert_uint_eq(n, 0);
	}
}

/* GPU-aa11, GPU-bb11, which is lost, and GPU-cc11; where n is 5 the first is divided into
 * MIG-xx11 and MIG-yy11. To be freed. */
static struct sw_nvml_view *make_view(size_t n, const char *visible)
{
	struct sw_nvml_view *view = calloc(1, sizeof *view);

	ck_assert_ptr_nonnull(view);
	view->n = n;
	for (size_t i = 0; i < n; i++)
		(void)snprintf(view->card[i].uuid, sizeof view->card[i].uuid, "%s-%c%c11",
			       i < 3 ? "GPU" : "MIG", "abcxy"[i], "abcxy"[i]);
	view->card[0].divided = n > 3;
	view->card[1].health = SW_NVML_LOST;
	view->card[3].part.is = view->card[4].part.is = n > 3;
	view->card[4].part.number = 3;
	if (visible != NULL)
		ck_assert_int_eq(setenv("CUDA_VISIBLE_DEVICES", visible, 1), 0);
	else
		ck_assert_int_eq(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
	return view;
}

/* What --devices means on such a machine, and what CUDA_VISIBLE_DEVICES is. */
struct machine {
	const char *spec, *visible;
	const char *slots; /* with the UUID's letter after each name; NULL: refused */
	const char *says;
};

static void check_machine(const struct machine *row, size_t cards)
{
	struct sw_nvml_view *view = make_view(cards, row->visible);
	struct sw_device *v = NULL;
	struct sw_err err = SW_ERR_INIT;
	size_t n = 0;
	char names[256] = "";
	const sw_status rc = sw_device_parse(row->spec, view, &v, &n, &err);

	for (size_t i = 0; i < n && v[i].kind->gpu; i++) {
		/* Trials have several whole GPUs, and never two parts. */
		ck_assert_int_eq(v[i].kind->several, strncmp(v[i].uuid, "GPU-", 4) == 0);
		if (i > 0)
			strcat(names, " ");
		strcat(names, v[i].name);
		strncat(names, v[i].uuid + 4, 1);
	}
	if (row->slots != NULL) {
		ck_assert_msg(rc == SW_OK, "%s: %s", row->spec, err.msg);
		ck_assert_str_eq(names, row->slots);
	} else {
		ck_assert_int_eq(rc, SW_INVALID);
		ck_assert_msg(strstr(err.msg, row->says) != NULL, "%s: %s", row->spec, err.msg);
	}
	free(v);
	free(view);
}

static const struct machine machines[] = {
	{"auto", NULL, "gpu:0a gpu:2c", NULL}, /* gpu:1 is lost */
	{"auto:2", NULL, "gpu:0.0a gpu:0.1a gpu:2.0c gpu:2.1c", NULL},
	{"auto", "2", "gpu:2c", NULL},
	{"auto", "GPU-cc,GPU-aa", "gpu:0a gpu:2c", NULL},
	{"auto", "0,7,2", "gpu:0a", NULL}, /* as CUDA reads it: up to what is no GPU */
	{"auto", "0, 2", "gpu:0a gpu:2c", NULL},
	{"auto", " GPU-cc ,0", "gpu:0a gpu:2c", NULL},
	{"gpu:1", "0", "gpu:1b", NULL}, /* what is named is meant */
	{"gpu:2,0", NULL, "gpu:2c gpu:0a", NULL},
	{"gpu:02,00", NULL, "gpu:2c gpu:0a", NULL},
	{"gpu:GPU-cc11,GPU-aa11:2", NULL, "gpu:2c gpu:0.0a gpu:0.1a", NULL},
	{"gpu:GPU-cc,2", NULL, NULL, "gpu:2 twice"},
	{"gpu:GPU-", NULL, NULL, "more than one"},
	{"gpu:3", NULL, NULL, "this machine has 3: gpu:0 GPU-aa11, gpu:1 GPU-bb11"},
	{"gpu:GPU-dd", NULL, NULL, "no such GPU"},
	{"gpu:x", NULL, NULL, "no such GPU"},
};

TEST_ROWS(device_row_names_cards_of_the_machine, machines)
{
	check_machine(&machines[_i], 3);
}

static const struct machine divided[] = {
	{"auto", NULL, "gpu:2c gpu:0m0x gpu:0m3y", NULL},
	{"auto:2", "MIG-y", "gpu:0m3.0y gpu:0m3.1y", NULL},
	{"auto", "0", "gpu:0m0x gpu:0m3y", NULL},
	{"gpu:MIG-x:2", NULL, "gpu:0m0.0x gpu:0m0.1x", NULL},
	{"gpu:0m3,2", NULL, "gpu:0m3y gpu:2c", NULL},
	{"gpu:0m3,MIG-y", NULL, NULL, "gpu:0m3 twice"},
	{"gpu:MIG-", NULL, NULL, "no such GPU, or more than one; this machine has 4"},
	{"gpu:0m1", NULL, NULL, "gpu:0m0 MIG-xx11, gpu:0m3 MIG-yy11"},
	{"gpu:0", NULL, NULL,
	 "divided (MIG), and each part is named by itself; this machine has 4: gpu:1"},
};

TEST_ROWS(device_row_names_parts_of_a_card, divided)
{
	struct sw_err err = SW_ERR_INIT;

	check_machine(&divided[_i], 5);
	ck_assert_int_eq(sw_device_check(divided[_i].spec, &err), SW_OK); /* it is written right */
}

static const struct {
	const char *spec, *visible;
	size_t cards;
	bool whole;       /* the first is in MIG mode without an instance */
	const char *says; /* NULL: nothing */
} left_out[] = {
	{"auto", NULL, 3, false, "leaves out 1 of 3 GPUs: they cannot be read"},
	{"auto:4", "MIG-1", 3, false, "leaves out 3 of 3 GPUs: CUDA_VISIBLE_DEVICES=MIG-1"},
	{"auto", "", 3, false, "leaves out 3 of 3 GPUs: CUDA_VISIBLE_DEVICES="},
	{"auto", "0,GPU-cc", 3, false, "leaves out 1 of 3 GPUs: they cannot be read"},
	{"gpu:0", "MIG-1", 3, false, NULL},
	{"auto", NULL, 5, false, "leaves out 1 of 4 GPUs: they cannot be read"},
	{"auto", NULL, 1, true, "leaves out 1 of 1 GPUs: 1 in MIG mode without an instance"},
	{"auto", "0,2", 3, true,
	 "leaves out 2 of 3 GPUs: they cannot be read; 1 in MIG mode without an instance"},
	{"auto", NULL, 1, false, NULL},
};

TEST_ROWS(device_auto_says_what_it_leaves_out, left_out)
{
	struct sw_nvml_view *view = make_view(left_out[_i].cards, left_out[_i].visible);
	char line[200] = "";

	view->card[0].divided = view->card[0].divided || left_out[_i].whole;
	ck_assert_int_eq(sw_device_left_out(left_out[_i].spec, view, line, sizeof line),
			 left_out[_i].says != NULL);
	ck_assert_msg(left_out[_i].says == NULL || strstr(line, left_out[_i].says) != NULL, "%s",
		      line);
	ck_assert(!sw_device_left_out("auto", NULL, line, sizeof line));
	free(view);
}

static const struct {
	const char *has; /* files */
	bool gpu;
} roots[] = {
	{"proc/driver/nvidia/gpus/0000:01:00.0 dev/nvidia0", true},
	{"proc/driver/nvidia/gpus/0000:01:00.0 dev/nvidiactl", false}, /* a container has none */
	{"dev/nvidia0", false},
	{"dev/dxg usr/lib/wsl/lib/libcuda.so.1", true},
	{"dev/dxg usr/lib/wsl/lib/libdxcore.so", false}, /* another maker's */
	{"proc/driver/x", false},
};

TEST_ROWS(device_is_there_where_the_kernel_has_it_and_it_can_be_opened, roots)
{
	char root[64], command[512];

	snprintf(root, sizeof root, "%s/sweepd-root-XXXXXX", folder_of_tests());
	ck_assert_ptr_nonnull(mkdtemp(root));
	snprintf(command, sizeof command,
		 "cd %s && for f in %s; do mkdir -p $(dirname $f) && touch $f; done", root,
		 roots[_i].has);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(sw_device_is_there(root), roots[_i].gpu);
	snprintf(command, sizeof command, "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}

TEST(device_auto_gives_at_least_one_slot)
{
	struct sw_device *v = NULL;
	struct sw_err err = SW_ERR_INIT;
	size_t n = 0;

	ck_assert_int_eq(sw_device_parse("auto", NULL, &v, &n, &err), SW_OK);
	ck_assert_uint_ge(n, 1);
	free(v);
}

TEST(device_row_gives_a_trial_lanes_by_its_part)
{
	static const struct {
		bool gpu;
		unsigned lanes;
		double part;
		unsigned takes;
	} trials[] = {
		{false, 1, 0.0, 1},    {false, 1, -1.0, 1},  {false, 1, 0.25, 0},
		{false, 1, 1.0, 0},    {true, 1, 0.0, 1},    {true, 1, -1.0, 0},
		{true, 1, 0.01, 1},    {true, 1, 1.0, 1},    {true, 4, 0.0, 1},
		{true, 4, 0.25, 1},    {true, 4, 0.26, 2},   {true, 4, 1.0, 4},
		{true, 32, 0.25, 8},   {true, 32, 0.001, 1}, {true, 32, 1.0, 32},
		{true, 3, 1.0 / 3, 1}, {true, 10, 0.3, 3},   {true, 8, 0.5000001, 5},
	};

	static const struct sw_device_kind kinds[] = {{.gpu = false}, {.gpu = true}};

	for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
		const struct sw_device device = {.kind = &kinds[trials[i].gpu],
						 .lanes = trials[i].lanes};

		ck_assert_msg(sw_device_lanes(&device, trials[i].part) == trials[i].takes,
			      "row %zu: %u lanes", i, sw_device_lanes(&device, trials[i].part));
	}
}

TEST(device_without_memory_fails_cleanly_at_each_call)
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_device *v = NULL;
		struct sw_err err = SW_ERR_INIT;
		size_t n = 0;

		walk_arm();
		const sw_status rc = sw_device_parse("gpu:0,1:2+cpu:2", NULL, &v, &n, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_uint_eq(n, fired ? 0 : 5);
		free(v);
	}
}

RUN_TESTS(NULL, NULL)
