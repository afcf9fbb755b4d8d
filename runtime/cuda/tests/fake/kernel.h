/* A "kernel" for the stand-in for libcudart. Its address serves as its host stub. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H
#include <stdint.h>

struct fake_kernel {
  const char *name;
  int arguments;                     /* including the trailing ones; 8 bytes each */
  int (*body)(const uint64_t *args); /* runs on the stream's thread; any result other than 0 is a sticky device error;
                                        null: no image contains the kernel */
};
#endif
