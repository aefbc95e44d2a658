/*
 * daemon/slot/xid.h — what the driver's numbered errors (XIDs) mean for the GPU's users, and what
 * is to be done about them.
 *
 * Pure
 * Source   NVIDIA's catalogue of XID errors, its column of immediate actions
 *          (docs.nvidia.com/deploy/xid-errors), and what each action asks for ("Error Recovery and
 *          Response Flags" of docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt).
 */
#ifndef SW_DAEMON_SLOT_XID_H
#define SW_DAEMON_SLOT_XID_H

#include <stdbool.h>

/* NVML's numbers: a driver from R565 on says by itself what a GPU needs, and tells that it has
 * changed by XID 154. */
enum sw_gpu_need {
	SW_GPU_NEED_NONE,
	SW_GPU_NEED_RESET,
	SW_GPU_NEED_REBOOT,
	SW_GPU_NEED_DRAIN_P2P,
	SW_GPU_NEED_DRAIN_AND_RESET,
	SW_GPU_NEED_IMEX,
	SW_GPU_NEED_BUS_RESET,
	SW_GPU_NEED_SYSTEM_REBOOT
};

enum sw_gpu_need sw_xid_need(unsigned xid);
/* A few words for each number. */
const char *sw_xid_words(unsigned xid);

/* Until then it does not work, whatever its readings say: its programs have to end. With other
 * needs they may go on, and no more should come. */
bool sw_gpu_need_is_loss(unsigned need);
/* What a person has to do, behind other words: "; reboot the machine"; "" for nothing. */
const char *sw_gpu_need_words(unsigned need);

#endif
