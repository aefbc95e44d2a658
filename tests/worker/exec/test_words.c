/* tests/worker/exec/test_words.c — of what a program printed, what says why it failed. */
#include "tests/run.h"
#include "worker/exec/words.h"

#define TRACE "Traceback (most recent call last):", "  File \"t.py\", line 1, in <module>"
#define NO_X  "ModuleNotFoundError: No module named 'x'"
#define TEN   "0123456789"
#define LONG  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *lines[8], *says;
} ends[] = {
	{{NULL}, ""},
	{{"one", "  two  ", "", " \t"}, "two  "},
	{{TRACE, "    import x", NO_X}, NO_X},
	{{TRACE, "    import x", NO_X, "", "  0%|     | 0/10 [00:00<?, ?it/s]", "wandb: bye"},
	 NO_X},
	{{TRACE, "ValueError: a", "During handling", TRACE, "KeyError: 'b'"}, "KeyError: 'b'"},
	{{"  + Exception Group Traceback (most recent call last):", "  | ExceptionGroup: two"},
	 "| ExceptionGroup: two"},
	{{"[rank1]: Traceback (most recent call last):", "[rank1]:   File \"t.py\"",
	  "[rank1]: " NO_X},
	 NO_X},
	{{TRACE, NO_X, TRACE, "subprocess.CalledProcessError: Command 'python'"}, NO_X},
	{{TRACE, "ModuleNotFoundError: No module named 'wandb'"},
	 "ModuleNotFoundError: No module named 'wandb' (or write: import sweepd.wandb as wandb)"},
	{{TRACE, "ModuleNotFoundError: No module named 'wandb.x'"},
	 "ModuleNotFoundError: No module named 'wandb.x'"},
	{{"\033[1;31mError:\033[0m no \033[Kroom\033["}, "Error: no room"},
	{{"bell\a tab\t \xff\xc3\xa9 \xe2\x80\xae"}, "bell? tab? ?\xc3\xa9 ?"},
	{{LONG TEN "more"}, LONG TEN},
	{{LONG "012345678\xc3\xa9"}, LONG "012345678"},
};

TEST_ROWS(words_are_the_last_line_or_the_exception, ends)
{
	struct sw_words w = {.after = 0};

	for (size_t i = 0; i < 8 && ends[_i].lines[i]; i++)
		sw_words_take(&w, ends[_i].lines[i]);
	ck_assert_str_eq(sw_words_say(&w), ends[_i].says);
}

#define OOM    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"
#define SAID   "batch 64: CUDA out of memory. Tried to allocate 2.00 GiB; trying 32"
#define FROM   "The above exception was the direct cause of the following exception:"
#define THROWS "terminate called after throwing an instance of "

static const struct {
	const char *lines[9];
	bool oom;
} ooms[] = {
	{{NULL}, false},
	{{SAID}, false},
	{{SAID, TRACE, NO_X}, false},
	{{TRACE, OOM}, true},
	{{TRACE, OOM, "  warnings.warn(", "wandb: bye", "  0%|     | 0/10"}, true},
	{{TRACE, OOM, "During handling of the above exception:", "", TRACE, "KeyError: 'b'"},
	 false},
	{{TRACE, OOM, FROM, "", TRACE, "RuntimeError: no step"}, true},
	{{TRACE, "KeyError: 'b'", FROM, TRACE, OOM}, true},
	{{"[rank0]: Traceback (most recent call last):", "[rank0]:   File \"t.py\"",
	  "[rank0]: " OOM},
	 true},
	{{"[rank0]: Traceback (most recent call last):", "[rank0]:   File \"t.py\"",
	  "[rank0]: " NO_X},
	 false},
	{{TRACE, OOM, TRACE, "torch.distributed.elastic.errors.ChildFailedError: ", "=====", "x"},
	 true},
	{{TRACE, "subprocess.CalledProcessError: Command 'out of memory' failed"}, true},
	{{TRACE, "MemoryError"}, true},
	{{TRACE, "RuntimeError: CUDA error: out of memory", "Compile with TORCH_USE_CUDA_DSA"},
	 true},
	{{TRACE, "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `f`"}, true},
	{{TRACE, "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying"}, true},
	{{THROWS "'std::bad_alloc'", "  what():  std::bad_alloc"}, true},
	{{THROWS "'c10::Error'", "  what():  CUDA out of memory. Tried to", "frame #0: f"}, true},
	{{THROWS "'std::logic_error'", "  what():  no", "frame #0: f"}, false},
	{{"train: Cannot allocate memory"}, true},
	{{"CUDA error: out of memory (2)"}, false},
	{{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"}, true},
};

TEST_ROWS(words_say_whether_memory_ran_out, ooms)
{
	struct sw_words w = {.after = 0};

	for (size_t i = 0; i < 9 && ooms[_i].lines[i]; i++)
		sw_words_take(&w, ooms[_i].lines[i]);
	ck_assert_int_eq(sw_words_oom(&w), ooms[_i].oom);
}

#define IN_USE "OSError: [Errno 98] Address already in use"
#define STORE                                                                                      \
	"torch.distributed.DistNetworkError: The server socket has failed to listen on any local " \
	"network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: "     \
	"address already in use"

static const struct {
	const char *lines[8];
	bool taken;
} takens[] = {
	{{NULL}, false},
	{{"W: the server socket has failed to bind (errno: 98 - Address already in use)", "bye"},
	 false},
	{{TRACE, IN_USE}, true},
	{{TRACE, IN_USE, "wandb: bye"}, true},
	{{"[rank0]: Traceback (most recent call last):", "[rank0]:   File \"t.py\"",
	  "[rank0]: " STORE},
	 true},
	{{TRACE, IN_USE, "During handling", TRACE, "KeyError: 'b'"}, false},
	{{TRACE, IN_USE, FROM, TRACE, "RuntimeError: no store"}, true},
	{{"bind: Address already in use"}, true},
};

TEST_ROWS(words_say_whether_an_address_was_in_use, takens)
{
	struct sw_words w = {.after = 0};

	for (size_t i = 0; i < 8 && takens[_i].lines[i]; i++)
		sw_words_take(&w, takens[_i].lines[i]);
	ck_assert_int_eq(sw_words_taken(&w), takens[_i].taken);
}

TEST(words_of_an_exception_long_ago_are_forgotten)
{
	static const char *const lines[] = {TRACE, "KeyError: 'caught'"};
	struct sw_words w = {.after = 0};

	for (size_t i = 0; i < 3; i++)
		sw_words_take(&w, lines[i]);
	for (int i = 0; i < 50; i++)
		sw_words_take(&w, "epoch done");
	ck_assert_str_eq(sw_words_say(&w), lines[2]);
	sw_words_take(&w, "no data");
	ck_assert_str_eq(sw_words_say(&w), "no data");
}

RUN_TESTS(NULL, NULL)
