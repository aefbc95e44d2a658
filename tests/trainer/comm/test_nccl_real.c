/* tests/trainer/comm/test_nccl_real.c — the real library, where it is installed: it has what is
 * asked of it, and takes our configuration for one of its own. Without a GPU it begins nothing, and
 * says so. */
#include "tests/run.h"
#include "trainer/comm/comm.h"
#include <dlfcn.h>

TEST(nccl_of_one_rank_begins_or_says_why_not)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm *c;
	char text[200];
	sw_status rc;

	ck_assert_int_eq(sw_comm_meet(&c, 1, true, &err), SW_OK);
	rc = sw_comm_devices(c, &err);
	sw_comm_describe(c, text, sizeof text);
	printf("%s%s\n", rc == SW_OK ? text : err.msg, rc == SW_OK ? "" : ", as there is no GPU");
	if (rc == SW_OK)
		ck_assert_msg(strncmp(text, "NCCL 2.", 7) == 0, "%s", text);
	else /* it has given an id already; CUDA begins with the communicator */
		ck_assert_msg(rc == SW_DEVICE_LOST &&
				      strncmp(err.msg, "ncclCommInitRankConfig: ", 24) == 0,
			      "%s", err.msg);
	sw_comm_close(c);
}

SUITE(tcase)
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	int (*version)(int *) = NULL;
	int is = 0;

	if (library)
		*(void **)(void *)&version = dlsym(library, "ncclGetVersion");
	if (!library) {
		puts("no NCCL here: skipped");
		exit(77);
	}
	if (!version || version(&is) != 0 || is < 22200) {
		printf("a library without a version, or too old: %d\n", is);
		exit(1);
	}
	printf("NCCL %d\n", is);
	tcase_set_timeout(tcase, 60);
}
