/* tests/daemon/fixture.c — the daemon of a story, and the lines that move it. The one file that
 * knows daemon/daemon.h. */
#include "tests/daemon/fixture.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/slot/gpus.h"
#include "daemon/sweep/running.h"
#include "daemon/verify/verify.h"
#include "store/peek.h"
#include "tests/daemon/fixture_peer.h"
#include "tests/daemon/fixture_world.h"
#include "tests/folder.h"
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SWEEPS 4 /* of a story, at most */

static struct sw_daemon sweepd;
static uv_loop_t loop;
static bool up;         /* the daemon is there */
static char folder[40]; /* of all stories */
static char state[64], devices[64];
static int retain_days, others = -1; /* another daemon's socket */
static jmp_buf at_exit_of_daemon;

/* --- the loop --- */

/* Until nothing moves: three turns in a row in which nothing came and nothing was done. */
static void settle(const struct fixture_peer *speaker)
{
	for (int quiet = 0; quiet < 3; quiet++) {
		fixture_moved = false;
		if (up)
			(void)uv_run(&loop, UV_RUN_NOWAIT);
		bool any = fixture_store_turn();
		any = fixture_workers_turn() || any;
		any = fixture_checks_turn() || any;
		any = fixture_cards_turn() || any;
		any = (!fixture_pool_holds && fixture_pool_one()) || any;
		if (up)
			(void)uv_run(&loop, UV_RUN_NOWAIT);
		any = fixture_peers_read(speaker) || any;
		if (any || fixture_moved)
			quiet = -1;
	}
}

static void let_time_pass(int64_t us)
{
	const int64_t until_us = fixture_time.now_us + us;

	while (fixture_timer_next(until_us))
		settle(NULL);
	if (fixture_time.now_us < until_us)
		fixture_time.now_us = until_us;
}

/* --- the daemon's life --- */

static sw_status start_daemon(struct sw_err *err)
{
	struct sw_config config = {.log_level = SW_LOG_ERROR, .retain_days = retain_days};

	(void)snprintf(config.state, sizeof config.state, "%s", state);
	(void)snprintf(config.socket, sizeof config.socket, "%s/s", state);
	(void)snprintf(config.devices, sizeof config.devices, "%s", devices);
	(void)snprintf(config.worker, sizeof config.worker, "/nowhere/sweep-worker");
	ck_assert_int_eq(uv_loop_init(&loop), 0);
	fixture_daemon_runs = up = true;
	const sw_status rc =
		sw_daemon_start(&sweepd, &loop, &fixture_clock, &fixture_executor, &config, err);
	/* The numbers of the story's processes mean something wherever this test runs. */
	if (sweepd.slot.gpus != NULL)
		sweepd.slot.gpus->hidden = false;
	return rc;
}

/* After its stop: turns until the loop has nothing left, as main() does. */
static void end_daemon(void)
{
	const bool held = fixture_pool_holds;

	fixture_pool_holds = false;
	for (int i = 0; i < 1000 && uv_loop_alive(&loop); i++) {
		settle(NULL);
		let_time_pass(20000);
	}
	if (uv_loop_alive(&loop))
		ck_abort_msg("the daemon does not end");
	sw_daemon_fini(&sweepd);
	settle(NULL);
	if (uv_loop_close(&loop) != 0)
		ck_abort_msg("the daemon leaves handles in its loop");
	fixture_timers_forget();
	fixture_pool_holds = held;
	fixture_daemon_runs = up = false;
}

static void stop_daemon(void)
{
	sw_daemon_stop(&sweepd);
	end_daemon();
}

/* As by SIGKILL: what was not stored never is, and the workers live on. The daemon is then
 * stopped as it should be, on a machine that is off, so that its memory is given back. */
static void kill_daemon(void)
{
	struct fixture_worker workers[FIXTURE_WORKERS];
	const size_t n = fixture_seen.n;

	memcpy(workers, fixture_workers, sizeof workers);
	fixture_peers_close();
	fixture_disk.lost = true;
	fixture_disk.state = FIXTURE_DISK_WORKS;
	fixture_disk.removed = false;
	fixture_time.look_us = 0;
	fixture_workers_stubborn = false;
	stop_daemon();
	fixture_disk.lost = false;
	memcpy(fixture_workers, workers, sizeof workers);
	for (size_t i = 0; i < FIXTURE_WORKERS; i++) {
		fixture_workers[i].proc = NULL;
		if (fixture_workers[i].id[0] == '\0') /* it waits for a word that does not come */
			fixture_workers[i].lives = false;
	}
	fixture_seen.n = n;
	fixture_seen.s[n] = '\0';
}

