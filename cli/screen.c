#include "cli/screen.h"
#include "base/clock.h"
#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_US ((int64_t)1000000)
#define WHOLE_US  (9 * SECOND_US / 10)
#define ESC_MS    50 /* getch() waits so long for the rest of an arrow key after its Esc */

static SCREEN *screen;
static bool colored;
static sigset_t waiting; /* the signal mask of sw_screen_wait() */
static volatile sig_atomic_t interrupted;

static void set_colors(void)
{
	static const struct {
		enum sw_tint tint;
		short color;
	} pairs[] = {{SW_TINT_GREEN, COLOR_GREEN},
		     {SW_TINT_YELLOW, COLOR_YELLOW},
		     {SW_TINT_CYAN, COLOR_CYAN},
		     {SW_TINT_RED, COLOR_RED},
		     {SW_TINT_MAGENTA, COLOR_MAGENTA}};

	if (start_color() == ERR || use_default_colors() == ERR) {
		/* black on white would be worse than no colours */
		colored = false;
		return;
	}
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		(void)init_pair((short)pairs[i].tint, pairs[i].color, -1);
}

bool sw_screen_open(bool color)
{
	const char *term = getenv("TERM");

	if (screen != NULL || !isatty(STDOUT_FILENO) || term == NULL || strcmp(term, "dumb") == 0)
		return false;
	/* unlike initscr(), newterm() does not end the program when it fails */
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return false;
	colored = color && has_colors();
	if (colored)
		set_colors();
	(void)cbreak();
	(void)noecho();
	(void)curs_set(0); /* not every terminal can */
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(ESC_MS);
	(void)nodelay(stdscr, TRUE);
	return true;
}

void sw_screen_close(void)
{
	if (screen == NULL)
		return;
	(void)endwin();
	delscreen(screen);
	screen = NULL;
}

void sw_screen_size(int *width, int *height)
{
	getmaxyx(stdscr, *height, *width);
}

static attr_t attributes(enum sw_tint tint)
{
	if (tint == SW_TINT_BOLD)
		return A_BOLD;
	if (tint == SW_TINT_DIM)
		return A_DIM;
	return A_NORMAL;
}

static void show_cell(const struct sw_cell *cell, attr_t more)
{
	const int of_256 = (int)cell->tint - SW_TINT_N;
	int pair = 0;
	const wchar_t text[2] = {(wchar_t)cell->rune, L'\0'};
	cchar_t cc;

	if (colored && cell->tint < SW_TINT_DIM)
		pair = (int)cell->tint;
	else if (colored && of_256 >= 0 && of_256 < COLORS && SW_TINT_N + of_256 < COLOR_PAIRS &&
		 init_pair((short)(SW_TINT_N + of_256), (short)of_256, -1) != ERR)
		pair = SW_TINT_N + of_256;
	if (setcchar(&cc, text, attributes(cell->tint) | more, (short)pair, NULL) != ERR)
		(void)add_wch(&cc);
}

void sw_screen_show(const struct sw_canvas *c)
{
	static int64_t whole_us;
	const int64_t now_us = sw_clock_mono_us();

	/* What others write to the terminal, such as a daemon its log, moves what ncurses believes
	 * to be there: all of it is written anew, without a blank screen in between. */
	if (now_us - whole_us >= WHOLE_US) {
		(void)redrawwin(stdscr);
		whole_us = now_us;
	}
	(void)erase();
	for (int y = 0; y < c->height; y++)
		for (int x = 0; x < c->width; x++) {
			const struct sw_cell *cell =
				&c->cells[(size_t)y * (size_t)c->width + (size_t)x];

			/* erase() has left blanks; a wide character covers the cell after it by
			 * itself. */
			if (cell->rune == 0 || (cell->rune == ' ' && y != c->marked))
				continue;
			if (move(y, x) != ERR)
				show_cell(cell, y == c->marked ? A_REVERSE : A_NORMAL);
		}
	(void)refresh();
}

enum sw_key sw_screen_key(void)
{
	static const struct {
		int code;
		enum sw_key key;
	} keys[] = {{'q', SW_KEY_QUIT},          {3, SW_KEY_QUIT},
		    {KEY_RESIZE, SW_KEY_RESIZE}, {'?', SW_KEY_HELP},
		    {KEY_UP, SW_KEY_UP},         {KEY_DOWN, SW_KEY_DOWN},
		    {KEY_PPAGE, SW_KEY_PAGE_UP}, {KEY_NPAGE, SW_KEY_PAGE_DOWN},
		    {KEY_HOME, SW_KEY_HOME},     {KEY_END, SW_KEY_END},
		    {'\n', SW_KEY_ENTER},        {'\r', SW_KEY_ENTER},
		    {KEY_ENTER, SW_KEY_ENTER},   {KEY_RIGHT, SW_KEY_ENTER},
		    {KEY_LEFT, SW_KEY_LEFT},     {27, SW_KEY_ESC},
		    {'s', SW_KEY_SORT},          {'S', SW_KEY_REVERSE},
		    {'f', SW_KEY_FILTER},        {'\t', SW_KEY_TAB}};
	const int code = screen != NULL ? getch() : ERR;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (keys[i].code == code)
			return keys[i].key;
	return SW_KEY_NONE;
}

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

void sw_screen_catch_signals(void)
{
	static const int end[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t block;

	(void)sigemptyset(&block);
	(void)sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof end / sizeof end[0]; i++) {
		(void)sigaddset(&block, end[i]);
		(void)sigaction(end[i], &act, NULL);
	}
	(void)sigaddset(&block, SIGWINCH); /* ncurses has its own handler for it */
	/* Blocked but in ppoll(), which opens the mask and sleeps in one step: none comes in
	 * between. */
	(void)sigprocmask(SIG_BLOCK, &block, &waiting);
	for (size_t i = 0; i < sizeof end / sizeof end[0]; i++)
		(void)sigdelset(&waiting, end[i]);
	(void)sigdelset(&waiting, SIGWINCH);
}

bool sw_screen_wait(struct pollfd *fds, nfds_t n, int64_t until_us)
{
	const int64_t left = until_us - sw_clock_mono_us(), us = left > 0 ? left : 0;
	const struct timespec ts = {.tv_sec = (time_t)(us / SECOND_US),
				    .tv_nsec = (long)(us % SECOND_US) * 1000};

	if (screen != NULL && isatty(STDIN_FILENO))
		fds[n++] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	(void)ppoll(fds, n, &ts, &waiting); /* each outcome is looked at by the caller */
	return interrupted == 0;
}
