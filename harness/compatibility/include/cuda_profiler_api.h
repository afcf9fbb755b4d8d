/* Stands in for CUDA's header of the same name if the toolkit does not include the profiler API. */
#ifndef SUPERSTEP_CUDA_PROFILER_API_H
#define SUPERSTEP_CUDA_PROFILER_API_H

#include <driver_types.h>

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#ifdef __cplusplus
}
#endif

#endif
