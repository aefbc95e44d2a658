/*
 * cli/screen.h — a canvas on a terminal, by ncurses.
 *
 * Threads  ncurses has one global screen: one at a time, one thread.
 */
#ifndef SW_CLI_SCREEN_H
#define SW_CLI_SCREEN_H

#include "cli/canvas.h"
#include <stdbool.h>

enum sw_key { SW_KEY_NONE, SW_KEY_QUIT, SW_KEY_RESIZE };

/* Takes the terminal over (alternate screen, no echo). False: stdout is no terminal, or one that
 * ncurses does not know (TERM); nothing has then changed. */
bool sw_screen_open(bool color);
void sw_screen_close(void); /* gives it back as it was; nothing happens when none is open */

void sw_screen_size(int *width, int *height); /* as it is now */
/* Brings the terminal to what the canvas shows, by the fewest characters that ncurses finds. */
void sw_screen_show(const struct sw_canvas *c);
/* The next key that matters, without waiting. */
enum sw_key sw_screen_key(void);

#endif
