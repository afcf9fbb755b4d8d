// Declarations that the units of this program share.
#pragma once

constexpr int row = 64; // elements per CTA

// rows.cu
__device__ void copy(float *to, const float *from);

// tables.cu
extern __device__ unsigned long long visits;
extern __constant__ float weights[4];
__device__ float weigh(float value);
void fill(float *values, int rows); // host code of another unit, which also launches kernels
