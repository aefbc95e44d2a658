/* tests/daemon/slot/test_losses_story.c — GPUs that lose attempts again and again. */
#include "tests/daemon/fixture.h"

#define OUT(what)                                                                                  \
	"lost 3 attempts in a row (" what "): it takes no trial until sweepd is started again"

#define BY_BOTH " on 2 ranks"
/* On both GPUs, of which NCCL has started: only then a loss counts. */
#define BEGINS(attempt) "gets 1/1." #attempt BY_BOTH, "w0 report 1 " #attempt " 1 1 0.5", "continue"
/* The trial that GPU 0 has is lost with its worker, which comes again and gets another one. */
#define AGAIN(next) "w0 dies signal:9", "", "time 3", "worker 0 starts", HELLO, "w0 next", next
/* The second rank of a trial on both GPUs is lost, by which the first ends. */
#define RANK_LOST        "w0 bye 1", "ok", "w0 dies exit:1", ""
#define RANK_AGAIN(next) RANK_LOST, "time 3", "worker 0 starts", HELLO, "w0 next", next
/* The same, and the end is seen before the words are read. */
#define WORDS_AND_END             "w0 bye 1 && w0 dies exit:1", ""
#define WORDS_AND_END_AGAIN(next) WORDS_AND_END, "time 3", "worker 0 starts", HELLO, "w0 next", next
#define GPU_LOST                                                                                   \
	"card 1 lost", "worker 1 is killed; w1 cut", "card 1 fine", "", "time 2",                  \
		"worker 1 starts", "w1 hello", "welcome"

