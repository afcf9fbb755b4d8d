/* Scalar and vector stores with cache hints, which CUDA's headers define only for nvcc. Clang's headers define the loads and `__stwt`. */
#ifndef SUPERSTEP_CACHE_HINTS_H
#define SUPERSTEP_CACHE_HINTS_H

#define SUPERSTEP_STORE_1(HINT, TYPE, PTX, CONSTRAINT, AS) \
    static inline __device__ void __st##HINT(TYPE *to, TYPE value) { \
        asm("st.global." #HINT "." PTX " [%0], %1;" ::"l"(to), CONSTRAINT((AS)value) : "memory"); \
    }
#define SUPERSTEP_STORE_2(HINT, TYPE, PTX, CONSTRAINT, AS) \
    static inline __device__ void __st##HINT(TYPE *to, TYPE value) { \
        asm("st.global." #HINT ".v2." PTX " [%0], {%1, %2};" ::"l"(to), CONSTRAINT((AS)value.x), CONSTRAINT((AS)value.y) : "memory"); \
    }
#define SUPERSTEP_STORE_4(HINT, TYPE, PTX, CONSTRAINT, AS) \
    static inline __device__ void __st##HINT(TYPE *to, TYPE value) { \
        asm("st.global." #HINT ".v4." PTX " [%0], {%1, %2, %3, %4};" ::"l"(to), CONSTRAINT((AS)value.x), CONSTRAINT((AS)value.y), \
            CONSTRAINT((AS)value.z), CONSTRAINT((AS)value.w) : "memory"); \
    }
#define SUPERSTEP_STORES(HINT) \
    SUPERSTEP_STORE_1(HINT, char, "s8", "r", int) \
    SUPERSTEP_STORE_1(HINT, signed char, "s8", "r", int) \
    SUPERSTEP_STORE_1(HINT, unsigned char, "u8", "r", unsigned) \
    SUPERSTEP_STORE_1(HINT, short, "s16", "h", short) \
    SUPERSTEP_STORE_1(HINT, unsigned short, "u16", "h", unsigned short) \
    SUPERSTEP_STORE_1(HINT, int, "s32", "r", int) \
    SUPERSTEP_STORE_1(HINT, unsigned, "u32", "r", unsigned) \
    SUPERSTEP_STORE_1(HINT, long, "s64", "l", long) \
    SUPERSTEP_STORE_1(HINT, unsigned long, "u64", "l", unsigned long) \
    SUPERSTEP_STORE_1(HINT, long long, "s64", "l", long long) \
    SUPERSTEP_STORE_1(HINT, unsigned long long, "u64", "l", unsigned long long) \
    SUPERSTEP_STORE_1(HINT, float, "f32", "f", float) \
    SUPERSTEP_STORE_1(HINT, double, "f64", "d", double) \
    SUPERSTEP_STORE_2(HINT, char2, "s8", "r", int) \
    SUPERSTEP_STORE_2(HINT, uchar2, "u8", "r", unsigned) \
    SUPERSTEP_STORE_2(HINT, short2, "s16", "h", short) \
    SUPERSTEP_STORE_2(HINT, ushort2, "u16", "h", unsigned short) \
    SUPERSTEP_STORE_2(HINT, int2, "s32", "r", int) \
    SUPERSTEP_STORE_2(HINT, uint2, "u32", "r", unsigned) \
    SUPERSTEP_STORE_2(HINT, longlong2, "s64", "l", long long) \
    SUPERSTEP_STORE_2(HINT, ulonglong2, "u64", "l", unsigned long long) \
    SUPERSTEP_STORE_2(HINT, float2, "f32", "f", float) \
    SUPERSTEP_STORE_2(HINT, double2, "f64", "d", double) \
    SUPERSTEP_STORE_4(HINT, char4, "s8", "r", int) \
    SUPERSTEP_STORE_4(HINT, uchar4, "u8", "r", unsigned) \
    SUPERSTEP_STORE_4(HINT, short4, "s16", "h", short) \
    SUPERSTEP_STORE_4(HINT, ushort4, "u16", "h", unsigned short) \
    SUPERSTEP_STORE_4(HINT, int4, "s32", "r", int) \
    SUPERSTEP_STORE_4(HINT, uint4, "u32", "r", unsigned) \
    SUPERSTEP_STORE_4(HINT, float4, "f32", "f", float)
SUPERSTEP_STORES(wb)
SUPERSTEP_STORES(cg)
SUPERSTEP_STORES(cs)
#undef SUPERSTEP_STORES
#undef SUPERSTEP_STORE_1
#undef SUPERSTEP_STORE_2
#undef SUPERSTEP_STORE_4

#endif
