/* How a "kernel" looks to the stand-in for libcudart: the host stub's address is the address of one of these. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H
#include <stdint.h>

struct fake_kernel {
  const char *name;
  int arguments;                     /* all of them, the trailing ones included; 8 bytes each */
  int (*body)(const uint64_t *args); /* runs on the stream's thread; anything but 0 is a device error and stays;
                                        null: no image holds the kernel */
};
#endif
