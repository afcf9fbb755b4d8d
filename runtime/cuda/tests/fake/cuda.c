/* Just enough of libcuda for closed.c. The kernels do nothing; a null kernel takes no time, all others two milliseconds. */
#include <stddef.h>
#include <string.h>
#include <time.h>

struct kernel { char name[32]; };

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **arguments, void **extra) {
  if (function) nanosleep(&(struct timespec){0, 2000000}, 0);
  return bx > 1024;
}
int cuLaunchKernel_ptsz(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **arguments, void **extra) {
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}
int cuGraphLaunch(void *instance, void *stream) { return 0; }
int cuLibraryGetKernel(void **handle, void *library, const char *name) {
  static struct kernel kernels[4];
  static int used;
  strcpy(kernels[used].name, name);
  return *handle = &kernels[used++], 0;
}
int cuFuncGetName(const char **name, void *function) { return *name = ((struct kernel *)function)->name, 0; }
/* All other processes share one 4096-byte block of memory; a handle refers to the part from its offset on. */
char other_process[4096];
int cuMemGetAddressRange_v2(unsigned long long *start, size_t *bytes, unsigned long long address) {
  return *start = (unsigned long long)other_process, *bytes = sizeof other_process, 0;
}
int cuMemImportFromShareableHandle(unsigned long long *handle, void *shareable, int kind) { return *handle = 7, 0; }
int cuMemRelease(unsigned long long handle) { return 0; }
int cuMemMap(unsigned long long address, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags) { return 0; }
int cuMemUnmap(unsigned long long address, size_t bytes) { return 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) { return memcpy((void *)to, from, bytes), 0; }
int cuMemsetD32Async(unsigned long long to, unsigned value, size_t count, void *stream) {
  for (size_t i = 0; i < count; ++i) ((unsigned *)to)[i] = value;
  return 0;
}
int cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status) {
  const int own = flags & 2;
  *function = !strcmp(symbol, "cuLaunchKernel")       ? (own ? (void *)cuLaunchKernel_ptsz : (void *)cuLaunchKernel)
              : !strcmp(symbol, "cuGraphLaunch")      ? (void *)cuGraphLaunch
              : !strcmp(symbol, "cuLibraryGetKernel") ? (void *)cuLibraryGetKernel
              : !strcmp(symbol, "cuMemcpyHtoD")       ? (void *)cuMemcpyHtoD_v2
              : !strcmp(symbol, "cuMemsetD32Async")   ? (void *)cuMemsetD32Async
              : !strcmp(symbol, "cuGetProcAddress")   ? (void *)cuGetProcAddress_v2
                                                      : 0;
  return *function ? 0 : 500;
}
