#include "daemon/slot/xid.h"
#include <stddef.h>

static const struct xid {
	unsigned number;
	bool loss;
	const char *words;
} xids[] = {
	{8, false, "a program's work did not end in time"},
	{13, false, "a fault in a program's kernel"},
	{31, false, "a program used memory that is not its own"},
	{43, false, "a program's work was stopped after a fault of it"},
	{45, false, "a program's work was removed, mostly after another error"},
	{46, true, "the GPU stopped working"},
	{48, false, "an uncorrectable memory error"},
	{62, true, "the GPU's own controller halted"},
	{63, false, "a damaged part of the memory will not be used after the next reset"},
	{64, true, "a damaged part of the memory could not be put out of use"},
	{69, false, "a fault in a program's kernel"},
	{74, false, "an error on NVLink"},
	{79, true, "the GPU fell off the bus"},
	{92, false, "many corrected memory errors"},
	{94, false, "a memory error that ended the programs that met it"},
	{95, true, "a memory error that may have reached any program"},
	{109, false, "a change between programs did not end in time"},
	{119, true, "the GPU's system processor does not answer"},
	{120, true, "the GPU's system processor failed"},
	{140, true, "a memory error that could not be recovered from"},
	{143, true, "the GPU could not be started"},
	{154, false, "the driver says anew what the GPU needs"},
};

static const struct xid *find_xid(unsigned number)
{
	for (size_t i = 0; i < sizeof xids / sizeof xids[0]; i++)
		if (xids[i].number == number)
			return &xids[i];
	return NULL;
}

bool sw_xid_is_loss(unsigned xid)
{
	const struct xid *x = find_xid(xid);

	return x != NULL && x->loss;
}

const char *sw_xid_words(unsigned xid)
{
	const struct xid *x = find_xid(xid);

	return x != NULL ? x->words : "NVIDIA's catalogue of XID errors says what it means";
}
