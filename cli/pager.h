/*
 * cli/pager.h — what is longer than the terminal goes through the user's pager, as git's does.
 *
 * $PAGER, else less; LESS is FRX if it is not set: less ends by itself where all fits the screen,
 * keeps colours and leaves the text there. No pager: stdout is no terminal, TERM is dumb or not
 * set, PAGER is "" or cat, or the program is not installed.
 * Threads  None; it changes stdout and the handlers of SIGINT and SIGPIPE of this process.
 */
#ifndef SW_CLI_PAGER_H
#define SW_CLI_PAGER_H

/* From here on stdout is the pager's. If the user leaves it early or presses Ctrl-C, this process
 * ends (0, 130) once the pager has: what it would have written nobody reads. */
void sw_pager_start(void);
/* Waits until the user has left the pager; nothing without one. */
void sw_pager_end(void);

#endif
