/* tests/daemon/slot/test_nvml.c — NVML by the stand-in of tests/fake/nvml.c, and the thread that
 * reads it. */
#include "base/clock.h"
#include "base/fault.h"
#include "daemon/slot/card_poll.h"
#include "tests/folder.h"
#include "tests/run.h"
#include <dlfcn.h>

#define MIB ((int64_t)1 << 20)

static char path[64], next[80];
static struct sw_nvml_view *v;
static struct sw_nvml *m; /* NULL: not open */

static void say(const char *text)
{
	FILE *f = fopen(next, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(rename(next, path), 0);
}

static void set_up(void)
{
	(void)snprintf(path, sizeof path, "/tmp/sw-nvml-%ld", (long)getpid());
	(void)snprintf(next, sizeof next, "%s.new", path);
	ck_assert_int_eq(setenv("SWEEPD_FAKE_NVML", path, 1), 0);
	ck_assert_int_eq(setenv("SWEEPD_NVML", SW_TEST_NVML, 1), 0);
	v = calloc(1, sizeof *v);
	ck_assert_ptr_nonnull(v);
	m = NULL;
}

static void tear_down(void)
{
	sw_nvml_close(m); /* NULL too */
	free(v);
	(void)unlink(path);
}

/* The stand-in says this, and it is read. */
static void read_nvml(const char *text)
{
	struct sw_err err = SW_ERR_INIT;

	say(text);
	if (m == NULL)
		ck_assert_msg(sw_nvml_open(&m, &err) == SW_OK, "%s", err.msg);
	sw_nvml_read(m, v);
}

static const char two_cards[] =
	"card uuid=GPU-a name=Fake_A bus=00:01 total=1000 used=700 util=12 temp=55 slow=90 "
	"power=1500"
	" limit=2000 energy=77 ecc=1 cc=75 throttle=64\n"
	"card uuid=GPU-b name=Fake_B bus=00:02 total=2000 used=0\n"
	"proc card=0 pid=999999999 mib=600\nproc card=0 pid=999999999 mib=600 graphics=1\n"
	"proc card=1 pid=1\nproc card=1 pid=999999998 mib=5 graphics=1\n";

TEST(nvml_says_what_each_card_says_and_nothing_else)
{
	read_nvml(two_cards);
	ck_assert_uint_eq(v->n, 2);
	const struct sw_nvml_card *a = &v->card[0], *b = &v->card[1];
	ck_assert_int_eq(a->health, SW_NVML_OK);
	ck_assert_str_eq(a->name, "Fake A");
	ck_assert_str_eq(a->uuid, "GPU-a");
	ck_assert_str_eq(a->bus, "00:01");
	ck_assert_int_eq(a->total, 1000 * MIB);
	ck_assert_int_eq(a->free, 300 * MIB);
	ck_assert_int_eq(a->util, 12);
	ck_assert_int_eq(a->temp, 55);
	ck_assert_int_eq(a->slowdown, 90);
	ck_assert_int_eq(a->power_mw, 1500);
	ck_assert_int_eq(a->limit_mw, 2000);
	ck_assert_int_eq(a->energy_mj, 77);
	ck_assert_int_eq(a->ecc, 1);
	ck_assert_int_eq(a->capability, 75);
	ck_assert_int_eq(b->capability, 0);
	ck_assert(a->throttled);
	ck_assert_uint_eq(a->proc_n, 1); /* in both lists, once */
	ck_assert(a->proc[0].compute);
	ck_assert_int_eq(a->proc[0].bytes, 600 * MIB);
	ck_assert_int_eq(a->proc[0].session, -1); /* no such process */
	ck_assert_int_eq(b->util, -1);
	ck_assert_int_eq(b->temp, -1);
	ck_assert_int_eq(b->energy_mj, -1);
	ck_assert_int_eq(b->ecc, -1);
	ck_assert_uint_eq(b->proc_n, 2);
	ck_assert_int_eq(b->proc[0].bytes, -1);
	ck_assert_int_ne(b->proc[0].session, -1); /* process 1 can be seen, whoever it is */
	ck_assert_str_ne(b->proc[0].name, "");
	ck_assert(!a->unlisted);
	read_nvml("card uuid=GPU-a total=1000 used=1 unlisted=1\n");
	ck_assert(v->card[0].unlisted);
	read_nvml("card uuid=GPU-a total=1000 used=1\ncard uuid=GPU-b total=1 used=1 lost=15\n");
	ck_assert_int_eq(v->card[0].health, SW_NVML_OK);
	ck_assert_int_eq(v->card[1].health, SW_NVML_LOST);
	ck_assert_str_eq(v->card[1].why, "GPU is lost");
	read_nvml("card uuid=GPU-a total=1000 used=1 lost=999\n");
	ck_assert_uint_eq(v->n, 1);
	ck_assert_int_eq(v->card[0].health, SW_NVML_SILENT);
	ck_assert_msg(strstr(v->card[0].why, "Unknown Error (a container loses its GPUs") != NULL,
		      "%s", v->card[0].why);
}

/* The field of a newer driver; an older one, and another field of it, say nothing. */
TEST(nvml_says_what_a_card_needs)
{
	read_nvml("card uuid=GPU-a total=9 used=1 need=4\ncard uuid=GPU-b total=9 used=1\n"
		  "card uuid=GPU-c total=9 used=1 need=0\npart card=0 uuid=MIG-x total=3 used=1\n");
	ck_assert_uint_eq(v->card[0].need, 4);
	ck_assert_uint_eq(v->card[1].need, 0);
	ck_assert_uint_eq(v->card[2].need, 0);
	ck_assert_uint_eq(v->card[3].need, 4);
}

TEST(nvml_keeps_the_processes_with_the_most_memory)
{
	char text[4096] = "card uuid=GPU-a total=1000 used=1\n";
	int64_t least = INT64_MAX;

	for (int i = 1; i <= SW_NVML_PROCS + 8; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text),
			       "proc card=0 pid=%d mib=%d\n", 900000000 + i, i);
	read_nvml(text);
	ck_assert_uint_eq(v->card[0].proc_n, SW_NVML_PROCS);
	for (size_t i = 0; i < SW_NVML_PROCS; i++)
		least = v->card[0].proc[i].bytes < least ? v->card[0].proc[i].bytes : least;
	ck_assert_int_eq(least, 9 * MIB);
}

