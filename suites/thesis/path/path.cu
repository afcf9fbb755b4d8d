// Pathfinder: the cheapest path through a grid of costs, row by row, each step straight or diagonal.
//
// A launch advances `pyramid` rows. A CTA loads a range of 256 columns, computes the rows in shared memory and stores
// the columns that are still valid: each row invalidates one column at either end, so neighbouring CTAs load
// overlapping ranges. If the last launch has fewer rows, its ranges overlap less and start at different columns,
// so CTAs read from more than their direct neighbours. As in Rodinia's pathfinder, which the thesis ran,
// the first range of that launch still starts a full pyramid height before the grid.
//
// Arguments: columns rows pyramid

#include "../common/benchmark.h"

#include <algorithm>

namespace {

constexpr int kThreads = 256;

// Computes the cheapest costs after `steps` more rows. `costs` starts at the first of these rows, and the first range
// starts `border` columns before the grid.
__global__ void findPaths(const int *costs, const int *from, int *to, int columns, int steps, int border) {
    __shared__ int current[kThreads];
    __shared__ int following[kThreads];

    const int thread = threadIdx.x;
    const int useful = kThreads - 2 * steps;
    const int column = useful * static_cast<int>(blockIdx.x) - border + thread;
    const bool onGrid = column >= 0 && column < columns;

    if (onGrid) {
        current[thread] = from[column];
    }
    __syncthreads();

    // At the edge of the grid, a column stands in for its missing neighbour, so no path comes from outside.
    const int left = column > 0 ? thread - 1 : thread;
    const int right = column < columns - 1 ? thread + 1 : thread;

    bool done = false;
    for (int step = 1; step <= steps; ++step) {
        done = onGrid && thread >= step && thread < kThreads - step;
        if (done) {
            const int cheapest = min(current[thread], min(current[left], current[right]));
            following[thread] = cheapest + costs[static_cast<long>(step - 1) * columns + column];
        }
        __syncthreads();
        if (done) {
            current[thread] = following[thread];
        }
        __syncthreads();
    }
    if (done) {
        to[column] = current[thread];
    }
}

std::vector<int> reference(const std::vector<int> &costs, int columns, int rows) {
    std::vector<int> current(costs.begin(), costs.begin() + columns);
    std::vector<int> next(current.size());
    for (int row = 1; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            const int left = current[std::max(column - 1, 0)];
            const int right = current[std::min(column + 1, columns - 1)];
            next[column] = std::min(current[column], std::min(left, right)) +
                           costs[static_cast<size_t>(row) * columns + column];
        }
        current.swap(next);
    }
    return current;
}

} // namespace

int main(int argc, char **argv) {
    const int columns = static_cast<int>(benchmark::argument(argc, argv, 1, "columns", 1, 10000000));
    const int rows = static_cast<int>(benchmark::argument(argc, argv, 2, "rows", 2, 10000));
    const int pyramid = static_cast<int>(benchmark::argument(argc, argv, 3, "pyramid", 1, kThreads / 2 - 1));

    benchmark::Random random(5);
    std::vector<int> costs(static_cast<size_t>(columns) * rows);
    for (int &cost : costs) {
        cost = static_cast<int>(random.below(10));
    }

    // The paths start with the costs in the first row; the other rows contain the costs of further steps.
    benchmark::DeviceArray<int> deviceCosts(std::vector<int>(costs.begin() + columns, costs.end()));
    benchmark::DeviceArray<int> deviceEven(std::vector<int>(costs.begin(), costs.begin() + columns));
    benchmark::DeviceArray<int> deviceOdd(static_cast<size_t>(columns));
    int *from = deviceEven.data();
    int *to = deviceOdd.data();
    const int ctas = benchmark::divideRoundingUp(columns, kThreads - 2 * pyramid);
    int launches = 0;
    for (int done = 0; done < rows - 1; done += pyramid, ++launches) {
        const int now = std::min(pyramid, rows - 1 - done);
        findPaths<<<ctas, kThreads>>>(deviceCosts.data() + static_cast<size_t>(done) * columns, from, to, columns, now,
                                       pyramid);
        CUDA_CHECK(cudaGetLastError());
        std::swap(from, to);
    }
    CUDA_CHECK(cudaDeviceSynchronize());

    const std::vector<int> found = (launches % 2 == 0 ? deviceEven : deviceOdd).download();
    return benchmark::verdict(benchmark::equal("cost", found, reference(costs, columns, rows)),
                              benchmark::checksum(found));
}
