// Hotspot 2D from the suite `thesis` on a grid that is cut between two CTA rows, with each part on its own device: data
// that CTAs at the cut load from the other part crosses devices. If there are fewer devices, the parts share one.
//
// Ways to exchange data between the parts, separated by commas:
//   peer       kernels load the other device's rows from its memory
//   copies     the host copies the rows at the cut to the other device after each launch
//   managed    both devices use the same managed memory
//   processes  like `peer`, with a process for each part and memory shared through CUDA's IPC handles; must come first,
//              since a process that has called CUDA cannot fork
//
// Arguments: ways parts rows columns launches pyramid. Each launch advances `pyramid` time steps.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

// Products and sums are rounded separately, so that host and device compute the same numbers.
#pragma clang fp contract(off)

#define CHECK(holds, ...)                                                                                                        \
    do {                                                                                                                         \
        if (!(holds)) {                                                                                                          \
            std::fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #holds);                                                     \
            std::fprintf(stderr, __VA_ARGS__);                                                                                   \
            std::fprintf(stderr, "\n");                                                                                          \
            std::exit(2);                                                                                                        \
        }                                                                                                                        \
    } while (0)
#define CUDA(call)                                                                                                               \
    do {                                                                                                                         \
        const cudaError_t error = (call);                                                                                        \
        CHECK(error == cudaSuccess, "%s: %s", #call, cudaGetErrorString(error));                                                 \
    } while (0)

namespace {

constexpr int kTile = 16;

__host__ __device__ inline float advance(float centre, float north, float south, float west, float east, float power) {
    return centre + 0.10f * (north + south - 2.0f * centre) + 0.15f * (west + east - 2.0f * centre) + 0.50f * power +
           0.05f * (300.0f - centre);
}

// Rows above `cut` are read from `upper`, the others from `lower`. `first` is the index of the part's first CTA row.
__global__ void hotspot(const float *upper, const float *lower, int cut, const float *power, float *result, int rows, int columns,
                        int steps, int first) {
    __shared__ float current[kTile][kTile];
    __shared__ float following[kTile][kTile];
    __shared__ float heat[kTile][kTile];
    const int tx = threadIdx.x, ty = threadIdx.y, useful = kTile - 2 * steps;
    const int column = useful * static_cast<int>(blockIdx.x) - steps + tx;
    const int row = useful * (first + static_cast<int>(blockIdx.y)) - steps + ty;
    const bool onGrid = row >= 0 && row < rows && column >= 0 && column < columns;
    const int cell = row * columns + column;
    if (onGrid) {
        current[ty][tx] = (row < cut ? upper : lower)[cell];
        heat[ty][tx] = power[cell];
    }
    __syncthreads();
    // At the border of the grid, a cell stands in for its missing neighbour, so no heat flows out.
    const int north = row > 0 ? ty - 1 : ty, south = row < rows - 1 ? ty + 1 : ty;
    const int west = column > 0 ? tx - 1 : tx, east = column < columns - 1 ? tx + 1 : tx;
    bool done = false;
    for (int step = 1; step <= steps; ++step) {
        done = onGrid && tx >= step && tx < kTile - step && ty >= step && ty < kTile - step;
        if (done)
            following[ty][tx] = advance(current[ty][tx], current[north][tx], current[south][tx], current[ty][west],
                                        current[ty][east], heat[ty][tx]);
        __syncthreads();
        if (done) current[ty][tx] = following[ty][tx];
        __syncthreads();
    }
    if (done) result[cell] = current[ty][tx];
}

struct Grid {
    int parts, rows, columns, launches, pyramid;

    int useful() const { return kTile - 2 * pyramid; }
    int ctas(int cells) const { return (cells + useful() - 1) / useful(); }
    size_t cells() const { return static_cast<size_t>(rows) * columns; }
    // Index of a part's first CTA row; the grid is cut as in the analysis.
    int firstCta(int part) const { return (part * ctas(rows) + parts - 1) / parts; }
    int firstRow(int part) const { return part < parts ? firstCta(part) * useful() : rows; }
    // Bytes that the CTAs on both sides of the cut load from the other part in a launch.
    long crossing() const {
        long width = 0;
        for (int cta = 0; cta < ctas(columns); ++cta) {
            const int begin = useful() * cta - pyramid, end = begin + kTile;
            width += (end < columns ? end : columns) - (begin > 0 ? begin : 0);
        }
        return parts == 1 ? 0 : 2L * pyramid * width * static_cast<long>(sizeof(float));
    }
};

// State of a device: two arrays of temperatures in one allocation, in which it computes its own rows. No default stream
// is used, so a trace is the same on one device as on two.
struct Part {
    int device;
    cudaStream_t stream;
    cudaEvent_t done;
    float *temperature, *power;
};

int deviceOf(int part) {
    int devices = 0;
    CUDA(cudaGetDeviceCount(&devices));
    return part % devices;
}

// Copies go through the host if a device cannot access the other's memory.
void allowPeer(int from, int to, bool needed) {
    if (from == to) return;
    int can = 0;
    CUDA(cudaDeviceCanAccessPeer(&can, from, to));
    CHECK(can || !needed, "device %d cannot access the memory of device %d; use `copies` instead", from, to);
    if (!can) return;
    const cudaError_t error = cudaDeviceEnablePeerAccess(to, 0);
    CHECK(error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled, "%s", cudaGetErrorString(error));
    cudaGetLastError();
}

// `shared`: memory that all parts use; if null, the part allocates its own.
Part make(const Grid &grid, int number, const std::vector<float> &temperature, const std::vector<float> &power, float *shared) {
    Part part = {deviceOf(number), nullptr, nullptr, shared, nullptr};
    const size_t bytes = grid.cells() * sizeof(float);
    CUDA(cudaSetDevice(part.device));
    CUDA(cudaStreamCreate(&part.stream));
    CUDA(cudaEventCreateWithFlags(&part.done, cudaEventDisableTiming));
    CUDA(cudaMalloc(&part.power, bytes));
    CUDA(cudaMemcpyAsync(part.power, power.data(), bytes, cudaMemcpyHostToDevice, part.stream));
    if (!shared) {
        CUDA(cudaMalloc(&part.temperature, 2 * bytes));
        CUDA(cudaMemcpyAsync(part.temperature, temperature.data(), bytes, cudaMemcpyHostToDevice, part.stream));
    }
    CUDA(cudaStreamSynchronize(part.stream));
    return part;
}

// `other`: where to read the other part's temperatures. The first launch reads the part's own array, which still holds all of them.
void launch(const Grid &grid, int number, const Part &part, const float *other, int launch) {
    const size_t from = launch % 2 * grid.cells(), to = grid.cells() - from;
    const float *own = part.temperature + from;
    other = launch == 0 ? own : other + from;
    const int first = grid.firstCta(number), cut = grid.firstRow(1);
    const dim3 ctas(grid.ctas(grid.columns), (number + 1 < grid.parts ? grid.firstCta(number + 1) : grid.ctas(grid.rows)) - first);
    CUDA(cudaSetDevice(part.device));
    hotspot<<<ctas, dim3(kTile, kTile), 0, part.stream>>>(number == 0 ? own : other, number == 0 ? other : own, cut, part.power,
                                                         part.temperature + to, grid.rows, grid.columns, grid.pyramid, first);
    CUDA(cudaGetLastError());
}

// Copies the part's rows to `result` after all launches.
void collect(const Grid &grid, int number, const Part &part, float *result) {
    const size_t first = static_cast<size_t>(grid.firstRow(number)) * grid.columns;
    const size_t end = static_cast<size_t>(grid.firstRow(number + 1)) * grid.columns;
    CUDA(cudaSetDevice(part.device));
    CUDA(cudaMemcpyAsync(result + first, part.temperature + grid.launches % 2 * grid.cells() + first, (end - first) * sizeof(float),
                         cudaMemcpyDefault, part.stream));
    CUDA(cudaStreamSynchronize(part.stream));
}

void destroy(const Part &part, bool shared) {
    CUDA(cudaSetDevice(part.device));
    CUDA(cudaStreamDestroy(part.stream));
    CUDA(cudaEventDestroy(part.done));
    CUDA(cudaFree(part.power));
    if (!shared) CUDA(cudaFree(part.temperature));
}

enum class Way { Peer, Copies, Managed };

// Returns the number of bytes that were, or may have been, transferred from device to device.
long inOneProcess(const Grid &grid, Way way, const std::vector<float> &temperature, const std::vector<float> &power, float *result) {
    float *shared = nullptr;
    if (way == Way::Managed) {
        CUDA(cudaSetDevice(0));
        CUDA(cudaMallocManaged(&shared, 2 * grid.cells() * sizeof(float)));
        std::memcpy(shared, temperature.data(), grid.cells() * sizeof(float));
    }
    std::vector<Part> parts;
    for (int number = 0; number < grid.parts; ++number) parts.push_back(make(grid, number, temperature, power, shared));
    for (const Part &part : parts) {
        CUDA(cudaSetDevice(part.device));
        if (way != Way::Managed)
            for (const Part &other : parts) allowPeer(part.device, other.device, way == Way::Peer);
    }
    const size_t halo = static_cast<size_t>(grid.pyramid) * grid.columns;
    long copied = 0;
    for (int number = 0; number < grid.launches; ++number) {
        // Waits for the other parts' reads and writes of this part in the previous launch.
        for (const Part &part : parts) {
            CUDA(cudaSetDevice(part.device));
            for (const Part &other : parts)
                if (number > 0) CUDA(cudaStreamWaitEvent(part.stream, other.done, 0));
        }
        for (int own = 0; own < grid.parts; ++own) {
            const Part &part = parts[own], &other = parts[grid.parts - 1 - own];
            launch(grid, own, part, way == Way::Copies ? part.temperature : other.temperature, number);
            if (way == Way::Copies && grid.parts > 1 && number + 1 < grid.launches) {
                const size_t cut = static_cast<size_t>(grid.firstRow(1)) * grid.columns;
                const size_t first = (number + 1) % 2 * grid.cells() + cut - (own == 0 ? halo : 0);
                CUDA(cudaMemcpyPeerAsync(other.temperature + first, other.device, part.temperature + first, part.device,
                                         halo * sizeof(float), part.stream));
                copied += static_cast<long>(halo * sizeof(float));
            }
            CUDA(cudaEventRecord(part.done, part.stream));
        }
    }
    for (int number = 0; number < grid.parts; ++number) collect(grid, number, parts[number], result);
    for (const Part &part : parts) destroy(part, shared != nullptr);
    if (shared) CUDA(cudaFree(shared));
    return way == Way::Copies ? copied : (grid.launches - 1) * grid.crossing();
}

// Exchanges values with the other process; neither process continues before both have arrived.
template <typename Message> Message exchange(const int pipes[2], const Message &own) {
    Message other;
    CHECK(write(pipes[1], &own, sizeof own) == sizeof own, "the other process is gone");
    CHECK(read(pipes[0], &other, sizeof other) == sizeof other, "the other process is gone");
    return other;
}

long inTwoProcesses(const Grid &grid, const std::vector<float> &temperature, const std::vector<float> &power, float *result) {
    CHECK(grid.parts == 2, "`processes` needs two parts");
    int down[2], up[2];
    CHECK(pipe(down) == 0 && pipe(up) == 0, "failed to create the pipes");
    const pid_t child = fork();
    CHECK(child >= 0, "failed to create the second process");
    const int number = child == 0 ? 1 : 0;
    const int pipes[2] = {number == 0 ? up[0] : down[0], number == 0 ? down[1] : up[1]};
    for (const int end : {up[0], up[1], down[0], down[1]})
        if (end != pipes[0] && end != pipes[1]) close(end);
    const Part part = make(grid, number, temperature, power, nullptr);
    cudaIpcMemHandle_t own;
    float *other = nullptr;
    CUDA(cudaIpcGetMemHandle(&own, part.temperature));
    CUDA(cudaIpcOpenMemHandle(reinterpret_cast<void **>(&other), exchange(pipes, own), cudaIpcMemLazyEnablePeerAccess));
    for (int index = 0; index < grid.launches; ++index) {
        launch(grid, number, part, other, index);
        CUDA(cudaStreamSynchronize(part.stream));
        exchange(pipes, 'd');
    }
    collect(grid, number, part, result);
    CUDA(cudaIpcCloseMemHandle(other));
    exchange(pipes, 'c');
    destroy(part, false);
    if (number == 1) std::exit(0);
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the second process failed with status %d", status);
    return (grid.launches - 1) * grid.crossing();
}

std::vector<float> reference(const Grid &grid, std::vector<float> temperature, const std::vector<float> &power) {
    const int rows = grid.rows, columns = grid.columns;
    std::vector<float> next(temperature.size());
    for (int step = 0; step < grid.launches * grid.pyramid; ++step) {
        for (int row = 0; row < rows; ++row) {
            const size_t here = static_cast<size_t>(row) * columns;
            const size_t north = row > 0 ? here - columns : here, south = row < rows - 1 ? here + columns : here;
            for (int column = 0; column < columns; ++column) {
                const int west = column > 0 ? column - 1 : column, east = column < columns - 1 ? column + 1 : column;
                next[here + column] =
                    advance(temperature[here + column], temperature[north + column], temperature[south + column],
                            temperature[here + west], temperature[here + east], power[here + column]);
            }
        }
        temperature.swap(next);
    }
    return temperature;
}

int number(const char *text, const char *name, long low, long high) {
    char *end = nullptr;
    const long value = std::strtol(text, &end, 10);
    CHECK(end != text && *end == '\0' && value >= low && value <= high, "%s: expected a number from %ld to %ld", name, low, high);
    return static_cast<int>(value);
}

// Returns a number between `low` and `high`, generated by SplitMix64, which yields the same sequence on every machine.
float random(uint64_t &state, float low, float high) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return low + (high - low) * (static_cast<float>((mixed ^ (mixed >> 31)) >> 40) * (1.0f / 16777216.0f));
}

uint64_t checksum(const float *values, size_t count) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(values);
    for (size_t index = 0; index < count * sizeof(float); ++index) hash = (hash ^ bytes[index]) * 0x100000001b3ULL;
    return hash;
}

} // namespace

