/*
 * cli/screen.h — a canvas on a terminal, by ncurses.
 *
 * Threads  ncurses has one global screen: one at a time, one thread.
 */
#ifndef SW_CLI_SCREEN_H
#define SW_CLI_SCREEN_H

#include "cli/canvas.h"
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum sw_key {
	SW_KEY_NONE,
	SW_KEY_QUIT,
	SW_KEY_RESIZE,
	SW_KEY_HELP,
	SW_KEY_UP,
	SW_KEY_DOWN,
	SW_KEY_PAGE_UP,
	SW_KEY_PAGE_DOWN,
	SW_KEY_HOME,
	SW_KEY_END,
	SW_KEY_ENTER, /* Right, too */
	SW_KEY_LEFT,
	SW_KEY_ESC,
	SW_KEY_SORT,
	SW_KEY_REVERSE,
	SW_KEY_FILTER,
	SW_KEY_TAB
};

/* Takes the terminal over (alternate screen, no echo). False: stdout is no terminal, or one that
 * ncurses does not know (TERM); nothing has then changed. */
bool sw_screen_open(bool color);
void sw_screen_close(void); /* gives it back as it was; nothing happens when none is open */

void sw_screen_size(int *width, int *height); /* as it is now */
/* Brings the terminal to what the canvas shows, by the fewest characters that ncurses finds. */
void sw_screen_show(const struct sw_canvas *c);
/* The next key that matters, without waiting; none without a screen. */
enum sw_key sw_screen_key(void);

/* From now on SIGINT, SIGTERM and SIGHUP do nothing but end sw_screen_wait(), with or without a
 * screen: none is lost between a check and the wait. */
void sw_screen_catch_signals(void);
/* Sleeps until one of fds[n] is ready, which has room for one more, or a key of an open screen
 * comes, or until_us (monotonic). False: one of those signals has come. */
bool sw_screen_wait(struct pollfd *fds, nfds_t n, int64_t until_us);

#endif
