// Memory, warps, barriers and special registers.
#include "ptx.h"
#include <vector>

struct alignas(16) Results {
    uint32_t loads[16], atomics[24], warp[16][64], barriers[16], registers[16];
    float half_sum[2];
};

__device__ uint32_t shared_address(const void *pointer) { return (uint32_t)__cvta_generic_to_shared(pointer); }

__global__ void loads_and_stores(const uint32_t *in, uint32_t *out) {
    __shared__ uint32_t shared[64];
    uint32_t a, b, c, d;
    uint64_t wide;
    uint16_t narrow;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in));
    out[0] = a + b + c + d;
    asm volatile("ld.global.ca.L2::128B.u64 %0, [%1+8];" : "=l"(wide) : "l"(in));
    out[1] = (uint32_t)(wide >> 32);
    asm volatile("ld.s8 %0, [%1+3];" : "=r"(a) : "l"(in + 4));
    asm volatile("ld.u8 %0, [%1+3];" : "=r"(b) : "l"(in + 4));
    out[2] = a, out[3] = b;
    asm volatile("{.reg .u64 p; cvta.to.global.u64 p, %1; add.u64 p, p, 4; ld.global.u16 %0, [p];}" : "=h"(narrow) : "l"(in));
    out[6] = narrow;
    asm volatile("st.global.wt.v2.u32 [%0+16], {%1, %2};" ::"l"(out), "r"(5u), "r"(6u) : "memory");
    asm volatile("st.volatile.u8 [%0], %1;" ::"l"((char *)(out + 7) + 1), "r"(0x1234u) : "memory");
    asm volatile("st.shared.u32 [%0+4], %1;" ::"r"(shared_address(shared)), "r"(77u) : "memory");
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(shared_address(shared + 1)) : "memory");
    out[8] = a;
    asm volatile("{.reg .pred p; setp.ne.b32 p, %1, 0; @p st.global.u32 [%0], 1; @!p st.global.u32 [%0], 2;}" ::"l"(out + 9), "r"(out[0] - out[0]) : "memory");
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(out + 10), "r"(10u) : "memory");
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(out[11]) : "l"(out + 10) : "memory");
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(out[12]) : "l"(out + 10) : "memory");
    uint64_t generic;
    asm volatile("{.reg .u64 s; cvt.u64.u32 s, %1; cvta.shared.u64 %0, s;}" : "=l"(generic) : "r"(shared_address(shared + 1)));
    out[13] = *(uint32_t *)generic;
    asm volatile("{.reg .pred p, q; .reg .u32 t; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; isspacep.global q, %2; selp.u32 t, 2, 0, q; or.b32 %0, %0, t;}"
                 : "=r"(out[14]) : "l"(generic), "l"(out));
    asm volatile("prefetch.global.L2 [%0]; fence.acq_rel.gpu; membar.cta;" ::"l"(out) : "memory");
}

__global__ void atomics(uint32_t *words, float *halves, uint32_t *out) {
    const uint32_t t = threadIdx.x;
    uint32_t old;
    uint64_t *longs = (uint64_t *)(words + 16);
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(words), "r"(t) : "memory");
    asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(words + 1), "r"(t - 20) : "memory");
    asm volatile("red.min.u32 [%0], %1;" ::"l"(words + 2), "r"(t + 3) : "memory");
    asm volatile("red.or.b32 [%0], %1;" ::"l"(words + 3), "r"(1u << t) : "memory");
    asm volatile("red.xor.b32 [%0], %1;" ::"l"(words + 4), "r"(t * 2654435761u) : "memory");
    asm volatile("red.and.b32 [%0], %1;" ::"l"(words + 5), "r"(~(1u << t % 8)) : "memory");
    asm volatile("atom.global.inc.u32 %0, [%1], 6;" : "=r"(old) : "l"(words + 6) : "memory");
    asm volatile("atom.global.dec.u32 %0, [%1], 6;" : "=r"(old) : "l"(words + 7) : "memory");
    asm volatile("atom.add.f32 %0, [%1], %2;" : "=f"(*(float *)&old) : "l"(words + 8), "f"(0.5f) : "memory");
    asm volatile("red.add.noftz.f16x2 [%0], %1;" ::"l"(halves), "r"(0x40003c00) : "memory");
    asm volatile("red.add.noftz.bf16x2 [%0], %1;" ::"l"(halves + 1), "r"(0x40003f80) : "memory");
    asm volatile("red.add.u64 [%0], %1;" ::"l"(longs), "l"(1ull << 33) : "memory");
    asm volatile("red.add.f64 [%0], %1;" ::"l"(longs + 1), "d"(0.25) : "memory");
    if (t == 7) {
        asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(words + 9), "r"(5u), "r"(50u) : "memory");
        asm volatile("atom.exch.b64 %0, [%1], %2;" : "=l"(*(uint64_t *)(out + 2)) : "l"(longs + 2), "l"(99ull) : "memory");
        out[0] = old;
    }
    __shared__ uint32_t sum;
    if (t == 0) sum = 0;
    __syncthreads();
    asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(shared_address(&sum)), "r"(t) : "memory");
    asm volatile("bar.sync 0;" ::: "memory");
    if (t == 0) out[1] = sum;
}

