/* State of the CUDA thread that is running on this worker, for device functions.
 *
 * `struct SuperstepThread` is mirrored by `superstep_abi::cpu`; a test there checks every offset.
 * The runtime fills it in before it runs a thread, and whenever it switches between the fibers of a CTA.
 * The files in this folder are compiled to bitcode (`clang -O2 -fPIE -c -emit-llvm`) and linked into each device module. */
#ifndef SUPERSTEP_THREAD_H
#define SUPERSTEP_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct SuperstepThread {
  uint32_t tid[3], ntid[3], ctaid[3], nctaid[3]; /* threadIdx, blockDim, blockIdx, gridDim */
  uint32_t lane, warp, sm, thread;               /* sm: the worker's index; thread: linear index in the CTA */
  uint64_t *log_cursor, *log_end;                /* trace probe: two-word entries, (width << 32 | site) and address */
  uint64_t *site_counts;                         /* count probe: one counter per site, indexed by the full site ID */
  uint8_t *dynamic_shared;
  uint64_t dynamic_shared_bytes;
  uint64_t **log_starts; /* for threads that run in a loop: where each lane's entries begin */
};

extern __attribute__((weak)) _Thread_local struct SuperstepThread __superstep_thread;

/* Exported by the CPU runtime (runtime/cpu/src/device_calls/). */
void __superstep_log_full(void);
void __superstep_barrier(uint32_t id, uint32_t thread_count /* 0: all */);
void __superstep_barrier_arrive(uint32_t id, uint32_t thread_count);
/* operation 0: number of true predicates, 1: whether all are true, 2: whether any is true */
uint32_t __superstep_barrier_reduce_count(uint32_t id, uint32_t operation, uint32_t predicate, uint32_t thread_count);
/* Exchanges `value` between the lanes of `mask` that have not exited; the values of other lanes read as 0.
 * Returns the lanes that took part. */
uint32_t __superstep_warp_gather(uint32_t mask, uint64_t value, uint64_t out[32]);
/* Returns the lanes of this warp that are waiting at the same call site. */
uint32_t __superstep_active_mask_at(const void *site);
void __superstep_yield(void);
bool __superstep_is_global(const void *address);
bool __superstep_is_shared(const void *address);
bool __superstep_is_local(const void *address);
/* Returns the address in shared memory whose lower 32 bits are `low`. */
void *__superstep_shared_address(uint32_t low);
uint32_t __superstep_worker_count(void);
uint64_t __superstep_grid_id(void);
uint64_t __superstep_grid_workspace(void);
uint64_t __superstep_shared_bytes(void);
_Noreturn void __superstep_unsupported_device(const char *what);
_Noreturn void __superstep_exit_thread(void);
_Noreturn void __superstep_trap(void);

#endif