int main(int argc, char **argv) {
    CHECK(argc == 7, "arguments: ways parts rows columns launches pyramid");
    Grid grid;
    grid.parts = number(argv[2], "parts", 1, 2);
    grid.pyramid = number(argv[6], "pyramid", 1, kTile / 2 - 1);
    grid.rows = number(argv[3], "rows", 2 * kTile, 16384);
    grid.columns = number(argv[4], "columns", kTile, 65536);
    grid.launches = number(argv[5], "launches", 1, 100000);

    uint64_t state = 1;
    std::vector<float> temperature(grid.cells()), power(grid.cells());
    for (float &value : temperature) value = random(state, 320.0f, 340.0f);
    for (float &value : power) value = random(state, 0.0f, 1.0f);
    const std::vector<float> expected = reference(grid, temperature, power);
    // Both processes write the result.
    const size_t bytes = grid.cells() * sizeof(float);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "failed to map memory for the result");
    float *result = static_cast<float *>(memory);

    bool passed = true;
    const std::string ways = std::string(argv[1]) + ',';
    for (size_t begin = 0, end; (end = ways.find(',', begin)) != std::string::npos; begin = end + 1) {
        const std::string way = ways.substr(begin, end - begin);
        long moved = 0;
        std::memset(result, 0, bytes);
        if (way == "peer") moved = inOneProcess(grid, Way::Peer, temperature, power, result);
        else if (way == "copies") moved = inOneProcess(grid, Way::Copies, temperature, power, result);
        else if (way == "managed") moved = inOneProcess(grid, Way::Managed, temperature, power, result);
        else CHECK(way == "processes" && begin == 0, "%s: expected peer, copies, managed or processes (only in first place)", way.c_str());
        if (way == "processes") moved = inTwoProcesses(grid, temperature, power, result);
        const bool right = std::memcmp(result, expected.data(), bytes) == 0;
        passed &= right;
        std::printf("%s: %ld bytes from part to part, checksum %016llx, %s\n", way.c_str(), moved,
                    static_cast<unsigned long long>(checksum(result, grid.cells())), right ? "right" : "wrong");
    }
    std::printf(passed ? "PASSED\n" : "FAILED\n");
    return passed ? 0 : 1;
}
