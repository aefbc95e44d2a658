#include "daemon/slot/xid.h"
#include <stddef.h>

static const struct xid {
	unsigned number;
	enum sw_gpu_need need;
	const char *words;
} xids[] = {
	{8, SW_GPU_NEED_NONE, "a program's work did not end in time"},
	{13, SW_GPU_NEED_NONE, "a fault in a program's kernel"},
	{31, SW_GPU_NEED_NONE, "a program used memory that is not its own"},
	{43, SW_GPU_NEED_NONE, "a program's work was stopped after a fault of it"},
	{45, SW_GPU_NEED_NONE, "a program's work was removed, mostly after another error"},
	{46, SW_GPU_NEED_RESET, "the GPU stopped working"},
	{48, SW_GPU_NEED_DRAIN_AND_RESET, "an uncorrectable memory error"},
	{62, SW_GPU_NEED_RESET, "the GPU's own controller halted"},
	{63, SW_GPU_NEED_NONE,
	 "a damaged part of the memory will not be used after the next reset"},
	{64, SW_GPU_NEED_RESET, "a damaged part of the memory could not be put out of use"},
	{69, SW_GPU_NEED_NONE, "a fault in a program's kernel"},
	{74, SW_GPU_NEED_DRAIN_AND_RESET, "an error on NVLink"},
	{79, SW_GPU_NEED_REBOOT, "the GPU fell off the bus"},
	{92, SW_GPU_NEED_NONE, "many corrected memory errors"},
	{94, SW_GPU_NEED_DRAIN_AND_RESET, "a memory error that ended the programs that met it"},
	{95, SW_GPU_NEED_RESET, "a memory error that may have reached any program"},
	{109, SW_GPU_NEED_DRAIN_AND_RESET, "a change between programs did not end in time"},
	{110, SW_GPU_NEED_RESET, "a fault of the GPU's security processor"},
	{119, SW_GPU_NEED_RESET, "the GPU's system processor does not answer"},
	{120, SW_GPU_NEED_RESET, "the GPU's system processor failed"},
	{140, SW_GPU_NEED_RESET, "a memory error that could not be recovered from"},
	{143, SW_GPU_NEED_RESET, "the GPU could not be started"},
	{154, SW_GPU_NEED_NONE, "the driver says anew what the GPU needs"},
	{156, SW_GPU_NEED_DRAIN_AND_RESET,
	 "a damaged part of the GPU will not be used after the next reset"},
	{158, SW_GPU_NEED_RESET, "the GPU did not answer in time"},
};

static const struct {
	bool loss;
	const char *words;
} needs[] = {
	[SW_GPU_NEED_NONE] = {false, ""},
	/* nvidia-smi refuses while a process has the GPU open, and sweepd has. */
	[SW_GPU_NEED_RESET] = {true, "; stop sweepd and reset the GPU (nvidia-smi -r)"},
	[SW_GPU_NEED_REBOOT] = {true, "; reboot the machine"},
	[SW_GPU_NEED_DRAIN_P2P] = {false, "; end all that copies between this GPU and others"},
	[SW_GPU_NEED_DRAIN_AND_RESET] = {false, "; reset the GPU once its programs have ended"},
	[SW_GPU_NEED_IMEX] = {false, "; recover the IMEX domain"},
	[SW_GPU_NEED_BUS_RESET] = {true, "; reset the GPU's PCIe bus"},
	[SW_GPU_NEED_SYSTEM_REBOOT] = {true, "; reboot the machine"},
};
#define NEEDS (sizeof needs / sizeof needs[0])

static const struct xid *find_xid(unsigned number)
{
	for (size_t i = 0; i < sizeof xids / sizeof xids[0]; i++)
		if (xids[i].number == number)
			return &xids[i];
	return NULL;
}

enum sw_gpu_need sw_xid_need(unsigned xid)
{
	const struct xid *x = find_xid(xid);

	return x != NULL ? x->need : SW_GPU_NEED_NONE;
}

const char *sw_xid_words(unsigned xid)
{
	const struct xid *x = find_xid(xid);

	return x != NULL ? x->words : "NVIDIA's catalogue of XID errors says what it means";
}

bool sw_gpu_need_is_loss(unsigned need)
{
	return need < NEEDS && needs[need].loss;
}

const char *sw_gpu_need_words(unsigned need)
{
	/* A later driver's number: its own tool has the words. */
	return need < NEEDS ? needs[need].words : "; nvidia-smi -q has its recovery action";
}