TEST_LOOP(nvml_that_does_not_work_says_so_in_one_line, 0, 4)
{
	static const struct {
		const char *library, *state; /* NULL: the stand-in */
		sw_status rc;
		const char *says;
	} rows[] = {
		{"/nonexistent.so", "", SW_NOT_FOUND, "no NVIDIA driver: /nonexistent.so: cannot"},
		{"libm.so.6", "", SW_NOT_FOUND, "libm.so.6 has no nvmlInit_v2"},
		{NULL, "init code=9\n", SW_NOT_FOUND, "NVML says: Driver Not Loaded"},
		{NULL, "init code=18\n", SW_IO, "NVML says: Unknown Error"},
	};
	struct sw_err err = SW_ERR_INIT;

	if (rows[_i].library != NULL)
		ck_assert_int_eq(setenv("SWEEPD_NVML", rows[_i].library, 1), 0);
	say(rows[_i].state);
	ck_assert_int_eq(sw_nvml_open(&m, &err), rows[_i].rc);
	ck_assert_ptr_null(m);
	ck_assert_msg(strstr(err.msg, rows[_i].says) != NULL, "%s", err.msg);
}

#ifdef SW_FAULTS
TEST(nvml_without_memory_fails_cleanly)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_card_poll *p;

	say(two_cards);
	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_nvml_open(&m, &err), SW_NOMEM);
	sw_fault_arm(SW_FAULT_MALLOC, 1, false);
	ck_assert_int_eq(sw_card_poll_start(&p, &sw_clock_system, 1, NULL, NULL), SW_NOMEM);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
	ck_assert_ptr_null(p);
}
#endif

static const char divided[] =
	"card uuid=GPU-a name=Fake_A total=9 used=9 temp=55 slow=90 power=5 cc=90\n"
	"card uuid=GPU-b name=Fake_B total=1000 used=0\n"
	"part card=0 uuid=MIG-x name=Fake_A_1g total=100 used=7\n"
	"part card=0 uuid=MIG-y name=Fake_A_3g total=300 used=0\n"
	"proc part=1 pid=999999999 mib=60\n";

