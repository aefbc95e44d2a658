/* tests/daemon/net/test_conn_story.c — lines in, answers out in their order, turns, limits of time. */
#include "tests/daemon/fixture.h"

/* what happens, and what comes of it */
/* clang-format off */
static const struct story stories[] = {
	/* --- lines and answers --- */
	{"two requests in one write are answered in their order", NULL, "'run_cap':3",
	 {"a send {'jsonrpc':'2.0','id':1,'method':'sweep.get','params':{'sweep':9}}${'jsonrpc':'2.0','id':'x','method':'trial.ask','params':{'sweep':9}}$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no sweep 9; the "
	  "last one is 1\",\"data\":{\"pointer\":\"/sweep\"}},\"id\":1}; "
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no sweep 9; the "
	  "last one is 1\",\"data\":{\"pointer\":\"/sweep\"}},\"id\":\"x\"}"}},
	{"a line may come in pieces", NULL, NULL,
	 {"a send {'jsonrpc':'2.0','id':1,'meth", "",
	  "a send od':'sweep.get','params':{'sweep':9}}", "",
	  "a send $",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no sweep 9; "
	  "there is none yet\",\"data\":{\"pointer\":\"/sweep\"}},\"id\":1}"}},
	{"a line that is no JSON", NULL, NULL,
	 {"a send hello$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"not valid JSON "
	  "at byte 0: expected a value, not 'h'\"},\"id\":null}",
	  "a send {'a':1,}$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"not valid JSON "
	  "at byte 7: expected a key in double quotes after ',', not '}'\"},\"id\":null}",
	  "a send {'id':1,'method':'sweep.get'}$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"jsonrpc must be "
	  "\\\"2.0\\\"\",\"data\":{\"pointer\":\"/jsonrpc\"}},\"id\":1}",
	  "a send [1]$",
	  "[{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"a request must "
	  "be an object\"},\"id\":null}]",
	  "a send []$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"an empty "
	  "batch\"},\"id\":null}"}},
	{"an empty line is nothing", NULL, NULL,
	 {"a send $$$", "",
	  "a get", "refused -32001 /sweep: no sweep 1; there is none yet"}},
	{"a notification is not answered", NULL, "'run_cap':3",
	 {"a send {'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}}$", "",
	  "a get", "RUNNING: 1 RUNNING"}},
	{"a batch is answered as one", NULL, "'run_cap':3",
	 {"a send [{'jsonrpc':'2.0','id':1,'method':'sweep.get','params':{'sweep':9}},{'jsonrpc':'2.0','id':2,'method':'sweep.get','params':{'sweep':8}}]$",
	  "[{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no sweep 9; "
	  "the last one is "
	  "1\",\"data\":{\"pointer\":\"/sweep\"}},\"id\":1},{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no "
	  "sweep 8; the last one is 1"}},
	{"a batch whose requests need the disk is answered when all are", NULL, "'run_cap':3",
	 {"disk holds", "",
	  "a send [{'jsonrpc':'2.0','id':1,'method':'sweep.pause','params':{'sweep':1}},{'jsonrpc':'2.0','id':2,'method':'sweep.get','params':{'sweep':8}}]$",
	  "",
	  "b get", "",
	  "disk works",
	  "a [{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"no sweep 8; "
	  "the last one is "
	  "1\",\"data\":{\"pointer\":\"/sweep\"}},\"id\":2},{\"jsonrpc\":\"2.0\",\"result\":{\"sweep\":1,\"state\":\"PAUSED\"},\"id\":1}]; "
	  "b PAUSED"}},
	{"a batch of notifications is not answered", NULL, "'run_cap':3",
	 {"a send [{'jsonrpc':'2.0','method':'sweep.pause','params':{'sweep':1}}]$", "",
	  "a get", "PAUSED"}},
	{"an answer that is ready waits for the one before it", NULL, "'run_cap':3",
	 {"disk holds", "",
	  "a ask", "",
	  "a call daemon.nothing {}", "",
	  "b call daemon.nothing {}",
	  "refused -32601: unknown method \"daemon.nothing\"; did you mean "
	  "\"daemon.drain\"?",
	  "disk works",
	  "a 1.1; a refused -32601: unknown method \"daemon.nothing\"; did you mean "
	  "\"daemon.drain\"?"}},
	{"an id of any kind comes back as it was", NULL, NULL,
	 {"a send {'jsonrpc':'2.0','id':null,'method':'x'}$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"unknown method "
	  "\\\"x\\\"; rpc.discover lists them\"},\"id\":null}",
	  "a send {'jsonrpc':'2.0','id':1.5,'method':'x'}$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"unknown method "
	  "\\\"x\\\"; rpc.discover lists them\"},\"id\":1.5}",
	  "a send {'jsonrpc':'2.0','id':[],'method':'x'}$",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"id must be a "
	  "string, a number or null\",\"data\":{\"pointer\":\"/id\"}},\"id\":null}"}},
	{"a method with a wrong parameter names the nearest one", NULL, NULL,
	 {"a call sweep.get {'sweeep':1}",
	  "refused -32602 /sweeep: unknown parameter \"sweeep\"; did you mean \"sweep\"?",
	  "a call sweep.gett {}",
	  "refused -32601: unknown method \"sweep.gett\"; did you mean \"sweep.get\"?"}},
	/* --- turns --- */
	{"a client with much to ask lets others in between", NULL, "'run_cap':300",
	 {"slow 300", "",
	  "a repeat 40 cancel-trial 9 && b stats",
	  "refused -32001 /trial: there is no trial 9 (6 times); b 5 requests, 2 "
	  "connections; refused -32001 /trial: there is no trial 9 (34 times)"}},
	{"a batch goes on in the next turn", NULL, "'run_cap':90",
	 {"slow 300", "",
	  "a send [{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}},{'jsonrpc':'2.0','method':'trial.ask','params':{'sweep':1}}]$ && b stats",
	  "b 3 requests, 2 connections",
	  "b get", "RUNNING: 9 RUNNING"}},
	{"connections come and go", NULL, NULL,
	 {"a stats", "1 requests, 1 connections",
	  "b stats", "2 requests, 2 connections",
	  "a closes", "",
	  "b stats", "3 requests, 1 connections"}},
	{"a client has at most 256 requests under way, and the rest later", NULL, "'run_cap':500",
	 {"disk holds", "",
	  "a pause", "",
	  "a repeat 300 get", "",
	  "b stats", "258 requests, 2 connections",
	  "disk works", "a PAUSED (301 times)",
	  "b stats", "304 requests, 2 connections"}},
	/* --- time --- */
	{"a client that says nothing for ten minutes is cut", NULL, NULL,
	 {"a get", "refused -32001 /sweep: no sweep 1; there is none yet",
	  "time 599", "",
	  "time 2", "a cut"}},
	{"one that holds a trial is not", NULL, "'run_cap':3",
	 {"a ask", "1.1",
	  "b get", "RUNNING: 1 RUNNING",
	  "time 700", "b cut",
	  "a report 1 1 1 1 0.5", "continue"}},
	{"one that waits for an answer is not", NULL, "'run_cap':3",
	 {"disk holds", "",
	  "a ask", "",
	  "b get", "",
	  "time 700", "",
	  "disk works", "a 1.1; b RUNNING: 1 RUNNING"}},
	{"a line that is never finished is cut after a minute", NULL, NULL,
	 {"a send {'jsonrpc'", "",
	  "time 59", "",
	  "time 2", "a cut"}},
	{"bytes now and then do not save it", NULL, NULL,
	 {"a send {'jsonrpc'", "",
	  "time 30", "",
	  "a send :", "",
	  "time 29", "",
	  "a send '2.0'", "",
	  "time 2", "a cut"}},
	{"a line that is finished in time begins the next minute anew", NULL, NULL,
	 {"a send {'jsonrpc'", "",
	  "time 50", "",
	  "a send $",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"not valid JSON "
	  "at byte 10: expected ':' after the key, not the end of the "
	  "text\",\"data\":{\"pointer\":\"/jsonrpc\"}},\"id\":null}",
	  "a send {'jsonrpc'", "",
	  "time 50", "",
	  "a send $",
	  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"not valid JSON "
	  "at byte 10: expected ':' after the key, not the end of the "
	  "text\",\"data\":{\"pointer\":\"/jsonrpc\"}},\"id\":null}"}},
	{"a client that reads nothing is asked no more, and cut after ten seconds", NULL, NULL,
	 {"a deaf", "",
	  "a repeat 60 call rpc.discover {}", "",
	  "time 9", "",
	  "b get", "refused -32001 /sweep: no sweep 1; there is none yet",
	  "time 2", "",
	  "a hears", "cut"}},
	{"a client that reads nothing for a while gets all its answers", NULL, NULL,
	 {"a deaf", "",
	  "a repeat 60 call rpc.discover {}", "",
	  "a get", "",
	  "time 9", "",
	  "a hears", "refused -32001 /sweep: no sweep 1; there is none yet"}},
	{"what is said while the process is stopped is read before anyone is cut", NULL, NULL,
	 {"a get", "refused -32001 /sweep: no sweep 1; there is none yet",
	  "jump 3600", "",
	  "time 0.1", "",
	  "a get", "refused -32001 /sweep: no sweep 1; there is none yet",
	  "time 1", "",
	  "a get", "refused -32001 /sweep: no sweep 1; there is none yet"}},
	/* --- the end of a connection --- */
	{"a client that is gone before its answer leaves nothing behind", NULL, "'run_cap':3",
	 {"disk holds", "",
	  "a ask", "",
	  "a submit 'run_cap':3", "",
	  "a call sweep.best {'sweep':1}", "",
	  "a closes", "",
	  "disk works", "",
	  "b get", "RUNNING: 1 RUNNING"}},
	{"a line that was not finished is not begun", NULL, "'run_cap':3",
	 {"disk holds", "",
	  "a send [{'jsonrpc':'2.0','id':1,'method':'sweep.pause','params':{'sweep':1}},", "",
	  "a closes", "",
	  "disk works", "",
	  "b get", "RUNNING"}},
	{"a daemon that stops answers what is under way", NULL, "'run_cap':3",
	 {"disk holds", "",
	  "a ask", "",
	  "b watch", "",
	  "daemon stopping", "",
	  "disk works", "a 1.1; b snapshot RUNNING: 1 RUNNING",
	  "daemon stops", "a cut; b cut"}},
	{"who connects while it stops is not heard", NULL, "'run_cap':3",
	 {"a ask", "1.1",
	  "disk holds", "",
	  "a report 1 1 1 1 0.5", "",
	  "b get", "",
	  "daemon stopping", "",
	  "b ask", "",
	  "disk works",
	  "a continue; b RUNNING: 1 RUNNING; b refused -32003: the daemon is stopping",
	  "daemon stops", "a cut; b cut"}},
	{"a client that shuts nothing and reads nothing does not hold up the stop", NULL, NULL,
	 {"a deaf", "",
	  "a repeat 60 call rpc.discover {}", "",
	  "daemon stops", ""}},
};
/* clang-format on */

int main(void)
{
	return run_stories("daemon/conn", stories, sizeof stories / sizeof stories[0]);
}
