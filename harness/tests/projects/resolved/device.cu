#define JOIN(a, b) a##_##b
#define CONCAT(a, b) JOIN(a, b)
__device__ int CONCAT(NAME, scale) = VALUE;
__device__ int CONCAT(NAME, times)(int number) { return number * CONCAT(NAME, scale); }
