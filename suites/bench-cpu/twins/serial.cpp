// Plain loops, without threads, tiles or vectors.
#include "twins.h"

#include <algorithm>
#include <cmath>

void serial_saxpy(int n, float a, const float *x, float *y) {
  for (int i = 0; i < n; i++)
    y[i] = a * x[i] + y[i];
}

void serial_stencil(int n, const float *in, float *out) {
  for (int y = 1; y < n - 1; y++)
    for (int x = 1; x < n - 1; x++) {
      const float *p = in + y * n + x;
      out[y * n + x] = 0.2f * (p[0] + p[-1] + p[1] + p[-n] + p[n]);
    }
}

void serial_matmul(int n, const float *a, const float *b, float *c) {
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      c[i * n + j] = 0;
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

float serial_sum(int n, const float *x) {
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

void serial_nbody(int n, const float *position, float *force) {
  for (int i = 0; i < n; i++) {
    float sum[3] = {0, 0, 0};
    for (int j = 0; j < n; j++) {
      float dx = position[4 * j] - position[4 * i], dy = position[4 * j + 1] - position[4 * i + 1],
            dz = position[4 * j + 2] - position[4 * i + 2];
      float distance2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float s = position[4 * j + 3] / (distance2 * std::sqrt(distance2));
      sum[0] += dx * s;
      sum[1] += dy * s;
      sum[2] += dz * s;
    }
    for (int k = 0; k < 3; k++)
      force[4 * i + k] = sum[k];
  }
}

void serial_path(int columns, int rows, const int *wall, int *costs, int *next) {
  for (int row = 0; row < rows; row++) {
    for (int x = 0; x < columns; x++) {
      int best = costs[x];
      if (x > 0)
        best = std::min(best, costs[x - 1]);
      if (x < columns - 1)
        best = std::min(best, costs[x + 1]);
      next[x] = best + wall[row * columns + x];
    }
    std::swap(costs, next);
  }
}