TEST(nvml_parts_stand_behind_the_gpus_and_keep_their_places)
{
	read_nvml(divided);
	ck_assert_uint_eq(v->n, 4);
	const struct sw_nvml_card *gpu = &v->card[0], *x = &v->card[2], *y = &v->card[3];
	ck_assert(gpu->divided && gpu->health == SW_NVML_OK && !v->card[1].divided);
	ck_assert_int_eq(gpu->total, -1); /* not asked of a GPU that is divided */
	ck_assert_str_eq(x->uuid, "MIG-x");
	ck_assert_str_eq(y->name, "Fake A 3g");
	ck_assert(x->part.is && x->part.gpu == 0 && x->part.number == 0 && y->part.number == 1);
	ck_assert_int_eq(x->total, 100 * MIB);
	ck_assert_int_eq(y->free, 300 * MIB);
	ck_assert_int_eq(x->temp, 55);
	ck_assert_int_eq(x->capability, 90);
	ck_assert_int_eq(x->power_mw, -1); /* that is of the whole GPU */
	ck_assert_uint_eq(x->proc_n, 0);
	ck_assert_uint_eq(y->proc_n, 1);
	/* the first part is removed, the second stays where it was */
	read_nvml("card uuid=GPU-a total=9 used=9\npart card=0 uuid=MIG-y total=300 used=3\n");
	ck_assert_uint_eq(v->n, 4);
	ck_assert_int_eq(v->card[1].health, SW_NVML_SILENT);
	ck_assert_int_eq(x->health, SW_NVML_SILENT);
	ck_assert_str_eq(x->why, "this part of gpu:0 is not there any more");
	ck_assert_int_eq(y->used, 3 * MIB);
	read_nvml("card uuid=GPU-a total=9 used=9 lost=15\npart card=0 uuid=MIG-y total=300 "
		  "used=3\n");
	ck_assert_int_eq(y->health, SW_NVML_LOST);
}

TEST(nvml_tells_each_error_once_to_the_card_and_the_parts_that_it_is_of)
{
	char text[sizeof divided + 600];

	read_nvml(divided);
	(void)snprintf(text, sizeof text,
		       "%sxid card=1 xid=13\nxid card=0 xid=31 instance=2\nxid card=0 xid=79\n",
		       divided);
	read_nvml(text);
	ck_assert_uint_eq(v->card[1].xid_n, 1);
	ck_assert_uint_eq(v->card[1].xid[0], 13);
	ck_assert_uint_eq(v->card[0].xid_n, 2);
	ck_assert_uint_eq(v->card[2].xid_n, 1); /* of the first part: that of the whole GPU alone */
	ck_assert_uint_eq(v->card[2].xid[0], 79);
	ck_assert_uint_eq(v->card[3].xid_n, 2);
	ck_assert_uint_eq(v->card[3].xid[0], 31);
	sw_nvml_read(m, v);
	for (size_t i = 0; i < v->n; i++)
		ck_assert_uint_eq(v->card[i].xid_n, 0);
	/* more than there is room for */
	size_t len = strlen(text);
	for (unsigned i = 0; i < 2 * SW_NVML_XIDS; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, "xid card=1 xid=%u\n",
					i == 1 ? 95 : 45);
	read_nvml(text);
	ck_assert_uint_eq(v->card[1].xid_n, SW_NVML_XIDS);
	ck_assert_uint_eq(v->card[1].xid[0], 95); /* the GPU is lost, whatever follows */
	ck_assert_uint_eq(v->card[1].xid[1], 45);
}

TEST(nvml_at_rest_has_no_gpu_open_and_reads_again)
{
	read_nvml("card uuid=GPU-a total=9 used=1\ncard uuid=GPU-b total=9 used=1 island=1\n");
	sw_nvml_rest(m);
	sw_nvml_rest(m); /* as often as one likes */
	void *library = dlopen(SW_TEST_NVML, RTLD_NOW);
	ck_assert_ptr_nonnull(library);
	int (*count)(unsigned *);
	*(void **)&count = dlsym(library, "nvmlDeviceGetCount_v2");
	ck_assert_int_eq(count(&(unsigned){0}), 1); /* it is not initialised */
	ck_assert_int_eq(dlclose(library), 0);
	read_nvml("card uuid=GPU-a total=9 used=2\ncard uuid=GPU-b total=9 used=1\nxid card=1 "
		  "xid=13\n");
	ck_assert_uint_eq(v->n, 2);
	ck_assert_int_eq(v->card[0].used, 2 * MIB);
	ck_assert_uint_eq(v->card[1].xid_n, 1); /* errors are told of again */
	sw_nvml_rest(m);
	read_nvml("init code=18\ncard uuid=GPU-a total=9 used=1\n"); /* another driver meanwhile */
	ck_assert_uint_eq(v->n, 0);
	read_nvml("card uuid=GPU-a total=9 used=3\n");
	ck_assert_int_eq(v->card[0].used, 3 * MIB);
	sw_nvml_rest(m); /* is closed in the end all the same */
}

static const struct {
	const char *bus, *file, *control;
	bool sleeps;
} buses[] = {
	{"00000000:0A:00.0", "0000:0a:00.0", "auto", true},
	{"00000000:0A:00.0", "0000:0a:00.0", "on", false},
	{"00000000:0A:00.0", "0000:0b:00.0", "auto", false},
};

