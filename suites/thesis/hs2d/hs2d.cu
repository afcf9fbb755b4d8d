// Hotspot 2D: heat spreads over a chip, a five-point stencil on a grid of cells.
//
// A launch computes `pyramid` time steps. A CTA loads a tile of 16×16 cells, computes the steps in shared memory and
// stores the cells that are still valid: each step invalidates one ring of the tile, so neighbouring CTAs load
// overlapping tiles and need not communicate within a launch. In the next launch, a CTA's neighbours load cells that it
// stored; this halo is the communication.
//
// Arguments: rows columns steps pyramid

#include "../common/benchmark.h"

namespace {

constexpr int kTile = 16;

// Weights: the fractions of the temperature differences to neighbours and surroundings that a step evens out.
struct Weights {
    float vertical, horizontal, surroundings, power;
};
constexpr Weights kWeights = {0.10f, 0.15f, 0.05f, 0.50f};
constexpr float kSurroundings = 300.0f;

__host__ __device__ inline float advance(float centre, float north, float south, float west, float east, float power,
                                         const Weights &weights) {
    return centre + weights.vertical * (north + south - 2.0f * centre) +
           weights.horizontal * (west + east - 2.0f * centre) + weights.power * power +
           weights.surroundings * (kSurroundings - centre);
}

__global__ void hotspot(const float *temperature, const float *power, float *result, int rows, int columns, int steps,
                        Weights weights) {
    __shared__ float current[kTile][kTile];
    __shared__ float following[kTile][kTile];
    __shared__ float heat[kTile][kTile];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int useful = kTile - 2 * steps;
    const int column = useful * static_cast<int>(blockIdx.x) - steps + tx;
    const int row = useful * static_cast<int>(blockIdx.y) - steps + ty;
    const bool onGrid = row >= 0 && row < rows && column >= 0 && column < columns;
    const int cell = row * columns + column;

    if (onGrid) {
        current[ty][tx] = temperature[cell];
        heat[ty][tx] = power[cell];
    }
    __syncthreads();

    // At the border of the grid, a cell stands in for its missing neighbour, so no heat flows out.
    const int north = row > 0 ? ty - 1 : ty;
    const int south = row < rows - 1 ? ty + 1 : ty;
    const int west = column > 0 ? tx - 1 : tx;
    const int east = column < columns - 1 ? tx + 1 : tx;

    bool done = false;
    for (int step = 1; step <= steps; ++step) {
        done = onGrid && tx >= step && tx < kTile - step && ty >= step && ty < kTile - step;
        if (done) {
            following[ty][tx] = advance(current[ty][tx], current[north][tx], current[south][tx], current[ty][west],
                                        current[ty][east], heat[ty][tx], weights);
        }
        __syncthreads();
        if (done) {
            current[ty][tx] = following[ty][tx];
        }
        __syncthreads();
    }
    if (done) {
        result[cell] = current[ty][tx];
    }
}

std::vector<float> reference(std::vector<float> temperature, const std::vector<float> &power, int rows, int columns,
                             int steps) {
    std::vector<float> next(temperature.size());
    for (int step = 0; step < steps; ++step) {
        for (int row = 0; row < rows; ++row) {
            const size_t base = static_cast<size_t>(row) * columns;
            const size_t north = row > 0 ? base - columns : base;
            const size_t south = row < rows - 1 ? base + columns : base;
            for (int column = 0; column < columns; ++column) {
                const int west = column > 0 ? column - 1 : column;
                const int east = column < columns - 1 ? column + 1 : column;
                next[base + column] =
                    advance(temperature[base + column], temperature[north + column], temperature[south + column],
                            temperature[base + west], temperature[base + east], power[base + column], kWeights);
            }
        }
        temperature.swap(next);
    }
    return temperature;
}

} // namespace

int main(int argc, char **argv) {
    const int rows = static_cast<int>(benchmark::argument(argc, argv, 1, "rows", 1, 16384));
    const int columns = static_cast<int>(benchmark::argument(argc, argv, 2, "columns", 1, 16384));
    const int steps = static_cast<int>(benchmark::argument(argc, argv, 3, "steps", 1, 100000));
    const int pyramid = static_cast<int>(benchmark::argument(argc, argv, 4, "pyramid", 1, kTile / 2 - 1));

    benchmark::Random random(1);
    std::vector<float> temperature(static_cast<size_t>(rows) * columns);
    std::vector<float> power(temperature.size());
    for (float &value : temperature) {
        value = random.between(320.0f, 340.0f);
    }
    for (float &value : power) {
        value = random.between(0.0f, 1.0f);
    }

    benchmark::DeviceArray<float> deviceTemperature(temperature);
    benchmark::DeviceArray<float> deviceResult(temperature.size());
    benchmark::DeviceArray<float> devicePower(power);
    float *from = deviceTemperature.data();
    float *to = deviceResult.data();
    const dim3 threads(kTile, kTile);
    const int useful = kTile - 2 * pyramid;
    const dim3 ctas(benchmark::divideRoundingUp(columns, useful), benchmark::divideRoundingUp(rows, useful));
    int launches = 0;
    for (int done = 0; done < steps; done += pyramid, ++launches) {
        const int now = steps - done < pyramid ? steps - done : pyramid;
        hotspot<<<ctas, threads>>>(from, devicePower.data(), to, rows, columns, now, kWeights);
        CUDA_CHECK(cudaGetLastError());
        float *swap = from;
        from = to;
        to = swap;
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    const std::vector<float> found = (launches % 2 == 0 ? deviceTemperature : deviceResult).download();
    const bool passed =
        benchmark::equal("temperature", found, reference(temperature, power, rows, columns, steps));
    return benchmark::verdict(passed, benchmark::checksum(found));
}
