/* Shadows OpenMP's header. Declares single-threaded versions of its functions for compilation without OpenMP. */
#ifdef _OPENMP
#ifdef __CUDA_ARCH__
/* As with nvcc, device code is compiled without OpenMP but with its macro, which enables part of the header that needs pragmas. */
#pragma push_macro("_OPENMP")
#undef _OPENMP
#include_next <omp.h>
#pragma pop_macro("_OPENMP")
#else
#include_next <omp.h>
#endif
#else
#ifndef SUPERSTEP_OMP_H
#define SUPERSTEP_OMP_H

static inline void omp_set_num_threads(int threads) { (void)threads; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }

#endif
#endif
