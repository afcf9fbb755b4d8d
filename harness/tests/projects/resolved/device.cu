#define JOIN(a, b) a##_##b
#define OF(a, b) JOIN(a, b)
__device__ int OF(NAME, scale) = VALUE;
__device__ int OF(NAME, times)(int number) { return number * OF(NAME, scale); }
