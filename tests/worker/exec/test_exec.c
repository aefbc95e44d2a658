/* tests/worker/exec/test_exec.c — programs from start to finish, as the daemon sees them: small
 * scripts of sh, which write to descriptor 3 and read their answers there. */
#include "tests/worker/link/session_daemon.h"
#include "tests/worker/trial.h"
#include "worker/exec/answers.h"
#include "worker/exec/exec.h"
#include <signal.h>
#include <sys/resource.h>

/* `say JSON` is a report by the socket; its answer is the next line of the file `said`. */
#define SAY "say() { echo \"$1\" >&3; read -r a <&3 && echo \"$a\" >> said; }\n"

static const char *script, *more; /* of a job; more: keys of it */
static const char *limits = "\"timeout_s\":1000,\"silence_s\":1000"; /* of its `run` */
static int row;
static uint64_t attempts;

static void setup(void)
{
	strcpy(folder, "/tmp/sw-exec-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	attempts = 0;
}

static void teardown(void)
{
	char command[100];

	(void)snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* --- the daemon's side --- */

static void give(void)
{
	char job[2000];

	if (attempts++ == 0) {
		accept_one();
		answer(expect("worker.hello", NULL, NULL), "{\"ok\":true}");
	}
	snprintf(
		job, sizeof job,
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"sweep\":1,\"trial\":7,\"attempt\":%d,"
		"\"seed\":1,\"data_seed\":1,\"params\":{\"b\":6},\"metric\":\"loss\","
		"\"goal\":\"minimize\",\"checkpoint_dir\":\"%s/c\",\"log\":\"%s/log\","
		"\"cookie\":\"test-%d\",\"command\":[\"/bin/sh\",\"%s/script\",\"${args}\"],"
		"\"run\":{\"cwd\":\"%s\",\"grace_s\":60,%s,\"on_oom\":{\"halve\":\"b\"}}%s}}\n",
		expect("worker.next", NULL, NULL), (int)attempts, folder, folder, (int)getpid(),
		folder, folder, limits, more ? more : "");
	say(job);
}

static int until = -1; /* of the answers to reports; below 0: they have none */

/* A report of this step and loss must come, with a checkpoint or without; answered with the
 * decision. */
static void take(uint64_t step, double loss, bool checkpoint, const char *decision)
{
	cJSON *m;
	const int id = expect_message("worker.report", &m);
	const cJSON *params = sw_json_get(m, "params");
	const cJSON *value = sw_json_get(sw_json_get(params, "metrics"), "loss");
	char result[64];
	uint64_t n = 0;

	if (!sw_json_u64(sw_json_get(params, "step"), &n) || n != step)
		problem("step", m ? "another" : NULL);
	else if (!cJSON_IsNumber(value) || value->valuedouble != loss)
		problem("loss", "another");
	else if (cJSON_IsTrue(sw_json_get(params, "checkpoint")) != checkpoint)
		problem("checkpoint", checkpoint ? "none" : "one");
	cJSON_Delete(m);
	if (until >= 0)
		snprintf(result, sizeof result, "{\"decision\":\"%s\",\"until\":%d}", decision,
			 until);
	else
		snprintf(result, sizeof result, "{\"decision\":\"%s\"}", decision);
	answer(id, result);
}

/* The file of the folder has this text. */
static void holds(const char *name, const char *text)
{
	char path[200], got[400] = "";
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "r");
	if (f) {
		got[fread(got, 1, sizeof got - 1, f)] = '\0';
		fclose(f);
	}
	if (!f || strcmp(got, text) != 0)
		problem(name, f ? got : "no file");
}

static void wants_log(const char *text)
{
	if (!strstr(d.logs, text))
		problem("log", d.logs);
}

/* The process whose number the file has is gone, or is not. */
static void lives(const char *name, bool alive)
{
	char path[200];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &pid) != 1 || (kill(pid, 0) == 0) != alive)
		problem(name, alive ? "ended" : "alive");
	if (f)
		fclose(f);
}

/* --- the worker's side --- */

