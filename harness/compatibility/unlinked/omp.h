/* Stands before OpenMP's header where a program is compiled without OpenMP: on one thread, with its pragmas ignored. */
#ifdef _OPENMP
#include_next <omp.h>
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
