// CUB's device-wide algorithms, compared with the host's results. CUB names its kernels after the list of architectures for which
// the file is compiled, and ignores the error if the image has no kernel of that name: in that case nothing is computed, which
// only the results reveal.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>
#include <cub/cub.cuh>

static bool failed = false;
#define CHECK(call)                                                                                                                 \
    do {                                                                                                                            \
        cudaError_t error = (call);                                                                                                 \
        if (error != cudaSuccess) {                                                                                                 \
            printf("line %d: %s\n", __LINE__, cudaGetErrorString(error));                                                           \
            failed = true;                                                                                                          \
        }                                                                                                                           \
    } while (0)

template <typename T>
struct Array {
    T *data = nullptr;
    size_t count;
    explicit Array(size_t count) : count(count) {
        CHECK(cudaMalloc(&data, count * sizeof(T)));
        CHECK(cudaMemset(data, 0, count * sizeof(T)));
    }
    explicit Array(const std::vector<T> &from) : Array(from.size()) {
        CHECK(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Array() { cudaFree(data); }
    std::vector<T> host() const {
        std::vector<T> to(count);
        CHECK(cudaMemcpy(to.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
};

// Each algorithm is called twice: first to get the size of its temporary memory, then to run.
template <typename Algorithm>
static void run(Algorithm algorithm) {
    size_t bytes = 0;
    CHECK(algorithm(nullptr, bytes));
    Array<char> temporary(std::max<size_t>(bytes, 1));
    CHECK(algorithm(temporary.data, bytes));
    CHECK(cudaDeviceSynchronize());
}

template <typename T>
static void expect(const char *what, const std::vector<T> &found, const std::vector<T> &expected) {
    if (found == expected) return;
    printf("%s differs from the host's result\n", what);
    failed = true;
}

struct IsEven {
    __host__ __device__ bool operator()(unsigned value) const { return value % 2 == 0; }
};

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 16;
    std::vector<unsigned> values(n);
    unsigned state = 12345;
    for (unsigned &value : values) value = (state = state * 1664525u + 1013904223u) >> 12;
    const Array<unsigned> in(values);

    Array<unsigned> sum(1);
    run([&](void *temporary, size_t &bytes) { return cub::DeviceReduce::Sum(temporary, bytes, in.data, sum.data, n); });
    expect("reduce", sum.host(), {std::accumulate(values.begin(), values.end(), 0u)});

    Array<unsigned> scanned(n);
    run([&](void *temporary, size_t &bytes) { return cub::DeviceScan::InclusiveSum(temporary, bytes, in.data, scanned.data, n); });
    std::vector<unsigned> prefix(n);
    std::partial_sum(values.begin(), values.end(), prefix.begin());
    expect("scan", scanned.host(), prefix);

    Array<unsigned> sorted(n);
    run([&](void *temporary, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(temporary, bytes, in.data, sorted.data, n); });
    std::vector<unsigned> in_order = values;
    std::sort(in_order.begin(), in_order.end());
    expect("sort", sorted.host(), in_order);

    Array<unsigned> chosen(n), chosen_count(1);
    run([&](void *temporary, size_t &bytes) {
        return cub::DeviceSelect::If(temporary, bytes, in.data, chosen.data, chosen_count.data, n, IsEven());
    });
    std::vector<unsigned> even;
    std::copy_if(values.begin(), values.end(), std::back_inserter(even), IsEven());
    expect("number selected", chosen_count.host(), {(unsigned)even.size()});
    even.resize(n);
    expect("select", chosen.host(), even);

    // Groups of three elements with the same key; only the first of each is kept.
    std::vector<unsigned> keys(n), first_keys(n), first_values(n);
    for (int i = 0; i < n; ++i) keys[i] = i / 3;
    for (int i = 0; i < n; i += 3) first_keys[i / 3] = i / 3, first_values[i / 3] = values[i];
    const Array<unsigned> keys_in(keys);
    Array<unsigned> keys_out(n), values_out(n), unique_count(1);
    run([&](void *temporary, size_t &bytes) {
        return cub::DeviceSelect::UniqueByKey(temporary, bytes, keys_in.data, in.data, keys_out.data, values_out.data,
                                              unique_count.data, n);
    });
    expect("number of unique keys", unique_count.host(), {(unsigned)(n + 2) / 3});
    expect("unique keys", keys_out.host(), first_keys);
    expect("values of unique keys", values_out.host(), first_values);

    const int bins = 64;
    Array<int> histogram(bins);
    run([&](void *temporary, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(temporary, bytes, in.data, histogram.data, bins + 1, 0u, 1u << 20, n);
    });
    std::vector<int> counted(bins);
    for (unsigned value : values) counted[value / ((1u << 20) / bins)]++;
    expect("histogram", histogram.host(), counted);

    puts(failed ? "FAILED" : "PASSED");
    return failed;
}
