/* tests/cli/test_args.c — the command line, the verbs' own checks, and text spans of a reply. */
#include "cli/args.h"
#include "cli/client.h"
#include "cli/verb.h"
#include "tests/run.h"
#include "tests/walk.h"
#include <sys/socket.h>
#include <sys/un.h>

#define MAX_ARGS 8

static sw_status read_line(struct sw_args *a, const char *const *words, struct sw_err *err)
{
	char *argv[MAX_ARGS + 2] = {(char *)"sweep"};
	int argc = 1;

	while (argc <= MAX_ARGS && words[argc - 1] != NULL) {
		argv[argc] = (char *)words[argc - 1];
		argc++;
	}
	return sw_args_read(a, argc, argv, err);
}

TEST_LOOP(args_options_may_stand_anywhere, 0, 7)
{
	static const char *const lines[][MAX_ARGS] = {
		{"best", "1", "-n", "3", "--scope", "avg", "--json"},
		{"--json", "-n", "3", "best", "--scope=avg", "1"},
		{"best", "--scope", "avg", "--json", "--n=3", "--", "1"},
		{"best", "1", "-n3", "--sco=avg", "--js"}, /* the beginning of a name is enough */
		{"--json", "best", "--json", "-n", "3", "1", "--scope", "avg"},
		{"best", "-n9", "--scope=last", "-n3", "1", "--scope", "avg", "--json"},
		{"best", "1", "-n", "3", "--json", "--scope", "avg", "--"},
	};
	struct sw_err err = SW_ERR_INIT;
	struct sw_args a;

	ck_assert_int_eq(read_line(&a, lines[_i], &err), SW_OK);
	ck_assert_str_eq(a.verb, "best");
	ck_assert_uint_eq(a.n_words, 1);
	ck_assert_str_eq(a.word[0], "1");
	ck_assert_uint_eq(a.n, 3);
	ck_assert_str_eq(a.scope, "avg");
	ck_assert_uint_eq(a.given, SW_OPT_JSON | SW_OPT_N | SW_OPT_SCOPE);
}

TEST(args_follow_no_posixly_correct_and_move_nothing)
{
	static const char *const line[] = {"submit", "f", "-w", "--", "-w", NULL};
	struct sw_err err = SW_ERR_INIT;
	struct sw_args a;

	ck_assert_int_eq(setenv("POSIXLY_CORRECT", "1", 1), 0);
	ck_assert_int_eq(read_line(&a, line, &err), SW_OK);
	ck_assert_uint_eq(a.given, SW_OPT_WATCH);
	ck_assert_uint_eq(a.n_words, 2);
	ck_assert_str_eq(a.word[1], "-w");
}

/* No two options have one letter, name or bit: the reader would take the first. */
TEST(options_are_told_apart)
{
	for (size_t i = 0; i < sw_options_n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct sw_option *a = &sw_options[i], *b = &sw_options[k];

			ck_assert_str_ne(a->name, b->name);
			ck_assert_uint_ne(a->bit, b->bit);
			ck_assert(a->letter == '\0' || a->letter != b->letter);
		}
}

TEST(args_dash_alone_and_after_two_dashes_are_words)
{
	static const char *const line[] = {"submit", "-", "--", "--json", NULL};
	struct sw_err err = SW_ERR_INIT;
	struct sw_args a;

	ck_assert_int_eq(read_line(&a, line, &err), SW_OK);
	ck_assert_uint_eq(a.n_words, 2);
	ck_assert_str_eq(a.word[0], "-");
	ck_assert_str_eq(a.word[1], "--json");
	ck_assert_uint_eq(a.given, 0);
}

static const struct {
	const char *words[MAX_ARGS];
	const char *says;
} wrong[] = {
	{{"ls", "--jsom"}, "did you mean --json?"},
	{{"ls", "--zzzzzzzzzz"}, "unknown option --zzzzzzzzzz"},
	{{"ls", "--json=1"}, "takes no value"},
	{{"ls", "--s", "X"}, ": write more of it"},
	{{"ls", "-x"}, "unknown option -x"},
	{{"log", "1/2", "-fx"}, "unknown option -x"},
	{{"ls", "--out"}, "--out needs a value: FILE"},
	{{"best", "1", "-n"}, "-n needs a value"},
	{{"best", "1", "-n", "0"}, "whole number"},
	{{"best", "1", "-n", "3x"}, "whole number"},
	{{"best", "1", "-n", "-3"}, "whole number"},
	{{"extend", "1", "--run-cap=99999999999999999999"}, "whole number"},
};

