// Serial twins of the kernels, written for a single CPU thread.
#pragma once

void serial_saxpy(int n, float a, const float *x, float *y);
void serial_stencil(int n, const float *in, float *out);
void serial_matmul(int n, const float *a, const float *b, float *c);
float serial_sum(int n, const float *x);
void serial_nbody(int n, const float *position, float *force);
void serial_path(int columns, int rows, const int *wall, int *costs, int *next);
