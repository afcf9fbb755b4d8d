// Operands of all instructions. Each list of tests is used twice: by the device, which runs the instructions, and by
// the host, which computes the expected results.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

constexpr int tuples = 1024;

struct In {
    uint32_t a, b, c;
    uint64_t x, y, z;
};

template <typename To, typename From>
__host__ __device__ inline To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// How results are compared; all NaNs of a type are equal.
enum Kind { INTEGER, SINGLE, DOUBLE, HALVES, BFLOATS, ROUGH };

struct Group {
    const char *name;
    uint64_t hash = 1469598103934665603ull;
    int instructions = 0, wrong = 0;
    void end() { printf("%-10s %3d instructions, %016llx, %d wrong\n", name, instructions, (unsigned long long)hash, wrong); }
};

inline uint64_t without_nan(Kind kind, uint64_t value) {
    if (kind == SINGLE && (value & 0x7fffffff) > 0x7f800000) return 0x7fffffff;
    if (kind == DOUBLE && (value << 1) > 0xffe0000000000000ull) return 0x7fffffffffffffffull;
    if (kind == HALVES || kind == BFLOATS) {
        const uint64_t infinity = kind == HALVES ? 0x7c00 : 0x7f80;
        for (int shift = 0; shift < 32; shift += 16)
            if ((value >> shift & 0x7fff) > infinity) value |= 0xffffull << shift;
    }
    return value;
}

inline bool same(Kind kind, uint64_t found, uint64_t expected) {
    if (kind != ROUGH) return found == expected;
    const double a = bits<float>((uint32_t)found), b = bits<float>((uint32_t)expected);
    return a == b || (a != a && b != b) || std::fabs(a - b) <= 1e-3 * std::fabs(b) + 1e-5;
}

// Compares the device's results for one instruction with the expected ones, for each tuple.
template <typename Model>
void check(Group &group, const char *name, Kind kind, const uint64_t *found, const In *in, Model model) {
    int wrong = 0;
    group.instructions++;
    for (int i = 0; i < tuples; i++) {
        const uint64_t expected = without_nan(kind, model(in[i])), actual = without_nan(kind, found[i]);
        if (kind != ROUGH) group.hash = (group.hash ^ actual) * 1099511628211ull;
        if (!same(kind, actual, expected) && wrong++ == 0)
            printf("%s(%08x, %08x, %08x; %016llx, %016llx, %016llx): %016llx, expected %016llx\n", name, in[i].a, in[i].b, in[i].c,
                   (unsigned long long)in[i].x, (unsigned long long)in[i].y, (unsigned long long)in[i].z, (unsigned long long)actual,
                   (unsigned long long)expected);
    }
    group.wrong += wrong > 0;
}

// Runs a kernel that writes `count` results per tuple, grouped by instruction.
uint64_t *run(void (*kernel)(const In *, uint64_t *), int count);
extern const In *host_operands;

void integers();
void floats();
void shorts();
void conversions();
bool machine();
extern int failures;
