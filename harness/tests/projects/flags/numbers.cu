// One operation per kernel; the flags determine its instructions.
__global__ void quotient(float *p, float a, float b) { *p = a / b; }
__global__ void reciprocal(float *p, float a) { *p = 1.0f / a; }
__global__ void root(float *p, float a) { *p = sqrtf(a); }
__global__ void fused(float *p, float a, float b, float c) { *p = a * b + c; }
__global__ void fused_double(double *p, double a, double b, double c) { *p = a * b + c; }
__global__ void quotient_double(double *p, double a, double b) { *p = a / b; }
__global__ void exponential(float *p, float a) { *p = expf(a); }
__global__ void power(float *p, float a, float b) { *p = powf(a, b); }
__global__ void tangent(float *p, float a) { *p = tanf(a); }