_Noreturn void fixture_daemon_exits(int status)
{
	fixture_daemon_runs = false;
	longjmp(at_exit_of_daemon, status);
}

/* --- lines --- */

static const char *socket_path(void)
{
	static char path[100];

	(void)snprintf(path, sizeof path, "%s/s", state);
	return path;
}

/* The process of a worker's slot ends, and its link with it. False: the line says something
 * else. */
static bool worker_dies(const char *line)
{
	char name[12], cause[40], said[100] = "";
	int slot;

	if (sscanf(line, "w%d dies %39s %99[^\n]", &slot, cause, said) < 2)
		return false;
	(void)snprintf(name, sizeof name, "w%d", slot);
	fixture_peer_leave(name);
	fixture_worker_ends(slot, cause, said);
	return true;
}

static bool is(const char *word, const char *a)
{
	return strcmp(word, a) == 0;
}

static void clock_line(const char *what, const char *words)
{
	const double number = atof(words);

	if (is(what, "time"))
		let_time_pass((int64_t)(number * 1e6));
	else if (is(what, "jump"))
		fixture_time.now_us += (int64_t)(number * 1e6);
	else if (is(what, "slow"))
		fixture_time.look_us = (int64_t)number;
	else
		fixture_time.set_ms = (int64_t)(number * 1e3);
}

static void disk_line(const char *word)
{
	static const char *const states[] = {"works", "holds", "full", "breaks", "blinks"};

	fixture_disk.behind = is(word, "behind");
	fixture_disk.removed = is(word, "removed");
	for (size_t i = 0; i < ROWS(states); i++)
		if (is(word, states[i]))
			fixture_disk.state = (enum fixture_disk_state)i;
	if (is(word, "full"))
		(void)uv_async_send(&sweepd.store_wake); /* as the store itself does */
}

static void pool_line(const char *word)
{
	if (is(word, "one"))
		ck_assert(fixture_pool_one());
	else
		fixture_pool_holds = is(word, "holds");
}

static void check_line(const char *word, const char *rest)
{
	fixture_check.holds = is(word, "holds");
	(void)snprintf(fixture_check.refusal, sizeof fixture_check.refusal, "%s",
		       is(word, "refuses") ? rest : "");
	if (is(word, "bytes"))
		(void)sscanf(rest, "%" SCNd64 "%" SCNd64, &fixture_check.facts.bytes,
			     &fixture_check.facts.data_bytes);
}

static void workers_line(const char *word, const char *rest)
{
	if (is(word, "pid"))
		fixture_worker_pid = atol(rest);
	else if (is(word, "fail") || is(word, "start"))
		fixture_workers_fail = is(word, "fail");
	else
		fixture_workers_stubborn = is(word, "stubborn");
}

static void start_again(const char *on)
{
	struct sw_err err = SW_ERR_INIT;

	if (*on != '\0')
		(void)snprintf(devices, sizeof devices, "%s", on);
	if (start_daemon(&err) == SW_OK)
		return;
	const char *at = strstr(err.msg, state); /* whose name is another each time */
	if (at != NULL)
		fixture_happens("refused: %.*sSTATE%s", (int)(at - err.msg), err.msg,
				at + strlen(state));
	else
		fixture_happens("refused: %s", err.msg);
	end_daemon();
}

static void daemon_line(const char *word, const char *rest)
{
	if (is(word, "keeps"))
		retain_days = atoi(rest);
	if (is(word, "stopping"))
		sw_daemon_stop(&sweepd);
	if (is(word, "stops"))
		stop_daemon();
	if (is(word, "dies") || is(word, "restarts"))
		kill_daemon();
	if (is(word, "starts") || is(word, "restarts"))
		start_again(rest);
}

static void others_close(void)
{
	if (others >= 0)
		(void)close(others);
	others = -1;
}

static void socket_line(const char *word)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s", socket_path());
	ck_assert_int_eq(unlink(a.sun_path), 0);
	others_close();
	others = is(word, "taken") ? socket(AF_UNIX, SOCK_STREAM, 0) : -1;
	if (others >= 0)
		ck_assert(bind(others, (struct sockaddr *)&a, sizeof a) == 0 &&
			  listen(others, 9) == 0);
}

