/*
 * tests/kernels/cuda_shim/dlfcn.h — stands in for the header of this name where kernels/cuda is
 * built: the one library that can be opened is the stand-in for cuBLAS (shim_blas.c).
 */
#ifndef SW_TESTS_CUDA_SHIM_DLFCN_H
#define SW_TESTS_CUDA_SHIM_DLFCN_H

#define RTLD_NOW   2
#define RTLD_LOCAL 0

#define dlopen  sw_shim_dlopen
#define dlsym   sw_shim_dlsym
#define dlerror sw_shim_dlerror
#define dlclose sw_shim_dlclose

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
const char *dlerror(void);
int dlclose(void *library);

#endif
