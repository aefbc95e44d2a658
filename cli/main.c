/* cli/main.c — the `sweep` command. */
#include "base/commit.h"
#include "cli/complete.h"
#include "cli/verb.h"
#include <string.h>

int main(int argc, char **argv)
{
	sw_commit = sw_commit_of_build;
	/* Its words are half written: nothing reads them as options. */
	if (argc > 1 && strcmp(argv[1], "complete") == 0)
		return sw_complete_main(argc - 1, argv + 1);
	return sw_verb_main(argc, argv);
}