static void state_line(const char *word, const char *name)
{
	char path[200];

	(void)snprintf(path, sizeof path, "%s/%s", state, name);
	if (is(word, "has"))
		fixture_happens(access(path, F_OK) == 0 ? "yes" : "no");
	else if (is(word, "make"))
		ck_assert_int_eq(mkdir(path, 0700), 0);
	else
		ck_assert_int_eq(is(word, "link") ? symlink("/nowhere", path) : unlink(path), 0);
}

static void loaded_line(void)
{
	for (size_t i = 0; i < sweepd.sweep.sweep_n; i++)
		if (sweepd.sweep.sweeps[i]->sched != NULL)
			fixture_happens("%zu", i + 1);
}

/* "a ask && b get": at once. The first of them is who speaks. */
static const struct fixture_peer *say_all(const char *line)
{
	const struct fixture_peer *first = NULL;
	char one[3000];

	for (const char *end; line != NULL; line = end != NULL ? end + 4 : NULL) {
		end = strstr(line, " && ");
		const size_t n = end != NULL ? (size_t)(end - line) : strlen(line);
		ck_assert_uint_lt(n, sizeof one);
		(void)snprintf(one, sizeof one, "%.*s", (int)n, line);
		if (worker_dies(one))
			continue;
		const struct fixture_peer *const p = fixture_say_line(one, socket_path());
		if (first == NULL)
			first = p;
	}
	return first;
}

static void play_line(const char *line)
{
	char what[20], word[20] = "";
	int one = 0, two = 0;

	ck_assert_int_ge(sscanf(line, "%19s%n %19s%n", what, &one, word, &two), 1);
	const char *rest = line + (two > 0 ? two : one);
	rest += strspn(rest, " ");
	if (is(what, "time") || is(what, "jump") || is(what, "slow"))
		clock_line(what, line + one);
	else if (is(what, "clock"))
		clock_line(what, rest);
	else if (is(what, "disk"))
		disk_line(word);
	else if (is(what, "pool"))
		pool_line(word);
	else if (is(what, "check"))
		check_line(word, rest);
	else if (is(what, "card"))
		fixture_card_is((size_t)atoi(word), rest);
	else if (is(what, "workers"))
		workers_line(word, rest);
	else if (is(what, "daemon"))
		daemon_line(word, rest);
	else if (is(what, "socket"))
		socket_line(word);
	else if (is(what, "state"))
		state_line(word, rest);
	else if (is(what, "loaded"))
		loaded_line();
	else if (is(what, "alter"))
		fixture_store_alter(state, line + one);
	else if (is(what, "rows"))
		fixture_store_ask(line + one, &fixture_seen);
	else
		settle(say_all(line));
	settle(NULL);
}

/* What the line has caused. */
static const char *play(const char *line)
{
	fixture_seen.n = 0;
	fixture_seen.s[0] = '\0';
	const int status = setjmp(at_exit_of_daemon);
	if (status == 0) {
		play_line(line);
	} else {
		fixture_happens("the daemon ends with status %d", status);
		kill_daemon();
	}
	return fixture_seen.s;
}

/* --- stories --- */

static const struct story *told;

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void make_folder(void)
{
	(void)snprintf(folder, sizeof folder, "%s/sweepd-story-XXXXXX", folder_of_tests());
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	(void)nftw(folder, remove_file, 8, FTW_DEPTH | FTW_PHYS);
}

static void begin_story(const struct story *story, int number)
{
	struct sw_err err = SW_ERR_INIT;

	(void)signal(SIGPIPE, SIG_IGN); /* as main() does */
	ck_assert_int_eq(sw_log_open("/dev/null", SW_LOG_ERROR, &err), SW_OK);
	(void)snprintf(state, sizeof state, "%s/%d", folder, number);
	fixture_time = (struct fixture_time){.now_us = 1000000000};
	fixture_worker_pid = getpid();
	retain_days = 0;
	fixture_cards_init();
	fixture_disk = (struct fixture_disk){.commits_left = -1};
	fixture_pool_holds = fixture_workers_stubborn = fixture_workers_fail = false;
	fixture_check = (struct fixture_check){.holds = false};
	(void)snprintf(devices, sizeof devices, "%s",
		       story->devices != NULL ? story->devices : "none");
	ck_assert_msg(start_daemon(&err) == SW_OK, "%s", err.msg);
	settle(NULL);
	if (story->spec != NULL) {
		struct fixture_peer *p = fixture_peer_of("admin", socket_path());

		fixture_seen.n = 0;
		fixture_submit(p, story->spec, story->devices != NULL);
		settle(p);
		ck_assert_msg(strcmp(fixture_seen.s, "sweep 1") == 0, "%s: %s", story->name,
			      fixture_seen.s);
		fixture_peer_close(p);
		settle(NULL);
	}
}

