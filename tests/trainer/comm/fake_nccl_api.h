/* tests/trainer/comm/fake_nccl_api.h — the part of nccl.h that the stand-in has, as NCCL 2.14
 * declares it. */
#ifndef SW_TESTS_WORKER_COMM_FAKE_NCCL_API_H
#define SW_TESTS_WORKER_COMM_FAKE_NCCL_API_H

#include <cuda_runtime.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))

enum { SUCCESS, CUDA_ERROR, INTERNAL = 3, INVALID_USAGE = 5, IN_PROGRESS = 7 };

struct id {
	char bytes[128];
};

struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

struct comm;

API int ncclGetVersion(int *version);
API int ncclGetUniqueId(struct id *id);
API int ncclCommInitRankConfig(struct comm **out, int world, struct id id, int rank,
			       const struct config *config);
API int ncclCommGetAsyncError(struct comm *c, int *state);
API int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct comm *c,
		      cudaStream_t stream);
API int ncclGroupStart(void);
API int ncclSend(const void *from, size_t n, int type, int peer, struct comm *c,
		 cudaStream_t stream);
API int ncclRecv(void *to, size_t n, int type, int peer, struct comm *c, cudaStream_t stream);
API int ncclGroupEnd(void);
API int ncclCommFinalize(struct comm *c);
API int ncclCommDestroy(struct comm *c);
API int ncclCommAbort(struct comm *c);
API const char *ncclGetErrorString(int result);
API const char *ncclGetLastError(struct comm *c);

#endif
