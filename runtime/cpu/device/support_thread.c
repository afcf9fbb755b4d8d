/* Special registers: the thread's coordinates, and clocks. */
#define _POSIX_C_SOURCE 199309L /* clock_gettime under -std=c17 */
#include "thread.h"

#include <time.h>

__attribute__((weak)) _Thread_local struct SuperstepThread __superstep_thread;

__attribute__((weak)) struct SuperstepThread *__superstep_thread_block(void) { return &__superstep_thread; }

#define SREG(name, type, value) \
  type __superstep_nvvm_read_ptx_sreg_##name(void) { return value; }

SREG(tid_x, uint32_t, __superstep_thread.tid[0])
SREG(tid_y, uint32_t, __superstep_thread.tid[1])
SREG(tid_z, uint32_t, __superstep_thread.tid[2])
SREG(tid_w, uint32_t, 0)
SREG(ntid_x, uint32_t, __superstep_thread.ntid[0])
SREG(ntid_y, uint32_t, __superstep_thread.ntid[1])
SREG(ntid_z, uint32_t, __superstep_thread.ntid[2])
SREG(ntid_w, uint32_t, 1)
SREG(ctaid_x, uint32_t, __superstep_thread.ctaid[0])
SREG(ctaid_y, uint32_t, __superstep_thread.ctaid[1])
SREG(ctaid_z, uint32_t, __superstep_thread.ctaid[2])
SREG(ctaid_w, uint32_t, 0)
SREG(nctaid_x, uint32_t, __superstep_thread.nctaid[0])
SREG(nctaid_y, uint32_t, __superstep_thread.nctaid[1])
SREG(nctaid_z, uint32_t, __superstep_thread.nctaid[2])
SREG(nctaid_w, uint32_t, 1)
SREG(laneid, uint32_t, __superstep_thread.lane)
SREG(warpsize, uint32_t, 32)
SREG(warpid, uint32_t, __superstep_thread.warp)
SREG(nwarpid, uint32_t,
     (__superstep_thread.ntid[0] * __superstep_thread.ntid[1] * __superstep_thread.ntid[2] + 31) / 32)
SREG(smid, uint32_t, __superstep_thread.sm)
SREG(nsmid, uint32_t, __superstep_worker_count())
SREG(gridid, uint32_t, (uint32_t)__superstep_grid_id())
/* cooperative_groups reads the address of the grid's barrier from these registers. */
SREG(envreg1, uint32_t, (uint32_t)(__superstep_grid_workspace() >> 32))
SREG(envreg2, uint32_t, (uint32_t)__superstep_grid_workspace())
SREG(lanemask_eq, uint32_t, 1u << __superstep_thread.lane)
SREG(lanemask_lt, uint32_t, (1u << __superstep_thread.lane) - 1)
SREG(lanemask_le, uint32_t, (1u << __superstep_thread.lane) | ((1u << __superstep_thread.lane) - 1))
SREG(lanemask_gt, uint32_t, ~((1u << __superstep_thread.lane) | ((1u << __superstep_thread.lane) - 1)))
SREG(lanemask_ge, uint32_t, ~((1u << __superstep_thread.lane) - 1))
SREG(dynamic_smem_size, uint32_t, (uint32_t)__superstep_thread.dynamic_shared_bytes)
SREG(total_smem_size, uint32_t, (uint32_t)__superstep_shared_bytes())
SREG(aggr_smem_size, uint32_t, (uint32_t)__superstep_shared_bytes())

/* Each CTA is its own cluster. */
SREG(clusterid_x, uint32_t, __superstep_thread.ctaid[0])
SREG(clusterid_y, uint32_t, __superstep_thread.ctaid[1])
SREG(clusterid_z, uint32_t, __superstep_thread.ctaid[2])
SREG(clusterid_w, uint32_t, 0)
SREG(nclusterid_x, uint32_t, __superstep_thread.nctaid[0])
SREG(nclusterid_y, uint32_t, __superstep_thread.nctaid[1])
SREG(nclusterid_z, uint32_t, __superstep_thread.nctaid[2])
SREG(nclusterid_w, uint32_t, 1)
SREG(cluster_ctaid_x, uint32_t, 0)
SREG(cluster_ctaid_y, uint32_t, 0)
SREG(cluster_ctaid_z, uint32_t, 0)
SREG(cluster_ctaid_w, uint32_t, 0)
SREG(cluster_nctaid_x, uint32_t, 1)
SREG(cluster_nctaid_y, uint32_t, 1)
SREG(cluster_nctaid_z, uint32_t, 1)
SREG(cluster_nctaid_w, uint32_t, 1)
SREG(cluster_ctarank, uint32_t, 0)
SREG(cluster_nctarank, uint32_t, 1)
bool __superstep_nvvm_is_explicit_cluster(void) { return false; }
void *__superstep_nvvm_mapa(void *address, uint32_t rank) {
  (void)rank;
  return address;
}
uint32_t __superstep_nvvm_getctarank(void *address) {
  (void)address;
  return 0;
}

static uint64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

SREG(clock, uint32_t, (uint32_t)__builtin_ia32_rdtsc())
SREG(clock64, uint64_t, __builtin_ia32_rdtsc())
SREG(globaltimer, uint64_t, nanoseconds())
SREG(globaltimer_lo, uint32_t, (uint32_t)nanoseconds())
SREG(pm0, uint32_t, 0)
SREG(pm1, uint32_t, 0)
SREG(pm2, uint32_t, 0)
SREG(pm3, uint32_t, 0)