static void run_jobs(void (*daemon)(void))
{
	const struct sw_site site = {
		.socket = "/s", .device = "cpu:0", .name = "cpu:0", .cores = 1};
	const struct sw_job *job;
	char text[2000];

	snprintf(text, sizeof text, "%s%s", SAY, script);
	file_write("script", text, strlen(text));
	start(daemon, 60000);
	while (sw_session_next(s, &job))
		sw_exec_job(&site, s, job);
	stop();
}

static void three_reports(void)
{
	give();
	take(1, 0.5, false, "continue");
	take(2, 0.25, false, "continue");
	take(7, 0.125, false, "continue");
	told("COMPLETED", "");
	no_more();
#define NOT_STORED(why) "{\"decision\":\"continue\",\"not_stored\":\"line " why "\"}\n"
	holds("said",
	      SW_ANSWERS_GOON SW_ANSWERS_GOON NOT_STORED("3: step 2 after step 2: steps rise")
		      NOT_STORED("4: it is no JSON object")
			      NOT_STORED("5: \\\"step\\\" must be a whole number")
				      NOT_STORED("6: a report has at most 65536 bytes")
					      SW_ANSWERS_GOON);
	wants_log("reports: left out of the socket: line 3: step 2 after step 2");
	wants_log("reports: left out of the socket: line 4: it is no JSON object");
	wants_log("reports: left out of the socket: line 6: a report has at most 65536 bytes");
}

/* Lines that are no reports are answered as well, and say so: a program waits for each. */
TEST(exec_answers_each_line)
{
	script = "say '{\"loss\":0.5}'; say '{\"loss\":0.25}'; say '{\"step\":2,\"loss\":9}'; "
		 "say nonsense; say '{\"step\":2.5,\"loss\":9}'; "
		 "say $(printf '{\"loss\":1%070000d}' 1); say '{\"step\":7,\"loss\":0.125}'";
	run_jobs(three_reports);
}

/* A line too long, or with a step that is none, or with one that falls, is no report of stdout. */
static void flood(void)
{
	give();
	take(1, 0.5, false, "continue");
	take(2, 0.25, false, "continue");
	told("COMPLETED", "");
	no_more();
	wants_log("reports: left out of stdout: line 2: step 1 after step 1");
	wants_log("reports: left out of stdout: line 4: step 1 after step 1");
	wants_log("reports: left out of stdout: line 102: \"step\" must");
	wants_log("reports: left out of stdout: line 103: a report has at most");
	wants_log("more of this kind are not named");
	if (strstr(d.logs, "line 5: "))
		problem("log", d.logs);
}

TEST(exec_names_a_few_lines_of_a_flood)
{
	script = "echo '{\"loss\":0.5}'; i=0; while [ $((i += 1)) -le 100 ]; do echo "
		 "'{\"step\":1,\"loss\":0.5}'; done; echo '{\"step\":null,\"loss\":1}'; "
		 "printf '{\"loss\":1%070000d}\\n' 1; echo '{\"loss\":0.25}'";
	run_jobs(flood);
}

static void many_answers(void)
{
	give();
	take(6000, 0.25, false, "continue");
	told("COMPLETED", "");
	no_more();
	holds("n", "6000 1\n");
}

/* A program may write all that it has, and then read. Steps that an earlier attempt reported ask
 * nothing of the daemon. */
TEST(exec_loses_no_answer_of_a_program_that_reads_late)
{
	more = ",\"resume_step\":1";
	script = "i=1; { echo nonsense; while [ $((i += 1)) -lt 6000 ]; do echo "
		 "'{\"step\":1,\"loss\":0.5}'; done; echo '{\"step\":6000,\"loss\":0.25}'; } >&3; "
		 "i=0; bad=0; while [ $((i += 1)) -le 6000 ]; do read -r a <&3; case $a in "
		 "*not_stored*) bad=$((bad + 1));; esac; done; echo $((i - 1)) $bad > n";
	run_jobs(many_answers);
}

