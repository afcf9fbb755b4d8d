/* Address spaces, uniform loads (ldu), scoped atomics and prefetches. */
#include "thread.h"

bool __superstep_nvvm_isspacep_global(const void *address) { return __superstep_is_global(address); }
bool __superstep_nvvm_isspacep_shared(const void *address) { return __superstep_is_shared(address); }
bool __superstep_nvvm_isspacep_shared_cluster(const void *address) { return __superstep_is_shared(address); }
bool __superstep_nvvm_isspacep_local(const void *address) { return __superstep_is_local(address); }
bool __superstep_nvvm_isspacep_const(const void *address) {
  return !__superstep_is_global(address) && !__superstep_is_shared(address) && !__superstep_is_local(address);
}

#define GLOBAL __attribute__((address_space(1)))
#define LDU(name, type) \
  type __superstep_nvvm_ldu_global_##name##_p0(const type *address, uint32_t alignment) { \
    (void)alignment; \
    return *address; \
  } \
  type __superstep_nvvm_ldu_global_##name##_p1(const GLOBAL type *address, uint32_t alignment) { \
    (void)alignment; \
    return *address; \
  }
LDU(i_i8, int8_t)
LDU(i_i16, int16_t)
LDU(i_i32, int32_t)
LDU(i_i64, int64_t)
LDU(f_f32, float)
LDU(f_f64, double)
LDU(f_f16, _Float16)

/* Atomics with CTA or system scope. The host's atomics satisfy both. */
#define ATOMIC(operation, type, suffix, builtin) \
  type __superstep_nvvm_atomic_##operation##_gen_i_cta_##suffix##_p0(type *address, type value) { \
    return builtin(address, value, __ATOMIC_SEQ_CST); \
  } \
  type __superstep_nvvm_atomic_##operation##_gen_i_sys_##suffix##_p0(type *address, type value) { \
    return builtin(address, value, __ATOMIC_SEQ_CST); \
  }
#define ATOMICS(type, suffix) \
  ATOMIC(add, type, suffix, __atomic_fetch_add) \
  ATOMIC(and, type, suffix, __atomic_fetch_and) \
  ATOMIC(or, type, suffix, __atomic_fetch_or) \
  ATOMIC(xor, type, suffix, __atomic_fetch_xor) \
  ATOMIC(exch, type, suffix, __atomic_exchange_n) \
  ATOMIC(max, type, suffix, __atomic_fetch_max) \
  ATOMIC(min, type, suffix, __atomic_fetch_min)
ATOMICS(int32_t, i32)
ATOMICS(int64_t, i64)

#define ATOMIC_LOOP(scope, operation, kind, type, suffix, step) \
  type __superstep_nvvm_atomic_##operation##_gen_##kind##_##scope##_##suffix##_p0(type *address, type value) { \
    type old, replacement; \
    __atomic_load(address, &old, __ATOMIC_RELAXED); \
    do { \
      replacement = step; \
    } while (!__atomic_compare_exchange(address, &old, &replacement, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
    return old; \
  }
#define ATOMIC_LOOPS(scope) \
  ATOMIC_LOOP(scope, inc, i, uint32_t, i32, old >= value ? 0 : old + 1) \
  ATOMIC_LOOP(scope, dec, i, uint32_t, i32, old == 0 || old > value ? value : old - 1) \
  ATOMIC_LOOP(scope, add, f, float, f32, old + value) \
  ATOMIC_LOOP(scope, add, f, double, f64, old + value)
ATOMIC_LOOPS(cta)
ATOMIC_LOOPS(sys)

#define ATOMIC_CAS(scope, type, suffix) \
  type __superstep_nvvm_atomic_cas_gen_i_##scope##_##suffix##_p0(type *address, type expected, type value) { \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected; \
  }
ATOMIC_CAS(cta, int16_t, i16)
ATOMIC_CAS(cta, int32_t, i32)
ATOMIC_CAS(cta, int64_t, i64)
ATOMIC_CAS(sys, int16_t, i16)
ATOMIC_CAS(sys, int32_t, i32)
ATOMIC_CAS(sys, int64_t, i64)

#define PREFETCH(name, qualifier) \
  void __superstep_nvvm_##name(qualifier void *address) { (void)address; }
PREFETCH(prefetch_L1, )
PREFETCH(prefetch_L2, )
PREFETCH(prefetchu_L1, )
PREFETCH(prefetch_global_L1, GLOBAL)
PREFETCH(prefetch_global_L2, GLOBAL)
