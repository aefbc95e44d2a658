/* cli/main.c — the `sweep` command. */
#include "cli/verb.h"

int main(int argc, char **argv)
{
	return sw_verb_main(argc, argv);
}