static const struct {
	const char *limit, *script, *log;
	bool reports;
} overdue[] = {
	{"\"timeout_s\":2", "trap 'echo term > term; exit' TERM; while :; do sleep 9 & wait; done",
	 "ended: this attempt ran for 2 s (run.timeout_s)", false},
	{"\"silence_s\":2",
	 "trap 'echo term > term; exit' TERM; while :; do echo no report; sleep 0.02; done",
	 "ended: no report for 2 s (run.silence_s)", false},
	{"\"silence_s\":2",
	 "trap 'echo term > term; exit' TERM; echo '{\"loss\":0.5}'; while :; do sleep 9 & wait; "
	 "done",
	 "ended: no report for 2 s (run.silence_s)", true},
};

static void times_out(void)
{
	give();
	if (overdue[row].reports)
		take(1, 0.5, false, "continue");
	told("FAILED", "timeout");
	no_more();
	holds("term", "term\n");
	wants_log(overdue[row].log);
}

TEST_ROWS(exec_ends_a_program_whose_time_is_over, overdue)
{
	row = _i;
	limits = overdue[_i].limit;
	script = overdue[_i].script;
	run_jobs(times_out);
}

static void one_refused(void)
{
	give();
	refuse(expect("worker.report", NULL, NULL), -32602, "no such metric");
	told("FAILED", "report refused: no such metric");
	no_more();
	holds("said", "{\"error\":\"report refused: no such metric\"}\n");
}

TEST(exec_says_why_a_report_was_refused)
{
	script = "say '{\"loss\":0.5}'; exit 1";
	run_jobs(one_refused);
}

static void stopped(void)
{
	give();
	take(1, 0.5, false, "stop");
	no_more(); /* nothing is told, and nothing is left */
	holds("said", "{\"decision\":\"stop\"}\n");
	lives("pid", false);
	lives("away", false);
	holds("term", "term\n");
}

TEST(exec_ends_all_of_a_program_that_is_stopped)
{
	script = "echo $$ > pid; (setsid sh -c 'trap \"echo term > term; exit\" TERM; "
		 "echo $$ > away.part; mv away.part away; while :; do sleep 1000 & wait; done' "
		 "3>&- > /dev/null 2>&1 &)\n"
		 "while [ ! -e away ]; do :; done\n"
		 "say '{\"loss\":0.5}'; while :; do sleep 1000 & wait; done";
	run_jobs(stopped);
}

/* A program that saves when it is told to end, and a helper of it, which says what it sees then. */
#define SAVES                                                                                      \
	"sh -c 'trap \"[ -e saved ] && echo late > helped || echo early > helped; exit\" TERM; "   \
	"echo > there; while :; do sleep 1000 & wait; done' 3>&- > /dev/null 2>&1 &\n"             \
	"trap 'sleep .2; echo saved > saved; exit' TERM; until [ -e there ]; do sleep .01; done\n" \
	"echo '{\"loss\":0.5}' >&3; while :; do sleep 1000 & wait; done"

static const char *const savers[] = {
	SAVES,
	"cat > inner <<'END'\n" SAVES "\nEND\nsh inner; echo a wrapper that passes nothing on",
	"if [ $RANK = 0 ]; then echo '{\"loss\":0.5}' >&3; exec sleep 1000; fi\n"
	"exec 3> /dev/null\n" SAVES,
};

static void saved(void)
{
	give();
	take(1, 0.5, false, "stop");
	no_more();
	holds("saved", "saved\n");
	holds("helped", "late\n");
}

TEST_ROWS(exec_ends_helpers_after_what_they_help, savers)
{
	more = strstr(savers[_i], "RANK") ? ",\"ranks\":2" : NULL;
	script = savers[_i];
	run_jobs(saved);
}

static void freed(void)
{
	give();
	told("FAILED", "exit:3");
	no_more();
	holds("freed", "freed\n");
}

/* As torch_shm_manager does: it leads a session, and frees what is shared when its clients have
 * ended. */
TEST(exec_lets_what_frees_memory_do_so_after_its_clients)
{
	script = "exec 3>&- > /dev/null 2>&1; sleep 1000 & client=$!\n"
		 "setsid sh -c \"trap 'echo early > freed; exit' TERM; echo > there; "
		 "while kill -0 $client; do sleep .01; done; sleep .1; echo freed > freed\" &\n"
		 "until [ -e there ]; do sleep .01; done; exit 3";
	run_jobs(freed);
}