TEST_ROWS(args_wrong_row_says_what_is_wrong, wrong)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_args a;

	ck_assert_int_eq(read_line(&a, wrong[_i].words, &err), SW_INVALID);
	ck_assert_msg(strstr(err.msg, wrong[_i].says) != NULL, "%s lacks %s", err.msg,
		      wrong[_i].says);
}

static const struct {
	const char *word;
	sw_status status;
	uint64_t sweep, trial;
	size_t name;
} refs[] = {{"1", SW_OK, 1, 0, 0},
	    {"12/7", SW_OK, 12, 7, 0},
	    {"9007199254740991", SW_OK, 9007199254740991, 0, 0},
	    {"9007199254740992", SW_INVALID, 0, 0, 0},
	    {"0", SW_INVALID, 0, 0, 0},
	    {"1/0", SW_INVALID, 0, 0, 0},
	    {"1/", SW_INVALID, 0, 0, 0},
	    {"/1", SW_INVALID, 0, 0, 0},
	    {"", SW_INVALID, 0, 0, 0},
	    {"1/2/3", SW_INVALID, 0, 0, 0},
	    {"digits", SW_OK, 0, 0, 6},
	    {"digits/7", SW_OK, 0, 7, 6},
	    {"a/b/7", SW_OK, 0, 7, 3},
	    {"a/0", SW_OK, 0, 0, 3},
	    {"1/x", SW_OK, 0, 0, 3},
	    {"1e5", SW_OK, 0, 0, 3},
	    {" 1", SW_OK, 0, 0, 2}};

TEST_ROWS(ref_row_is_read_or_refused, refs)
{
	uint64_t sweep = 0, trial = 0;
	size_t name = 0;

	ck_assert_int_eq(sw_args_ref(refs[_i].word, &sweep, &trial, &name), refs[_i].status);
	if (refs[_i].status == SW_OK) {
		ck_assert_uint_eq(sweep, refs[_i].sweep);
		ck_assert_uint_eq(trial, refs[_i].trial);
		ck_assert_uint_eq(name, refs[_i].name);
	}
}

static const struct {
	const char *words[MAX_ARGS];
	int status;
} checks[] = {
	{{"show", "1"}, SW_EXIT_DONE},
	{{"show", "1/7"}, SW_EXIT_DONE},
	{{"show"}, SW_EXIT_USAGE},
	{{"show", "1", "2"}, SW_EXIT_USAGE},
	{{"why", "1"}, SW_EXIT_USAGE},
	{{"why", "1/7"}, SW_EXIT_DONE},
	{{"pause", "1/7"}, SW_EXIT_USAGE},
	{{"ls", "--csv"}, SW_EXIT_USAGE},
	{{"trials", "1", "--csv"}, SW_EXIT_DONE},
	{{"watch", "1", "2"}, SW_EXIT_DONE},
	{{"submit", "f", "--watch"}, SW_EXIT_DONE},
	{{"ls", "--watch"}, SW_EXIT_USAGE},
	{{"export", "1", "--to", "csv", "-o", "f"}, SW_EXIT_DONE},
	{{"export", "1/7"}, SW_EXIT_USAGE},
	{{"edit", "1", "--weight", "2", "--range", "a=1..2", "--range=b=1..2"}, SW_EXIT_DONE},
	{{"edit", "1/2", "--weight", "2"}, SW_EXIT_USAGE},
	{{"edit", "1", "--csv"}, SW_EXIT_USAGE},
	{{"extend", "1", "--weight", "2"}, SW_EXIT_USAGE},
	{{"simulate", "1", "--early-terminate", "f", "--workers", "3"}, SW_EXIT_DONE},
	{{"simulate", "1/2", "--early-terminate=f"}, SW_EXIT_USAGE},
	{{"show", "1", "--early-terminate=f"}, SW_EXIT_USAGE},
};

TEST_ROWS(verb_check_row_gives_its_status, checks)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_cli c = {.client = NULL};

	ck_assert_int_eq(read_line(&c.args, checks[_i].words, &err), SW_OK);
	const struct sw_verb *v = sw_verb_find(c.args.verb);
	ck_assert_ptr_nonnull(v);
	ck_assert_int_eq(sw_verb_check(&c, v), checks[_i].status);
}

/* A listener in a folder of its own; path[108] gets where. */
static int listen_here(char *dir, char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	(void)snprintf(path, sizeof addr.sun_path, "%s/s", dir);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&addr, sizeof addr), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return fd;
}