/* what happens, and what comes of it */
/* clang-format off */
static const struct story stories[] = {
	{"a GPU that loses three attempts in a row is taken out, and the last is not the trial's fault",
	 "gpu:0,1", "'run_cap':9",
	 {BOTH,
	  "w1 next", "gets 1/1.1",
	  "w0 next", "gets 1/2.1",
	  AGAIN("gets 1/2.2"),
	  AGAIN("gets 1/2.3"),
	  "w0 dies signal:9", "",
	  "time 9", "",
	  "a devices", "gpu:0 DOWN (" OUT("1/2, 1/2, 1/2") "), gpu:1 BUSY 1/1",
	  "rows SELECT kind, trial, cause FROM event",
	  "ask 0 -; ask 0 -; lost 2 signal:9; ask 0 -; lost 2 signal:9; ask 0 -; "
	  "release 2 gpu:0 is taken out: signal:9",
	  "w1 tell 1 1 FAILED", "1 FAILED",
	  "w1 next", "gets 1/2.4",
	  "w1 tell 2 4 FAILED", "2 FAILED",
	  "daemon restarts", "worker 1 is found; worker 0 starts",
	  HELLO,
	  "w0 next", "gets 1/3.1"}},
	{"a GPU that is lost and comes back three times is taken out", "gpu:0,1", "'run_cap':9",
	 {BOTH,
	  "w1 next", "gets 1/1.1",
	  GPU_LOST,
	  "w1 next", "gets 1/1.2",
	  GPU_LOST,
	  GPU_LOST, /* without a trial: that is no loss */
	  "w1 next", "gets 1/1.3",
	  "card 1 lost", "worker 1 is killed; w1 cut",
	  "card 1 fine", "",
	  "time 9", "",
	  "a devices", "gpu:0 IDLE, gpu:1 DOWN (" OUT("GPU lost, GPU lost, GPU lost") ")"}},
	{"a GPU is lost once under a program that has two, however long that takes to end", "gpu:0,1", NULL,
	 {"a submit 'run_cap':1,'resources':{'gpu':2},'program':'/dev/null','run':{'cwd':'/home'}", "sweep 1",
	  BOTH,
	  "w0 next", "gets 1/1.1 runs ${env} in /home to /logs/1/1.log",
	  "w1 next", "",
	  "pool holds", "", /* what the program left is not ended yet */
	  "card 1 lost", "worker 0 is killed; worker 1 is killed; w0 cut; w1 cut",
	  "time 9", "",
	  "a devices", "gpu:0 DOWN (signal:9), gpu:1 DOWN (lost: NVML says: GPU is lost)",
	  "pool works", "",
	  "time 1", "worker 0 starts"}},
	{"of a trial on two GPUs that of the rank which was lost is taken out, and it waits",
	 "gpu:0,1", NULL,
	 {"a train 'resources':{'gpu':2},'parallel':{'data':2}", "sweep 1",
	  BOTH,
	  "w0 next", BEGINS(1),
	  RANK_AGAIN(BEGINS(2)),
	  RANK_AGAIN(BEGINS(3)),
	  RANK_LOST,
	  "time 3", "worker 0 starts",
	  HELLO,
	  "w0 next", "",
	  "a trial 1", "1 PENDING (gpu:1 is taken out: exit:1)",
	  "a devices", "gpu:0 IDLE (exit:1), gpu:1 IDLE (" OUT("1/1, 1/1, 1/1") ")",
	  "a get",
	  "RUNNING: 1 PENDING (waits for 2 GPUs, 1 is left: gpu:1: " OUT("1/1, 1/1, 1/1") ")",
	  "a train 'resources':{'gpu':1}", "sweep 2; w0 gets 2/1.1",
	  "w1 next", ""}},
	{"a worker's last words are read where there is no NVML, too", "gpu:0,1", NULL,
	 {"card 0 silent", "",
	  "daemon restarts", "worker 0 is found; worker 1 is found",
	  "a train 'resources':{'gpu':2},'parallel':{'data':2}", "sweep 1",
	  BOTH,
	  "w1 next", "",
	  "w0 next", BEGINS(1),
	  WORDS_AND_END_AGAIN(BEGINS(2)),
	  WORDS_AND_END_AGAIN(BEGINS(3)),
	  WORDS_AND_END,
	  "time 3", "worker 0 starts",
	  "a trial 1", "1 PENDING (gpu:1 is taken out: exit:1)",
	  "a devices", "gpu:0 STARTING (exit:1), gpu:1 IDLE (" OUT("1/1, 1/1, 1/1") ")"}},
	{"a worker that dies in NCCL's start costs its trial an attempt, and no GPU", "gpu:0,1", NULL,
	 {"a train 'resources':{'gpu':2},'parallel':{'data':2}", "sweep 1",
	  BOTH,
	  "w0 next", "gets 1/1.1" BY_BOTH,
	  AGAIN("gets 1/1.2" BY_BOTH),
	  AGAIN("gets 1/1.3" BY_BOTH),
	  "w0 dies signal:11", "",
	  "time 9", "worker 0 starts",
	  "a trial 1", "1 FAILED (signal:11 in NCCL's start, or before it)",
	  "a devices", "gpu:0 STARTING (signal:11), gpu:1 IDLE"}},
	{"a worker that gives its trial back, and ends, leaves its reason to who asks", "gpu:0,1", NULL,
	 {"a train 'resources':{'gpu':2},'parallel':{'data':2}", "sweep 1",
	  BOTH,
	  "w0 next", "gets 1/1.1" BY_BOTH,
	  "w0 refuses no way between GPUs", "",
	  "w0 dies exit:0", "",
	  "a trial 1", "1 PENDING (no way between GPUs)",
	  "time 3", "worker 0 starts",
	  HELLO,
	  "a devices", "gpu:0 IDLE (no way between GPUs), gpu:1 IDLE",
	  "w0 next", "gets 1/1.2" BY_BOTH}},
	{"a worker that gives its trial back and says that it ends gets no other", "gpu:0,1", NULL,
	 {"a train 'resources':{'gpu':2},'parallel':{'data':2}", "sweep 1",
	  "w0 hello", "welcome",
	  "w1 hello", "welcome",
	  "w0 next", "gets 1/1.1" BY_BOTH,
	  "w0 refuses no way between GPUs", "",
	  "w0 bye 0", "nothing; ok",
	  "a train 'resources':{'gpu':1}", "sweep 2",
	  "w0 dies exit:0", "",
	  "time 3", "worker 0 starts",
	  HELLO,
	  "w0 next", "gets 1/1.2" BY_BOTH}},
	{"a GPU that its trial has lost blames no rank that it has not", "gpu:0,1", "'run_cap':9",
	 {BOTH,
	  "w0 next", "gets 1/1.1",
	  "w0 bye 63", "ok",
	  AGAIN("gets 1/1.2"),
	  AGAIN("gets 1/1.3"),
	  "w0 dies signal:9", "",
	  "time 9", "",
	  "a devices", "gpu:0 DOWN (" OUT("1/1, 1/1, 1/1") "), gpu:1 IDLE"}},
};
/* clang-format on */

STORIES(stories)