static void until_by_socket(void)
{
	give();
	take(1, 0.5, false, "continue");
	until = 9;
	take(2, 0.25, true, "continue"); /* the same process goes on */
	take(3, 0.125, false, "pause");
	give();
	take(4, 0.5, false, "continue");
	told("COMPLETED", "");
	no_more();
	holds("c/7-2.ckpt/state", "two\n");
	holds("begun", "begun\nbegun\n");
	holds("went", "three\n"); /* it was in the working folder when the trial was paused */
}

TEST(exec_keeps_the_folder_at_until_and_goes_on)
{
	more = ",\"until\":2";
	script = "echo begun >> begun\n"
		 "if [ -n \"$SWEEPD_RESUME\" ]; then cat $SWEEPD_RESUME/state > went; "
		 "say '{\"step\":4,\"loss\":0.5}'; exit; fi\n"
		 "say '{\"loss\":0.5}'; echo two > $SWEEPD_CHECKPOINT_DIR/state; "
		 "say '{\"loss\":0.25}'; echo three > $SWEEPD_CHECKPOINT_DIR/state; "
		 "say '{\"loss\":0.125}'";
	run_jobs(until_by_socket);
}

/* A rung that has no value does not pause it: each answer says which is next. */
static void until_moves(void)
{
	give();
	until = 3;
	take(2, 0.5, true, "continue");
	until = -1; /* the answer to a report that was sent again */
	take(3, 0.5, true, "continue");
	until = 9;
	take(4, 0.5, true, "continue");
	take(5, 0.5, false, "continue");
	take(9, 0.5, false, "pause");
	no_more();
	holds("c/7-4.ckpt/state", "4\n");
	wants_log("no checkpoint of step 9: SWEEPD_CHECKPOINT_DIR is empty");
}

TEST(exec_keeps_the_folder_at_each_until_that_an_answer_names)
{
	more = ",\"until\":1";
	script = "step() { say \"{\\\"step\\\":$1,\\\"loss\\\":0.5}\"; }\n"
		 "for i in 2 3 4 5; do echo $i > $SWEEPD_CHECKPOINT_DIR/state; step $i; done\n"
		 "rm $SWEEPD_CHECKPOINT_DIR/state; step 9";
	run_jobs(until_moves);
}

static void left_open(void)
{
	give();
	take(1, 0.5, true, "continue");
	told("COMPLETED", "");
	no_more();
	wants_log("checkpoint of step 1: state is still open for writing");
}

TEST(exec_says_what_a_program_still_writes_into_its_checkpoint)
{
	script = "exec 9> $SWEEPD_CHECKPOINT_DIR/state; say '{\"loss\":0.5,\"checkpoint\":true}'";
	run_jobs(left_open);
}

/* It has ended before the report comes, so what it keeps is at rest. */
static void until_by_stdout(void)
{
	give();
	take(1, 0.5, false, "continue");
	{
		cJSON *m;
		const int id = expect_message("worker.report", &m);

		lives("pid", false);
		holds("c/7-2.ckpt/state", "two\n");
		if (!cJSON_IsTrue(sw_json_get(sw_json_get(m, "params"), "checkpoint")))
			problem("checkpoint", "none");
		cJSON_Delete(m);
		answer(id, "{\"decision\":\"continue\",\"until\":9}");
	}
	take(3, 0.125, false, "continue");
	told("COMPLETED", "");
	no_more();
	holds("went", "two 2\n");
}

TEST(exec_ends_a_program_that_prints_before_its_folder_is_kept)
{
	more = ",\"until\":2";
	script = "if [ -n \"$SWEEPD_RESUME\" ]; then echo $(cat $SWEEPD_RESUME/state) "
		 "$SWEEPD_RESUME_STEP > went; echo '{\"loss\":0.125}'; exit; fi\n"
		 "echo $$ > pid; echo '{\"loss\":0.5}'; echo two > $SWEEPD_CHECKPOINT_DIR/state; "
		 "echo '{\"loss\":0.25}'; while :; do sleep 1000 & wait; done";
	run_jobs(until_by_stdout);
}

static void from_step_two(void)
{
	give();
	take(3, 0.25, false, "continue");
	told("COMPLETED", "");
	no_more();
	if (strstr(d.logs, "left out"))
		problem("log", d.logs);
}

