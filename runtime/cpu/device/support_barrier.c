/* CTA barriers, fences, and calls that only affect scheduling. */
#include "thread.h"

#define BARRIER(name) \
  void __superstep_nvvm_##name(uint32_t id) { __superstep_barrier(id, 0); }
BARRIER(barrier_cta_sync_aligned_all)
BARRIER(barrier_cta_sync_all)

#define BARRIER_COUNT(name) \
  void __superstep_nvvm_##name(uint32_t id, uint32_t count) { __superstep_barrier(id, count); }
BARRIER_COUNT(barrier_cta_sync_aligned_count)
BARRIER_COUNT(barrier_cta_sync_count)

#define BARRIER_ARRIVE(name) \
  void __superstep_nvvm_##name(uint32_t id, uint32_t count) { __superstep_barrier_arrive(id, count); }
BARRIER_ARRIVE(barrier_cta_arrive_aligned_count)
BARRIER_ARRIVE(barrier_cta_arrive_count)

#define BARRIER_REDUCE(name, type, operation) \
  type __superstep_nvvm_barrier_cta_red_##name##_all(uint32_t id, bool predicate) { \
    return (type)__superstep_barrier_reduce_count(id, operation, predicate, 0); \
  } \
  type __superstep_nvvm_barrier_cta_red_##name##_count(uint32_t id, uint32_t count, bool predicate) { \
    return (type)__superstep_barrier_reduce_count(id, operation, predicate, count); \
  }
BARRIER_REDUCE(popc, uint32_t, 0)
BARRIER_REDUCE(popc_aligned, uint32_t, 0)
BARRIER_REDUCE(and, bool, 1)
BARRIER_REDUCE(and_aligned, bool, 1)
BARRIER_REDUCE(or, bool, 2)
BARRIER_REDUCE(or_aligned, bool, 2)

/* A cluster is a single CTA, so its barrier is CTA barrier 16, an id that PTX programs cannot use. */
#define CLUSTER_ARRIVE(name) \
  void __superstep_nvvm_barrier_cluster_##name(void) {}
CLUSTER_ARRIVE(arrive)
CLUSTER_ARRIVE(arrive_aligned)
CLUSTER_ARRIVE(arrive_relaxed)
CLUSTER_ARRIVE(arrive_relaxed_aligned)
void __superstep_nvvm_barrier_cluster_wait(void) { __superstep_barrier(16, 0); }
void __superstep_nvvm_barrier_cluster_wait_aligned(void) { __superstep_barrier(16, 0); }

#define FENCE(name) \
  void __superstep_nvvm_##name(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
FENCE(membar_cta)
FENCE(membar_gl)
FENCE(membar_sys)
FENCE(fence_sc_cluster)
FENCE(fence_proxy_alias)
FENCE(fence_proxy_async)
FENCE(fence_proxy_async_global)
FENCE(fence_proxy_async_shared_cta)
FENCE(fence_proxy_async_shared_cluster)

void __superstep_nvvm_nanosleep(uint32_t nanoseconds) {
  (void)nanoseconds;
  __superstep_yield(); /* a sleeping thread is waiting for another: let the other threads of the CTA run */
}
void __superstep_nvvm_pm_event_mask(uint16_t mask) { (void)mask; }
void __superstep_nvvm_griddepcontrol_wait(void) {}
void __superstep_nvvm_griddepcontrol_launch_dependents(void) {}
void __superstep_nvvm_setmaxnreg_inc_sync_aligned_u32(uint32_t registers) { (void)registers; }
void __superstep_nvvm_setmaxnreg_dec_sync_aligned_u32(uint32_t registers) { (void)registers; }
void __superstep_nvvm_exit(void) { __superstep_exit_thread(); }