__global__ void warps(uint32_t (*out)[64]) {
    const uint32_t t = threadIdx.x, full = 0xffffffff;
    int row = 0;
    uint32_t r, p;
#define SHUFFLE(mode, lane, clamp)                                                                                                   \
    asm volatile("{.reg .pred q; shfl.sync." mode ".b32 %0|q, %2, " lane ", " clamp ", %3; selp.u32 %1, 1, 0, q;}"                   \
                 : "=r"(r), "=r"(p) : "r"(t * 3), "r"(full));                                                                        \
    out[row++][t] = r << 1 | p;
    SHUFFLE("idx", "5", "31")
    SHUFFLE("up", "1", "0")
    SHUFFLE("down", "2", "31")
    SHUFFLE("bfly", "3", "31")
    SHUFFLE("idx", "9", "0x181f")
    asm volatile("{.reg .pred q; setp.gt.u32 q, %1, 9; vote.sync.ballot.b32 %0, q, %2;}" : "=r"(r) : "r"(t % 32), "r"(full));
    out[row++][t] = r;
    asm volatile("{.reg .pred q, s; setp.gt.u32 q, %1, 9; vote.sync.any.pred s, !q, %2; selp.u32 %0, 1, 0, s;}" : "=r"(r) : "r"(t % 32), "r"(full));
    out[row++][t] = r;
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(t % 4), "r"(full));
    out[row++][t] = r;
    asm volatile("{.reg .pred q; match.all.sync.b64 %0|q, %1, %2; @!q mov.u32 %0, 7;}" : "=r"(r) : "l"((uint64_t)t), "r"(full));
    out[row++][t] = r;
    asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(r) : "r"(t), "r"(full));
    out[row++][t] = r;
    asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(r) : "r"(t - 40), "r"(full));
    out[row++][t] = r;
    asm volatile("{.reg .pred q; elect.sync _|q, %1; selp.u32 %0, 1, 0, q;}" : "=r"(r) : "r"(full));
    out[row++][t] = r;
    asm volatile("{.reg .pred q, s; setp.eq.u32 q, %1, 3; barrier.cta.red.popc.u32 %0, 0, q;}" : "=r"(r) : "r"(t % 8));
    out[row++][t] = r;
    asm volatile("bar.warp.sync %0;" ::"r"(full));
    asm volatile("{.reg .pred q, s; setp.ne.u32 q, %1, 99; bar.red.and.pred s, 1, 64, q; selp.u32 %0, 1, 0, s;}" : "=r"(r) : "r"(t));
    out[row++][t] = r;
}

__global__ void barriers(const uint32_t *in, uint32_t *out) {
    __shared__ __align__(16) uint32_t buffer[64];
    __shared__ uint64_t barrier;
    const uint32_t t = threadIdx.x, b = shared_address(&barrier);
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(32u) : "memory");
    __syncthreads();
    uint32_t waited = 0;
    for (uint32_t phase = 0; phase < 3; phase++) {
        // Half of the threads produce; the others wait.
        if (t < 32) {
            uint64_t token;
            buffer[t] = 100 * phase + t;
            asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(b) : "memory");
        } else {
            asm volatile("{.reg .pred p; W%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra D%=; bra W%=; D%=: }" ::"r"(b), "r"(phase & 1) : "memory");
            waited += buffer[t - 32];
        }
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    waited = t < 32 ? 0 : waited;
    atomicAdd(out, waited);
    // Copies 16 bytes for each of four threads; the last one reads only 4.
    buffer[t] = 1;
    __syncthreads();
    if (t < 4) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(buffer + 4 * t)), "l"(in + 4 * t), "r"(t == 3 ? 4u : 16u) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    atomicAdd(out + 1, buffer[t]);
}