TEST(exec_reports_no_step_that_an_earlier_attempt_reported)
{
	more = ",\"resume_step\":2";
	script = "say '{\"loss\":1}'; say '{\"loss\":0.5}'; say '{\"loss\":0.25}'";
	run_jobs(from_step_two);
}

static void halved(void)
{
	give();
	take(1, 6, false, "continue");
	take(2, 3, false, "continue");
	told("INFEASIBLE", "oom");
	no_more();
	holds("args", "--b=6\n--b=3\n--b=1\n");
	if (!strstr(d.logs, "again with b 3") || !strstr(d.logs, "b cannot be halved"))
		problem("log", d.logs);
}

TEST(exec_halves_while_memory_runs_out)
{
	script = "echo $1 >> args; say '{\"step\":1,\"loss\":6}'; "
		 "if [ $1 != --b=6 ]; then say '{\"step\":2,\"loss\":3}'; fi; "
		 "echo std::bad_alloc >&2; exit 1";
	run_jobs(halved);
}

static void whole(void)
{
	give();
	take(1, 6, false, "continue");
	told("INFEASIBLE", "oom");
	no_more();
	holds("args", "--b=6\n");
}

TEST(exec_halves_nothing_on_a_part_of_a_gpu)
{
	more = ",\"gpu_percent\":50";
	script = "echo $1 >> args; say '{\"step\":1,\"loss\":6}'; echo std::bad_alloc >&2; exit 1";
	run_jobs(whole);
}

#define IN_USE "OSError: [Errno 98] Address already in use"
#define RANKS  ",\"ranks\":2"

/* Rank 0 fails as often, and says so; first: it reports before that. */
static const struct {
	int times;
	const char *says, *first, *ranks, *begun, *cause;
} meetings[] = {
	{1, IN_USE, "", RANKS, "00", ""},
	{2, IN_USE, "", RANKS, "000", ""},
	{9, IN_USE, "", RANKS, "000", "exit:1: " IN_USE},
	{1, IN_USE, "say '{\"loss\":1}'; ", RANKS, "0", "exit:1: " IN_USE},
	{1, IN_USE, "", NULL, "0", "exit:1: " IN_USE},
	{1, "no room", "", RANKS, "0", "exit:1: no room"},
};

static void met(void)
{
	const char *cause = meetings[row].cause;

	give();
	if (*meetings[row].first || !*cause)
		take(1, 1, false, "continue");
	told(*cause ? "FAILED" : "COMPLETED", cause);
	no_more();
	holds("begun", meetings[row].begun);
	if ((strstr(d.logs, "MASTER_PORT was taken before rank 0 listened there") != NULL) !=
	    (strlen(meetings[row].begun) > 1))
		problem("log", d.logs);
}

TEST_ROWS(exec_starts_ranks_again_whose_port_was_taken_before_they_met, meetings)
{
	char text[400];

	row = _i;
	more = meetings[_i].ranks;
	snprintf(text, sizeof text,
		 "[ ${RANK:-0} = 0 ] || { exec 3>&-; while :; do sleep 1000 & wait; done; }\n"
		 "printf 0 >> begun; %s[ $(wc -c < begun) -gt %d ] && { say '{\"loss\":1}'; exit; "
		 "}\n"
		 "echo '%s' >&2; exit 1",
		 meetings[_i].first, meetings[_i].times, meetings[_i].says);
	script = text;
	run_jobs(met);
}

static const struct {
	const char *name, *reply; /* to the tell, after the request's id */
	const char *stays;        /* the folder, and so it is logged; NULL: it goes */
} ends[] = {
	{"taken", "\"result\":{\"trial\":7,\"state\":\"FAILED\"}", NULL},
	{"refused", "\"error\":{\"code\":-32002,\"message\":\"of an old attempt\"}",
	 "ended after step 0: end refused: of an old attempt"},
	{"given back", "\"result\":{\"trial\":7,\"state\":\"PENDING\"}",
	 "ended after step 0: given back"},
};

