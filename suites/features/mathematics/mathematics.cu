// Compares CUDA's mathematical functions with the host's, over the whole range of arguments.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void evaluate(const double *x, double *results, float *single, unsigned *bits, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i];
  results[5 * i] = sin(v);
  results[5 * i + 1] = cos(v);
  results[5 * i + 2] = log(fabs(v) + 1);
  results[5 * i + 3] = sqrt(fabs(v));
  results[5 * i + 4] = erf(v) + exp(-fabs(v));
  single[2 * i] = sinf((float)v);
  single[2 * i + 1] = powf(fabsf((float)v) + 0.5f, 0.25f);
  bits[i] = __funnelshift_l(i, i * 77u, 5) + __brev(i) + __byte_perm(i, i * 3, 0x3012) + __umulhi(i * 70001u, i * 90001u) +
            __popc(i) + __clz(i);
  // Shifts by more bits than the type has, which are undefined in C++ but not on the GPU.
  unsigned amount = (unsigned)i % 70;
  bits[i] += (i * 77u << amount) ^ (i * 70001u >> amount) ^ (unsigned)(-i >> amount) ^ (unsigned)(i * 7000100001ull << amount >> 16);
}

static unsigned reference_bits(unsigned i) {
  unsigned reversed = 0;
  for (int b = 0; b < 32; ++b) reversed |= (i >> b & 1u) << (31 - b);
  unsigned high = i * 77u, shifted = high << 5 | i >> 27;
  unsigned long long pair = (unsigned long long)(i * 3) << 32 | i;
  unsigned permuted = 0;
  for (int b = 0; b < 4; ++b) permuted |= (unsigned)(pair >> 8 * (0x3012 >> 4 * b & 7) & 0xff) << 8 * b;
  unsigned product = (unsigned)((unsigned long long)(i * 70001u) * (i * 90001u) >> 32);
  unsigned amount = i % 70, few = amount < 31 ? amount : 31;
  unsigned beyond = (amount < 32 ? i * 77u << amount ^ i * 70001u >> amount : 0) ^ (unsigned)(-(int)i >> few) ^
                    (unsigned)(amount < 64 ? i * 7000100001ull << amount >> 16 : 0);
  return shifted + reversed + permuted + product + __builtin_popcount(i) + (i ? __builtin_clz(i) : 32) + beyond;
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000, wrong = 0;
  std::vector<double> x(n), results(5 * n);
  std::vector<float> single(2 * n);
  std::vector<unsigned> bits(n);
  for (int i = 0; i < n; ++i) x[i] = ldexp(1.0 + (i * 7919 % 1000) / 1000.0, i * 613 % 1060 - 60) * (i & 1 ? 1 : -1);
  double *dx, *dr;
  float *ds;
  unsigned *db;
  cudaMalloc(&dx, n * sizeof *dx);
  cudaMalloc(&dr, 5 * n * sizeof *dr);
  cudaMalloc(&ds, 2 * n * sizeof *ds);
  cudaMalloc(&db, n * sizeof *db);
  cudaMemcpy(dx, x.data(), n * sizeof *dx, cudaMemcpyHostToDevice);
  evaluate<<<(n + 127) / 128, 128>>>(dx, dr, ds, db, n);
  cudaMemcpy(results.data(), dr, 5 * n * sizeof *dr, cudaMemcpyDeviceToHost);
  cudaMemcpy(single.data(), ds, 2 * n * sizeof *ds, cudaMemcpyDeviceToHost);
  cudaMemcpy(bits.data(), db, n * sizeof *db, cudaMemcpyDeviceToHost);
  auto check = [&](bool fine, const char *what, double argument, double actual, double expected) {
    if (!fine && wrong++ < 5) printf("%s(%.17g): %.17g, expected %.17g\n", what, argument, actual, expected);
  };
  for (int i = 0; i < n; ++i) {
    double v = x[i];
    const char *names[5] = {"sin", "cos", "log", "sqrt", "erf + exp"};
    double expected[5] = {sin(v), cos(v), log(fabs(v) + 1), sqrt(fabs(v)), erf(v) + exp(-fabs(v))};
    for (int k = 0; k < 5; ++k) {
      double actual = results[5 * i + k];
      check(fabs(actual - expected[k]) <= 1e-14 * fmax(1, fabs(expected[k])), names[k], v, actual, expected[k]);
    }
    if (std::isfinite((float)v)) {
      double s = sin((double)(float)v), p = pow(fabs((double)(float)v) + 0.5, 0.25);
      check(fabs(single[2 * i] - s) <= 1e-6, "sinf", v, single[2 * i], s);
      check(fabs(single[2 * i + 1] - p) <= 1e-5 * fmax(1, p), "powf", v, single[2 * i + 1], p);
    }
    check(bits[i] == reference_bits(i), "bits", i, bits[i], reference_bits(i));
  }
  const char *error = cudaGetErrorString(cudaGetLastError());
  printf("%d wrong of %d, %s\n%s\n", wrong, 8 * n, error, wrong ? "FAILED" : "PASSED");
  return wrong != 0;
}
