/* Prelude for generated CUDA sources. All code that may access global memory calls these functions. With ORACLE, they
 * announce the access; otherwise, they contain an empty asm statement, so that Clang merges no more accesses than with
 * ORACLE. The prelude needs no CUDA headers, so Clang starts quickly. */
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define INLINE static inline __device__ __attribute__((always_inline))
#define NOINLINE static __device__ __attribute__((noinline))

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long u64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u64 u64x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));

extern "C" __device__ void oracle_access(u32 id, const void *address, u64 bytes, u32 operation);
/* May read from the address, so that no store to it is dead. */
extern "C" __device__ void escape(const void *address);
#ifdef ORACLE
#define BEFORE(operation, address, bytes) oracle_access(__LINE__, address, bytes, operation)
#else
#define BEFORE(operation, address, bytes) asm volatile("" ::: "memory")
#endif

/* Returns a pointer into an object of at least 64 bytes, at offset `n` modulo 64. */
template <class T> INLINE T *at(int *p, u64 n) { return (T *)((char *)p + (n & 63 & ~(sizeof(T) - 1))); }
template <class T> INLINE T load(T *p) {
  BEFORE(LOAD, p, sizeof(T));
  return *(volatile T *)p;
}
template <class T> INLINE void store(T *p, T value) {
  BEFORE(STORE, p, sizeof(T));
  *p = value;
}
template <class T> INLINE u64 number(T value) { return (u64)value; }
INLINE u64 number(u32x2 v) { return v.x + 3ul * v.y; }
INLINE u64 number(u32x4 v) { return v.x ^ (u64)v.w << 7; }
INLINE u64 number(u64x2 v) { return v.x + v.y; }
INLINE u64 number(f32x4 v) { return __builtin_bit_cast(u32x4, v).z; }
INLINE u64 number(float v) { return __builtin_bit_cast(u32, v); }
INLINE u64 number(double v) { return __builtin_bit_cast(u64, v); }
template <class T> struct Convert { INLINE T from(u64 n) { return (T)n; } };
template <> struct Convert<u32x2> { INLINE u32x2 from(u64 n) { return u32x2{(u32)n, (u32)(n >> 9)}; } };
template <> struct Convert<u32x4> { INLINE u32x4 from(u64 n) { return u32x4{(u32)n, 1, (u32)(n >> 9), 2}; } };
template <> struct Convert<u64x2> { INLINE u64x2 from(u64 n) { return u64x2{n, ~n}; } };
template <> struct Convert<f32x4> { INLINE f32x4 from(u64 n) { return __builtin_bit_cast(f32x4, Convert<u32x4>::from(n)); } };
template <> struct Convert<float> { INLINE float from(u64 n) { return __builtin_bit_cast(float, (u32)n); } };
template <> struct Convert<double> { INLINE double from(u64 n) { return __builtin_bit_cast(double, n); } };

#define SCOPED(name, builtin, operation) \
  template <class T> INLINE u64 name(T *p, u64 n) { \
    BEFORE(operation, p, sizeof(T)); \
    return (u64)builtin(p, (T)n, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); \
  } \
  template <class T> INLINE u64 name##_block(T *p, u64 n) { \
    BEFORE(operation, p, sizeof(T)); \
    return (u64)builtin(p, (T)n, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_WRKGRP); \
  } \
  template <class T> INLINE u64 name##_system(T *p, u64 n) { \
    BEFORE(operation, p, sizeof(T)); \
    return (u64)builtin(p, (T)n, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM); \
  }
SCOPED(atomic_add, __scoped_atomic_fetch_add, ATOMIC_ADD)
SCOPED(atomic_sub, __scoped_atomic_fetch_sub, ATOMIC_SUB)
SCOPED(atomic_exch, __scoped_atomic_exchange_n, ATOMIC_EXCH)
SCOPED(atomic_min, __scoped_atomic_fetch_min, ATOMIC_MIN)
SCOPED(atomic_max, __scoped_atomic_fetch_max, ATOMIC_MAX)
SCOPED(atomic_and, __scoped_atomic_fetch_and, ATOMIC_AND)
SCOPED(atomic_or, __scoped_atomic_fetch_or, ATOMIC_OR)
SCOPED(atomic_xor, __scoped_atomic_fetch_xor, ATOMIC_XOR)
template <class T> INLINE u64 atomic_cas(T *p, u64 n) {
  T expected = (T)n;
  BEFORE(ATOMIC_CAS, p, sizeof(T));
  return __scoped_atomic_compare_exchange_n(p, &expected, (T)~n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
INLINE u64 atomic_inc(u32 *p, u64 n) {
  BEFORE(ATOMIC_INC, p, 4);
  return __nvvm_atom_inc_gen_ui(p, (u32)n);
}
INLINE u64 atomic_add_float(float *p) {
  BEFORE(ATOMIC_ADD, p, 4);
  return number(__nvvm_atom_add_gen_f(p, 1.5f));
}

/* Copies from the upper half of an object to the lower half of another. */
INLINE void copy(int *to, int *from, u64 length) {
  BEFORE(LOAD, from + 8, length);
  BEFORE(STORE, to, length);
  __builtin_memcpy(to, from + 8, length);
}
INLINE void fill(int *to, u64 byte, u64 length) {
  BEFORE(STORE, to, length);
  __builtin_memset(to, (int)byte, length);
}

struct Pair { int *first; u64 number; int *second; };
typedef int *(*Function)(int *, int *, int **, u64, int);
NOINLINE int *reveal(u64 address, u64 key) { return (int *)(address ^ key); }
template <class F> NOINLINE int *apply(F f, int *p) { return f(p); }
template <class F> INLINE int *apply_inline(F f, int *p) { return f(p); }
struct Shape {
  int *own;
  __device__ Shape(int *p) : own(p) {}
  __device__ virtual int *pick(int *p, u64 n) const = 0;
};
struct Odd : Shape {
  using Shape::Shape;
  __device__ int *pick(int *p, u64 n) const override { return n & 1 ? own : p; }
};
struct Even : Shape {
  using Shape::Shape;
  __device__ int *pick(int *p, u64 n) const override { return n & 1 ? p : own; }
};
/* A virtual call reads the object's virtual-function table, a variable in global memory. */
NOINLINE int *call_pick(const Shape *shape, int *p, u64 n) {
#ifdef ORACLE
  BEFORE(LOAD, shape, 8);
  BEFORE(LOAD, *(void *const *)shape, 8);
#endif
  return shape->pick(p, n);
}