__global__ void registers(uint32_t *out) {
    uint32_t r;
    uint64_t wide, later;
#define READ(index, name)                            \
    asm volatile("mov.u32 %0, %%" name ";" : "=r"(r)); \
    if (threadIdx.x == 37 && blockIdx.x == 1) out[index] = r;
    READ(14, "nwarpid")
    READ(0, "laneid")
    READ(1, "warpid")
    READ(2, "tid.x")
    READ(3, "ctaid.x")
    READ(4, "ntid.x")
    READ(5, "nctaid.x")
    READ(6, "lanemask_lt")
    READ(7, "lanemask_ge")
    READ(8, "dynamic_smem_size")
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(wide));
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(later));
    if (threadIdx.x == 37 && blockIdx.x == 1) out[9] = later >= wide;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(wide));
    if (threadIdx.x == 37 && blockIdx.x == 1) out[10] = wide > 0;
    asm volatile("mov.u32 %0, WARP_SZ;" : "=r"(r));
    if (threadIdx.x == 37 && blockIdx.x == 1) out[12] = r;
    asm volatile("{.reg .pred p; mov.u32 %0, %%globaltimer_hi; setp.ne.u32 p, %0, 0; selp.u32 %0, 1, 0, p;}" : "=r"(r));
    if (threadIdx.x == 37 && blockIdx.x == 1) out[13] = r;
    if (threadIdx.x == 40) asm volatile("exit;");
    if (threadIdx.x == 40 && blockIdx.x == 1) out[11] = 1;
}

static bool expect(const char *what, uint32_t found, uint32_t expected) {
    if (found != expected) printf("%s: %u, expected %u\n", what, found, expected);
    return found == expected;
}

bool machine() {
    Results *device, host;
    uint32_t *in, input[16] = {1, 2, 3, 4, 0x81234567, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    bool good = true;
    cudaMalloc(&in, sizeof input);
    cudaMemcpy(in, input, sizeof input, cudaMemcpyHostToDevice);
    cudaMalloc(&device, sizeof *device);
    memset(&host, 0, sizeof host);
    host.atomics[2] = 1000, host.atomics[5] = 0xffff, host.atomics[7] = 3, host.atomics[9] = 5, host.atomics[20] = 11;
    cudaMemcpy(device, &host, sizeof host, cudaMemcpyHostToDevice);
    loads_and_stores<<<1, 1>>>(in, device->loads);
    atomics<<<1, 32>>>(device->atomics, device->half_sum, device->barriers + 8);
    warps<<<1, 64>>>(device->warp);
    barriers<<<1, 64>>>(in, device->barriers);
    registers<<<2, 64, 128>>>(device->registers);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    printf("machine: %s\n", cudaGetErrorString(cudaGetLastError()));

    const uint32_t loads[15] = {10, 4, 0xffffff81, 0x81, 5, 6, 2, 0x3400, 77, 2, 10, 10, 10, 77, 3};
    for (int i = 0; i < 15; i++) good &= expect("loads", host.loads[i], loads[i]);
    uint32_t exclusive = 0;
    for (uint32_t t = 0; t < 32; t++) exclusive ^= t * 2654435761u;
    const uint32_t sums[10] = {496, 11, 3, 0xffffffff, exclusive, 0xff00, 4, 6, bits<uint32_t>(16.0f), 50};
    for (int i = 0; i < 10; i++) good &= expect("atomics", host.atomics[i], sums[i]);
    good &= expect("atom.u64", host.atomics[17], 64) && expect("atom.f64", host.atomics[19], 0x40200000) && expect("exch", host.atomics[20], 99);
    good &= expect("f16x2", bits<uint32_t>(host.half_sum[0]), 0x54005000) && expect("bf16x2", bits<uint32_t>(host.half_sum[1]), 0x42804200);
    good &= expect("cas", host.barriers[8], 5) && expect("shared sum", host.barriers[9], 496) && expect("exch", host.barriers[10], 11);
    for (uint32_t t = 0; t < 64; t++) {
        const uint32_t lane = t % 32, base = t - lane;
        const uint32_t rows[] = {
            (base + 5) * 6 + 1, (lane ? (t - 1) * 6 + 1 : t * 6), (lane < 30 ? (t + 2) * 6 + 1 : t * 6), (t ^ 3) * 6 + 1,
            (t - t % 8 + 1) * 6 + 1, 0xfffffc00, 1, 0x11111111u << t % 4, 7, (base * 32 + 496), base - 40, lane == 0, 8, 1};
        for (int row = 0; row < 14; row++) {
            // match.all: the lanes' values differ, so row 8 is 7
            good &= expect("warp", host.warp[row][t], rows[row]);
        }
    }
    good &= expect("mbarrier", host.barriers[0], 32 * 300 + 3 * 496) && expect("cp.async", host.barriers[1], 0x81234567 + 1 + 2 + 3 + 4 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 48);
    host.registers[1] = host.registers[1] < host.registers[14];
    const uint32_t read[14] = {5, 1, 37, 1, 64, 2, 31, 0xffffffe0, 128, 1, 1, 0, 32, 1};
    for (int i = 0; i < 14; i++) good &= expect("register", host.registers[i], read[i]);
    cudaFree(in);
    cudaFree(device);
    return good;
}