TEST_ROWS(card_whose_power_is_the_kernel_s_affair_may_sleep, buses)
{
	char root[64], command[512];

	(void)snprintf(root, sizeof root, "%s/sweepd-root-XXXXXX", folder_of_tests());
	ck_assert_ptr_nonnull(mkdtemp(root));
	(void)snprintf(command, sizeof command,
		       "cd %s && mkdir -p d/%s/power sys/bus/pci && ln -s ../../../d "
		       "sys/bus/pci/devices && "
		       "echo %s > d/%s/power/control",
		       root, buses[_i].file, buses[_i].control, buses[_i].file);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(sw_nvml_may_sleep(root, buses[_i].bus), buses[_i].sleeps);
	(void)snprintf(command, sizeof command, "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}

static int woken;

static void on_wake(void *user)
{
	(void)user;
	(void)__atomic_add_fetch(&woken, 1, __ATOMIC_SEQ_CST);
}

static void await_wake(int n)
{
	for (int ms = 0; ms < 60000 && __atomic_load_n(&woken, __ATOMIC_SEQ_CST) < n; ms++)
		(void)usleep(1000);
	ck_assert_int_eq(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), n);
}

TEST(poll_reads_again_and_again_and_at_once_when_asked)
{
	struct sw_card_poll *p = NULL;
	struct sw_err err = SW_ERR_INIT;
	int64_t begun_us = 0;

	say("card uuid=GPU-a total=1000 used=1\n");
	ck_assert_int_eq(sw_card_poll_start(&p, &sw_clock_system, 3600000, on_wake, NULL), SW_OK);
	ck_assert_int_eq(sw_card_poll_take(p, 60000, v, &begun_us, &err), SW_OK);
	ck_assert_uint_eq(v->n, 1);
	ck_assert_int_eq(sw_card_poll_take(p, 0, v, &begun_us, &err), SW_BUSY); /* nothing new */
	say("card uuid=GPU-a total=1000 used=1\nxid card=0 xid=13\n");
	sw_card_poll_now(p);
	await_wake(2);
	say("card uuid=GPU-a total=1000 used=5\nxid card=0 xid=13\nxid card=0 xid=79\n");
	sw_card_poll_now(p);
	await_wake(3);
	/* the reading between the two is gone, its error is not */
	ck_assert_int_eq(sw_card_poll_take(p, 0, v, &begun_us, &err), SW_OK);
	ck_assert_int_eq(v->card[0].used, 5 * MIB);
	ck_assert_uint_eq(v->card[0].xid_n, 2);
	const int64_t asked_us = sw_clock_mono_us();
	sw_card_poll_rest(p);
	say("");
	sw_card_poll_now(p); /* else an hour would pass */
	ck_assert_int_eq(sw_card_poll_take(p, 60000, v, &begun_us, &err), SW_OK);
	ck_assert_int_ge(begun_us, asked_us);
	ck_assert_uint_eq(v->n, 0);
	sw_card_poll_stop(p, 60000);
	const int then = __atomic_load_n(&woken, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(then, 4);
	sw_card_poll_stop(NULL, 0);
}

TEST(poll_says_why_nvml_does_not_work)
{
	struct sw_card_poll *p = NULL;
	struct sw_err err = SW_ERR_INIT;
	int64_t begun_us = 0;

	say("init code=9\n");
	ck_assert_int_eq(sw_card_poll_start(&p, &sw_clock_system, 1, on_wake, NULL), SW_OK);
	ck_assert_int_eq(sw_card_poll_take(p, 60000, v, &begun_us, &err), SW_NOT_FOUND);
	ck_assert_msg(strstr(err.msg, "Driver Not Loaded") != NULL, "%s", err.msg);
	sw_card_poll_stop(p, 60000);
}

/* In a process of its own, which ends with its thread still in the driver. */
TEST(poll_of_a_driver_that_hangs_is_left_alone)
{
	static struct sw_card_poll *p; /* no leak: it is left to the thread */
	struct sw_err err = SW_ERR_INIT;
	int64_t begun_us = 0;

	say("hang\n");
	ck_assert_int_eq(sw_card_poll_start(&p, &sw_clock_system, 1, on_wake, NULL), SW_OK);
	ck_assert_int_eq(sw_card_poll_take(p, 30, v, &begun_us, &err), SW_BUSY);
	sw_card_poll_stop(p, 30);
	say("card uuid=GPU-a total=1000 used=1\n");
	ck_assert_int_eq(__atomic_load_n(&woken, __ATOMIC_SEQ_CST), 0);
}

RUN_TESTS(set_up, tear_down)
