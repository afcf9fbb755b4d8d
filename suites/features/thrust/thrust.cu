// Compares the results of Thrust's algorithms on device vectors with the host's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

static bool failed = false;

static void expect(const char *what, const thrust::device_vector<int> &found, const std::vector<int> &expected) {
    std::vector<int> host(found.size());
    thrust::copy(found.begin(), found.end(), host.begin());
    if (host == expected) return;
    printf("%s differs from the host's result\n", what);
    failed = true;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 1 << 16;
    std::vector<int> values(n);
    unsigned state = 54321;
    for (int &value : values) value = (state = state * 1664525u + 1013904223u) >> 24;

    thrust::device_vector<int> keys(values);
    thrust::sort(keys.begin(), keys.end());
    std::vector<int> in_order = values;
    std::sort(in_order.begin(), in_order.end());
    expect("sort", keys, in_order);

    thrust::device_vector<int> ones(n, 1), distinct(n), counts(n);
    auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), ones.begin(), distinct.begin(), counts.begin());
    distinct.erase(ends.first, distinct.end());
    counts.erase(ends.second, counts.end());
    std::map<int, int> counted;
    for (int value : values) counted[value]++;
    std::vector<int> expected_keys, expected_counts;
    for (auto [key, count] : counted) expected_keys.push_back(key), expected_counts.push_back(count);
    expect("keys of reduce_by_key", distinct, expected_keys);
    expect("sums of reduce_by_key", counts, expected_counts);

    thrust::device_vector<int> original(values), scanned(n);
    thrust::inclusive_scan(original.begin(), original.end(), scanned.begin());
    std::vector<int> prefix(n);
    std::partial_sum(values.begin(), values.end(), prefix.begin());
    expect("inclusive_scan", scanned, prefix);

    puts(failed ? "FAILED" : "PASSED");
    return failed;
}
