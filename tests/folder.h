/* tests/folder.h — where a test makes the folder for its files. */
#ifndef SW_TESTS_FOLDER_H
#define SW_TESTS_FOLDER_H

#include <unistd.h>

/* In memory where that is to be had: a store syncs each commit, for which a disk takes its time. */
static inline const char *folder_of_tests(void)
{
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

#endif
