// Inline PTX: compares each instruction with a model on the host. Prints a hash of the results of each group, so that
// machines can be compared; the hash excludes instructions that the manual calls approximate.
#include "ptx.h"
#include <vector>

int failures = 0;
static std::vector<In> operands(tuples);
const In *host_operands = operands.data();
static In *device_operands;

static uint64_t state = 88172645463325252ull;
static uint64_t random_bits() {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

// A third of the words are special values.
static uint32_t word() {
    static const uint32_t special[] = {0, 1, 2, 0xffffffff, 0x80000000, 0x7fffffff, 31, 32, 33, 0x3f800000, 0xbf800000, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f000000,
                                       0x40200000, 0x3c003c00, 0x7c00fc00, 0x7e000001, 0x03ff0400, 0x80008000, 0x7bff7bff, 0x3f803f80,
                                       0x7f807fc0, 0x00010080, 0x477fe000, 0x33000000, 0x387fc000, 0x4f000000, 0xcf000000, 0x5f000000,
                                       0x43e00000, 0x43ff0000, 0x3a83126f, 0x42280000};
    const uint64_t choice = random_bits();
    if (choice % 3 == 0) return special[choice / 3 % (sizeof special / sizeof *special)];
    if (choice % 3 == 1) return (uint32_t)(choice >> 40) & 255;
    // Floating-point numbers with similar exponents.
    if (choice >> 8 & 1) return (uint32_t)(choice >> 32 & 0x807fffff) | (uint32_t)(110 + (choice >> 10) % 36) << 23;
    return (uint32_t)(choice >> 32);
}
static uint64_t long_word() {
    static const uint64_t special[] = {0, 1, ~0ull, 1ull << 63, ~0ull >> 1, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000,
                                       0x7ff8000000000000, 1ull << 53, (1ull << 53) + 1, 0xffffffff, 0x41dfffffffc00000, 0x43e0000000000000,
                                       0x47efffffe0000000, 0x47f0000000000000, 0x36a0000000000000, 0x3690000000000000};
    const uint64_t choice = random_bits(), other = random_bits();
    if (choice % 3 == 0) return special[choice / 3 % (sizeof special / sizeof *special)];
    if (choice % 3 == 1) return other >> (choice >> 8) % 64;
    return (other & 0x800fffffffffffff) | (1000 + (choice >> 10) % 60) << 52;
}

uint64_t *run(void (*kernel)(const In *, uint64_t *), int count) {
    static std::vector<uint64_t> found;
    found.assign((size_t)count * tuples, 0);
    uint64_t *out;
    cudaMalloc(&out, found.size() * sizeof(uint64_t));
    cudaMemset(out, 0, found.size() * sizeof(uint64_t));
    kernel<<<tuples / 128, 128>>>(device_operands, out);
    cudaMemcpy(found.data(), out, found.size() * sizeof(uint64_t), cudaMemcpyDeviceToHost);
    cudaFree(out);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(error));
        failures++;
    }
    return found.data();
}

int main() {
    for (In &in : operands) in = {word(), word(), word(), long_word(), long_word(), long_word()};
    cudaMalloc(&device_operands, tuples * sizeof(In));
    cudaMemcpy(device_operands, operands.data(), tuples * sizeof(In), cudaMemcpyHostToDevice);
    integers();
    floats();
    shorts();
    conversions();
    failures += !machine();
    puts(failures ? "FAILED" : "PASSED");
    return failures != 0;
}