static void end_answered(void)
{
	char line[200];
	cJSON *m;

	give();
	snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,%s}\n",
		 expect_message("worker.tell", &m), ends[row].reply);
	cJSON_Delete(m);
	holds("c/7.live-1/state", "one\n");
	say(line);
	no_more();
	if ((access("c/7.live-1", F_OK) == 0) != (ends[row].stays != NULL))
		problem("folder", ends[row].stays ? "gone" : "there");
	if (ends[row].stays)
		wants_log(ends[row].stays);
}

/* A worker that is killed before the daemon knows the end leaves the next attempt what it has. */
TEST_ROWS(exec_keeps_the_folder_until_the_end_is_taken, ends)
{
	row = _i;
	script = "echo one > $SWEEPD_CHECKPOINT_DIR/state; exit 4";
	run_jobs(end_answered);
}

static struct rlimit files;

/* Three files more may be opened from here on: enough to remove a folder, too few for a program. */
static void crowd(void)
{
	const int next = dup(0);
	const struct rlimit limit = {(rlim_t)next + 3, files.rlim_max};

	(void)close(next);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void machine_refused(void)
{
	accept_one();
	answer(expect("worker.hello", NULL, NULL), "{\"ok\":true}");
	attempts = 1;
	crowd();
	give();
	no_more(); /* told nothing: it goes on elsewhere */
	holds("c/7.resume/state", "one\n");
}

TEST(exec_keeps_what_an_earlier_attempt_left_where_the_machine_lets_none_begin)
{
	script = "";
	ck_assert_int_eq(system("mkdir -p c/7.live-1 && echo one > c/7.live-1/state"), 0);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	run_jobs(machine_refused);
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* What was written before the end counts, whoever reads it and when. */
static void last_lines(void)
{
	give();
	take(1, 0.5, false, "continue");
	take(2, 0.25, false, "continue");
	told("FAILED", "exit:4");
	no_more();
	if (!strstr(d.logs, "ended with exit:4: last words"))
		problem("log", d.logs);
	holds("log", "last words\n");
}

TEST(exec_takes_what_a_program_wrote_before_its_end)
{
	script = "echo '{\"loss\":0.5}' >&3; echo '{\"loss\":0.25}' >&3; echo last words >&2; exit "
		 "4";
	run_jobs(last_lines);
}

static void rank_failed(void)
{
	give();
	take(1, 0.5, false, "continue");
	told("FAILED", "rank 1 signal:9");
	no_more();
}

/* Rank 1 fails, then rank 0 ends well. The worker is stopped meanwhile, so that it hears of both at
 * once. */
TEST(exec_sees_a_rank_that_failed_before_the_first_ended)
{
	more = ",\"ranks\":2";
	script = "if [ $RANK = 1 ]; then echo $$ > one; mv one rank; exec sleep 1000; fi\n"
		 "state() { s=$(cat /proc/$1/stat); s=${s##*) }; echo ${s%% *}; }\n"
		 "until_is() { until [ \"$(state $1)\" = $2 ]; do sleep .01; done; }\n"
		 "until [ -e rank ]; do sleep .01; done\n"
		 "say '{\"loss\":0.5}'; sleep .1; worker=$PPID first=$$\n"
		 "kill -STOP $worker; until_is $worker T\n"
		 "kill -KILL $(cat rank); until_is $(cat rank) Z\n"
		 "{ until_is $first Z; kill -CONT $worker; } & exit 0";
	run_jobs(rank_failed);
}

static void first_was_killed(void)
{
	give();
	take(1, 0.5, false, "continue");
	told("FAILED", "signal:9");
	no_more();
}

/* Rank 0 is killed when the worker has seen (and so reaped) rank 1, which ended for its loss. */
TEST(exec_blames_a_rank_that_was_killed_and_not_one_that_ended_for_it)
{
	more = ",\"ranks\":2";
	script = "if [ $RANK = 1 ]; then until [ -e first ]; do sleep .01; done\n"
		 "{ while [ -e /proc/$$ ]; do :; done; kill -KILL $(cat first); } & exit 1; fi\n"
		 "say '{\"loss\":0.5}'; echo $$ > zero; mv zero first; exec sleep 1000";
	run_jobs(first_was_killed);
}

RUN_TESTS(setup, teardown)
