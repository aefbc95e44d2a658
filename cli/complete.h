/*
 * cli/complete.h — `sweep complete WORD ...`: what the last word may become, for the completion
 * files of bash, zsh and fish, which know nothing themselves.
 *
 * The words are those of a command line behind "sweep"; the last may be empty. A candidate a line,
 * with a tab and what it is; or the one line ":files", where a file's name is wanted. A candidate
 * that ends in "=" or "/" goes on. Sweeps and parameters are asked of the daemon, which gets half a
 * second: nothing is ever said about it.
 */
#ifndef SW_CLI_COMPLETE_H
#define SW_CLI_COMPLETE_H

/* argv[0] is "complete". An exit status: always SW_EXIT_DONE. */
int sw_complete_main(int argc, char *const *argv);

#endif
