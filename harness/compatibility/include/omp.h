/* Stands in for OpenMP's header where there is none. Host code runs without OpenMP: on one thread, with its pragmas ignored. */
#ifndef SUPERSTEP_OMP_H
#define SUPERSTEP_OMP_H

static inline void omp_set_num_threads(int threads) { (void)threads; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }

#endif
