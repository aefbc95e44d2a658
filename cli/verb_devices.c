/* cli/verb_devices.c — `devices`: GPUs and slots, once or live; --cancel. */
#include "base/clock.h"
#include "cli/canvas.h"
#include "cli/devices_text.h"
#include "cli/screen.h"
#include "cli/verb.h"
#include "proto/json.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVERY_MS 1000 /* on a terminal, and lines of --json */
#define BLOCK_MS 5000 /* elsewhere */

/* One call; what it says as text in c->out, or with --json as JSON. */
static int look_once(struct sw_cli *c, const struct sw_look *look)
{
	struct sw_reply r = SW_REPLY_INIT;
	const int status = sw_cli_call_ref(c, "device.list", &r);

	if (status == SW_EXIT_DONE && !(c->args.given & SW_OPT_JSON))
		sw_devices_text(&c->out, r.result, look);
	sw_client_reply_fini(&r);
	return status;
}

/* Marks a state that is not as it should be. */
static enum sw_tint tint_of(const char *line)
{
	if (strstr(line, " DOWN ") != NULL || strstr(line, " OUT ") != NULL)
		return SW_TINT_RED;
	if (strstr(line, " HELD ") != NULL || strstr(line, " HOT ") != NULL ||
	    strstr(line, " other ") != NULL)
		return SW_TINT_YELLOW;
	return SW_TINT_NONE;
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; text != NULL && (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

/* The text of c->out, line by line, onto the terminal; what has no room there is counted. */
static sw_status show_devices(struct sw_cli *c)
{
	struct sw_canvas canvas;
	int width, height;
	sw_status rc;

	sw_screen_size(&width, &height);
	rc = sw_canvas_init(&canvas, width, height);
	if (rc != SW_OK)
		return rc == SW_INVALID ? SW_OK : rc; /* a terminal of no size shows nothing */
	const int n = lines_of(c->out.data);
	int row = 0;
	for (char *at = c->out.data, *end; at != NULL && *at != '\0'; at = end) {
		end = strchr(at, '\n');
		if (end != NULL)
			*end++ = '\0';
		/* The last row says what is missing, rather than show one line more and keep
		 * silent. */
		if (row == height - 1 && n > height) {
			char more[48];

			(void)snprintf(more, sizeof more, "... %d more lines", n - row);
			(void)sw_canvas_put(&canvas, row, 0, width, SW_TINT_NONE, c->look.utf8,
					    more);
			break;
		}
		(void)sw_canvas_put(&canvas, row++, 0, width, tint_of(at), c->look.utf8, at);
	}
	sw_screen_show(&canvas);
	sw_canvas_fini(&canvas);
	return SW_OK;
}

/* Until it is time to look again. False: the user has left. */
static bool wait_ms(int ms)
{
	const int64_t until_us = sw_clock_mono_us() + (int64_t)ms * 1000;
	struct pollfd key_fd[1];

	while (sw_screen_wait(key_fd, 0, until_us)) {
		const enum sw_key key = sw_screen_key();

		if (key == SW_KEY_QUIT || key == SW_KEY_RESIZE)
			return key != SW_KEY_QUIT; /* another size: draw at once */
		if (sw_clock_mono_us() >= until_us)
			return true;
	}
	return false;
}

static int watch(struct sw_cli *c)
{
	const bool json = (c->args.given & SW_OPT_JSON) != 0;
	struct sw_look look = c->look;
	bool on_screen;
	int status, height;

	sw_screen_catch_signals();
	look.color = look.color && !isatty(STDOUT_FILENO); /* a canvas has colours of its own */
	status = look_once(c, &look); /* what is wrong is said before the terminal is taken over */
	on_screen = status == SW_EXIT_DONE && !json && sw_screen_open(c->look.color);
	while (status == SW_EXIT_DONE) {
		if (on_screen) {
			if (show_devices(c) != SW_OK)
				c->out.failed = SW_NOMEM;
			sw_buf_clear(&c->out);
			sw_screen_size(&look.width, &height);
		} else {
			status = sw_cli_flush(c);
		}
		if (status != SW_EXIT_DONE || !wait_ms(json || on_screen ? EVERY_MS : BLOCK_MS))
			break;
		if (!json && !on_screen)
			(void)sw_buf_adds(&c->out, "\n");
		status = look_once(c, &look);
	}
	sw_screen_close();
	return status;
}

static void print_cancelled(struct sw_cli *c, const cJSON *result)
{
	const unsigned long long n = sw_json_uint(result, "jobs");

	(void)sw_buf_addf(&c->out,
			  "%llu job%s of %s %s being cancelled; `sweep devices` shows what is "
			  "left\n",
			  n, n == 1 ? "" : "s", c->args.cancel, n == 1 ? "is" : "are");
}

static int cancel_jobs(struct sw_cli *c)
{
	struct sw_buf params;
	struct sw_jw w;

	sw_cli_begin(c, &params, &w);
	sw_jw_kstr(&w, "prefix", c->args.cancel);
	sw_jw_obj_end(&w);
	return sw_cli_answer(c, "pilot.cancel", &params, print_cancelled);
}

int sw_verb_devices(struct sw_cli *c)
{
	if ((c->args.given & SW_OPT_CANCEL) && (c->args.given & SW_OPT_WATCH))
		return sw_cli_usage(c, "devices: --cancel and --watch exclude each other");
	if (c->args.given & SW_OPT_CANCEL)
		return cancel_jobs(c);
	return c->args.given & SW_OPT_WATCH ? watch(c) : look_once(c, &c->look);
}