/* As `sweepd replay` does, but for what a story has altered behind the daemon's back. */
static void verify_sweeps(const struct story *story, const bool there[SWEEPS])
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_db *db = NULL;

	for (size_t i = 0; i < ROWS(story->line) && story->line[i] != NULL; i += 2)
		if (strncmp(story->line[i], "alter", 5) == 0)
			return;
	ck_assert_msg(sw_peek_open(&db, state, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_peek_begin(db, &err), SW_OK);
	for (size_t i = 0; i < SWEEPS; i++) {
		struct sw_verify v;

		if (!there[i])
			continue;
		sw_verify_init(&v, (int64_t)i + 1);
		const sw_status rc = sw_verify_run(&v, db, &err);
		ck_assert_msg(rc == SW_OK, "%s: %s", story->name, err.msg);
		ck_assert_msg(!v.differs, "%s: %s", story->name, v.line.data);
		sw_verify_fini(&v);
	}
	sw_peek_close(db);
}

/* The power goes. What is stored must be what a next daemon can go on from, and what a replay comes
 * to. */
static void end_story(const struct story *story)
{
	bool there[SWEEPS] = {false};
	struct sw_err err = SW_ERR_INIT;

	if (up)
		kill_daemon();
	fixture_disk.commits_left = -1;
	fixture_workers_fail = false;
	others_close();
	ck_assert_msg(start_daemon(&err) == SW_OK, "%s: the next start: %s", story->name, err.msg);
	for (size_t i = 0; i < sweepd.sweep.sweep_n && i < SWEEPS; i++)
		there[i] = sweepd.sweep.sweeps[i]->gone == SW_GONE_NOT;
	kill_daemon();
	verify_sweeps(story, there);
}

static void tell(const struct story *s, int number)
{
	const bool print = getenv("SW_STORY_PRINT") != NULL;

	begin_story(s, number);
	for (size_t i = 0; i < ROWS(s->line) && s->line[i] != NULL; i += 2) {
		const char *got = play(s->line[i]);

		if (print) /* for whoever writes one */
			(void)printf("%s | %s | %s\n", s->name, s->line[i], got);
		else
			ck_assert_msg(s->line[i + 1] != NULL && strcmp(got, s->line[i + 1]) == 0,
				      "%s, line %zu: %s\n got: %s\nwant: %s", s->name, i / 2,
				      s->line[i], got,
				      s->line[i + 1] != NULL ? s->line[i + 1] : "(nothing)");
	}
	end_story(s);
}

START_TEST(story)
{
	tell(&told[_i], _i);
}
END_TEST

/* The disk breaks at the story's first commit, at its second ... until it lasts to the end: each
 * time the daemon ends, and the next one accepts what is stored. */
START_TEST(story_with_a_broken_disk)
{
	const struct story *s = &told[_i];
	bool broke = true;

	for (int after = 0; broke; after++) {
		begin_story(s, (_i + 1) * 1000 + after);
		fixture_disk.commits_left = after;
		broke = false;
		for (size_t i = 0; i < ROWS(s->line) && s->line[i] != NULL && !broke; i += 2) {
			if (strstr(s->line[i], "breaks") != NULL ||
			    strncmp(s->line[i], "alter", 5) == 0)
				break; /* what follows is about another fault */
			(void)play(s->line[i]);
			broke = fixture_disk.commits_left < 0;
		}
		end_story(s);
	}
}
END_TEST

const char *fixture_tell(const struct story *s)
{
	make_folder();
	tell(s, 0);
	return state;
}

void fixture_forget(void)
{
	remove_folder();
}

void fixture_add_stories(TCase *tcase, const struct story *stories, size_t n)
{
	told = stories;
	tcase_add_unchecked_fixture(tcase, make_folder, remove_folder);
	tcase_add_loop_test(tcase, story, 0, (int)n);
	if (getenv("SW_STORY_ONCE") == NULL) /* tests/planted has no use for the rest */
		tcase_add_loop_test(tcase, story_with_a_broken_disk, 0, (int)n);
}
