// Hotspot 3D: heat spreads through a stack of chip layers, computed with a seven-point stencil.
//
// A launch advances one time step. A thread owns a column of the stack and traverses it layer by layer; the cells of
// its own column pass through registers, and those of the four neighbouring columns are loaded. CTAs load the border
// cells of the neighbouring tiles, which the previous launch stored.
//
// Arguments: columns rows layers steps

#include "../common/benchmark.h"

namespace {

constexpr int kThreadsX = 64;
constexpr int kThreadsY = 4;

struct Weights {
    float centre, north, south, west, east, above, below, power, surroundings;
};
constexpr Weights kWeights = {0.40f, 0.10f, 0.10f, 0.12f, 0.12f, 0.08f, 0.06f, 0.50f, 0.02f};
constexpr float kSurroundings = 300.0f;

__host__ __device__ inline float advance(float centre, float north, float south, float west, float east, float below,
                                         float above, float power, const Weights &weights) {
    return weights.centre * centre + weights.north * north + weights.south * south + weights.west * west +
           weights.east * east + weights.below * below + weights.above * above + weights.power * power +
           weights.surroundings * kSurroundings;
}

__global__ void hotspot3d(const float *temperature, const float *power, float *result, int columns, int rows,
                          int layers, Weights weights) {
    const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    if (column >= columns || row >= rows) {
        return;
    }
    // At the border of the stack, a cell stands in for its missing neighbour.
    const int layerCells = columns * rows;
    const int west = column > 0 ? -1 : 0;
    const int east = column < columns - 1 ? 1 : 0;
    const int north = row > 0 ? -columns : 0;
    const int south = row < rows - 1 ? columns : 0;

    int cell = row * columns + column;
    float centre = temperature[cell];
    float below = centre;
    for (int layer = 0; layer < layers; ++layer, cell += layerCells) {
        const float above = layer < layers - 1 ? temperature[cell + layerCells] : centre;
        result[cell] = advance(centre, temperature[cell + north], temperature[cell + south], temperature[cell + west],
                               temperature[cell + east], below, above, power[cell], weights);
        below = centre;
        centre = above;
    }
}

std::vector<float> reference(std::vector<float> temperature, const std::vector<float> &power, int columns, int rows,
                             int layers, int steps) {
    std::vector<float> next(temperature.size());
    const size_t layerCells = static_cast<size_t>(columns) * rows;
    for (int step = 0; step < steps; ++step) {
        for (int layer = 0; layer < layers; ++layer) {
            for (int row = 0; row < rows; ++row) {
                for (int column = 0; column < columns; ++column) {
                    const size_t cell = layer * layerCells + static_cast<size_t>(row) * columns + column;
                    const float *at = temperature.data() + cell;
                    next[cell] = advance(*at, row > 0 ? at[-columns] : *at, row < rows - 1 ? at[columns] : *at,
                                         column > 0 ? at[-1] : *at, column < columns - 1 ? at[1] : *at,
                                         layer > 0 ? *(at - layerCells) : *at,
                                         layer < layers - 1 ? *(at + layerCells) : *at, power[cell], kWeights);
                }
            }
        }
        temperature.swap(next);
    }
    return temperature;
}

} // namespace

int main(int argc, char **argv) {
    const int columns = static_cast<int>(benchmark::argument(argc, argv, 1, "columns", 1, 4096));
    const int rows = static_cast<int>(benchmark::argument(argc, argv, 2, "rows", 1, 4096));
    const int layers = static_cast<int>(benchmark::argument(argc, argv, 3, "layers", 1, 64));
    const int steps = static_cast<int>(benchmark::argument(argc, argv, 4, "steps", 1, 100000));

    benchmark::Random random(2);
    std::vector<float> temperature(static_cast<size_t>(columns) * rows * layers);
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
    const dim3 threads(kThreadsX, kThreadsY);
    const dim3 ctas(benchmark::divideRoundingUp(columns, kThreadsX), benchmark::divideRoundingUp(rows, kThreadsY));
    for (int step = 0; step < steps; ++step) {
        hotspot3d<<<ctas, threads>>>(from, devicePower.data(), to, columns, rows, layers, kWeights);
        CUDA_CHECK(cudaGetLastError());
        float *swap = from;
        from = to;
        to = swap;
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    const std::vector<float> found = (steps % 2 == 0 ? deviceTemperature : deviceResult).download();
    const bool passed =
        benchmark::equal("temperature", found, reference(temperature, power, columns, rows, layers, steps));
    return benchmark::verdict(passed, benchmark::checksum(found));
}