static const struct {
	const char *answer; /* NULL: the connection closes */
	sw_status status;
	const char *message, *pointer;
} answers[] = {
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", SW_OK, "", ""},
	{"{\"method\":\"sweep.update\",\"params\":{}}\n{\"id\":1,\"result\":1}\n", SW_OK, "", ""},
	{"{\"id\":9,\"result\":1}\n{\"id\":1,\"result\":1}\n", SW_OK, "", ""},
	{"{\"id\":1,\"error\":{\"code\":-32602,\"message\":\"bad\",\"data\":{\"pointer\":"
	 "\"/spec/run_cap\"}}}\n",
	 SW_INVALID, "bad", "/run_cap"},
	{"{\"id\":null,\"error\":{\"message\":\"bad\",\"data\":{\"pointer\":\"/spec\"}}}\n",
	 SW_INVALID, "bad", ""},
	{"{\"id\":1,\"error\":{\"message\":\"bad\",\"data\":{\"pointer\":\"/specs\"}}}\n",
	 SW_INVALID, "bad", "/specs"},
	{"{\"id\":1}\n", SW_PARSE, "the daemon's reply has neither result nor error", ""},
	{NULL, SW_IO, "the daemon closed the connection", ""},
};

TEST_ROWS(client_answer_row_becomes_a_status, answers)
{
	char dir[] = "/tmp/sw-cli-XXXXXX", path[108];
	const int listener = listen_here(dir, path);
	struct sw_reply r = SW_REPLY_INIT;
	struct sw_err err = SW_ERR_INIT;
	struct sw_client *c = NULL;

	ck_assert_int_eq(sw_client_open(&c, path, 1000, &err), SW_OK);
	const int peer = accept(listener, NULL, NULL);
	if (answers[_i].answer != NULL) {
		const size_t n = strlen(answers[_i].answer);

		ck_assert_int_eq(write(peer, answers[_i].answer, n), (ssize_t)n);
	} else {
		ck_assert_int_eq(shutdown(peer, SHUT_WR), 0);
	}
	ck_assert_int_eq(sw_client_call(c, "x", NULL, 60000, &r, &err), answers[_i].status);
	ck_assert_str_eq(err.msg, answers[_i].message);
	ck_assert_str_eq(err.ptr, answers[_i].pointer);
	sw_client_reply_fini(&r);
	sw_client_close(c);
	(void)close(peer);
	(void)close(listener);
	(void)unlink(path);
	(void)rmdir(dir);
	/* and now nobody is there */
	err = (struct sw_err)SW_ERR_INIT;
	ck_assert_int_eq(sw_client_open(&c, path, 1000, &err), SW_NOT_FOUND);
	ck_assert_ptr_null(c);
}

TEST(client_without_memory_fails_cleanly_at_each_call)
{
	static const char line[] = "{\"id\":1,\"result\":{\"a\":[1,2,{\"b\":null}]}}\n";
	char dir[] = "/tmp/sw-cli-XXXXXX", path[108];
	const int listener = listen_here(dir, path);

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_reply r = SW_REPLY_INIT;
		struct sw_err err = SW_ERR_INIT;
		struct sw_client *c = NULL;
		int peer = -1;

		walk_arm();
		sw_status rc = sw_client_open(&c, path, 1000, &err);
		if (rc == SW_OK) {
			peer = accept(listener, NULL, NULL);
			ck_assert_int_eq(write(peer, line, strlen(line)), (ssize_t)strlen(line));
			rc = sw_client_call(c, "x", "{}", 60000, &r, &err);
		}
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		sw_client_reply_fini(&r);
		sw_client_close(c);
		if (peer >= 0)
			(void)close(peer);
	}
	(void)close(listener);
	(void)unlink(path);
	(void)rmdir(dir);
}

TEST(socket_path_follows_the_environment)
{
	char path[SW_SOCKET_PATH_MAX], small[8], deep[200];

	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "/run/x", 1), 0);
	ck_assert_int_eq(sw_socket_path_default(path, sizeof path), SW_OK);
	ck_assert_str_eq(path, "/run/x/sweepd/sweepd.sock");
	ck_assert_int_eq(sw_socket_path_default(small, sizeof small), SW_TOO_BIG);
	ck_assert_str_eq(small, "");
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", "relative", 1), 0);
	ck_assert_int_eq(sw_socket_path_default(path, sizeof path), SW_OK);
	ck_assert_int_eq(path[0], '/');
	memset(deep, 'd', sizeof deep);
	deep[0] = '/';
	deep[sizeof deep - 1] = '\0';
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", deep, 1), 0);
	ck_assert_int_eq(sw_socket_path_default(path, sizeof path), SW_TOO_BIG);
}

RUN_TESTS(NULL, NULL)
