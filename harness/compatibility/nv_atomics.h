/* nvcc's built-in atomic functions (since CUDA 12.8), implemented with Clang's. They are always inlined, so that order and scope are
 * constants and each call becomes one instruction. */
#ifndef SUPERSTEP_NV_ATOMICS_H
#define SUPERSTEP_NV_ATOMICS_H

#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
#define __NV_THREAD_SCOPE_CLUSTER __MEMORY_SCOPE_CLUSTR
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM

#define SUPERSTEP_INLINE static inline __device__ __attribute__((always_inline))
#define SUPERSTEP_ORDERED int order, int scope = __NV_THREAD_SCOPE_SYSTEM

template <typename T> SUPERSTEP_INLINE T __nv_atomic_load_n(const T *from, SUPERSTEP_ORDERED) {
    return __scoped_atomic_load_n((T *)from, order, scope);
}
template <typename T> SUPERSTEP_INLINE void __nv_atomic_load(const T *from, T *to, SUPERSTEP_ORDERED) {
    __scoped_atomic_load((T *)from, to, order, scope);
}
template <typename T, typename U> SUPERSTEP_INLINE void __nv_atomic_store_n(T *to, U value, SUPERSTEP_ORDERED) {
    __scoped_atomic_store_n(to, (T)value, order, scope);
}
template <typename T> SUPERSTEP_INLINE void __nv_atomic_store(T *to, const T *from, SUPERSTEP_ORDERED) {
    __scoped_atomic_store(to, (T *)from, order, scope);
}
template <typename T, typename U> SUPERSTEP_INLINE T __nv_atomic_exchange_n(T *at, U value, SUPERSTEP_ORDERED) {
    return __scoped_atomic_exchange_n(at, (T)value, order, scope);
}
template <typename T> SUPERSTEP_INLINE void __nv_atomic_exchange(T *at, const T *from, T *to, SUPERSTEP_ORDERED) {
    __scoped_atomic_exchange(at, (T *)from, to, order, scope);
}
template <typename T, typename U>
SUPERSTEP_INLINE bool __nv_atomic_compare_exchange_n(T *at, T *expected, U desired, bool weak, int success, int failure,
                                                     int scope = __NV_THREAD_SCOPE_SYSTEM) {
    return __scoped_atomic_compare_exchange_n(at, expected, (T)desired, weak, success, failure, scope);
}
template <typename T>
SUPERSTEP_INLINE bool __nv_atomic_compare_exchange(T *at, T *expected, const T *desired, bool weak, int success, int failure,
                                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
    return __scoped_atomic_compare_exchange(at, expected, (T *)desired, weak, success, failure, scope);
}

#define SUPERSTEP_FETCH(WHAT) \
    template <typename T, typename U> SUPERSTEP_INLINE T __nv_atomic_fetch_##WHAT(T *at, U value, SUPERSTEP_ORDERED) { \
        return __scoped_atomic_fetch_##WHAT(at, (T)value, order, scope); \
    } \
    template <typename T, typename U> SUPERSTEP_INLINE void __nv_atomic_##WHAT(T *at, U value, SUPERSTEP_ORDERED) { \
        (void)__scoped_atomic_fetch_##WHAT(at, (T)value, order, scope); \
    }
SUPERSTEP_FETCH(add)
SUPERSTEP_FETCH(sub)
SUPERSTEP_FETCH(and)
SUPERSTEP_FETCH(or)
SUPERSTEP_FETCH(xor)
SUPERSTEP_FETCH(min)
SUPERSTEP_FETCH(max)
#undef SUPERSTEP_FETCH

SUPERSTEP_INLINE void __nv_atomic_thread_fence(SUPERSTEP_ORDERED) { __scoped_atomic_thread_fence(order, scope); }

#undef SUPERSTEP_ORDERED
#undef SUPERSTEP_INLINE

#endif
