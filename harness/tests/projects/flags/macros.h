// One bit for each nvcc macro that is defined.
enum { BUILD = __CUDACC_VER_BUILD__, ATOMICS = __CUDACC_DEVICE_ATOMIC_BUILTINS__, PRAGMAS = __NVCC_DIAG_PRAGMA_SUPPORT__ };
static const int archs[] = {__CUDA_ARCH_LIST__};
#ifdef __CUDACC_EXTENDED_LAMBDA__
#define LAMBDA 1
#else
#define LAMBDA 0
#endif
#ifdef __CUDACC_RELAXED_CONSTEXPR__
#define CONSTEXPR 2
#else
#define CONSTEXPR 0
#endif
#ifdef __CUDACC_RDC__
#define RDC 4
#else
#define RDC 0
#endif
#ifdef __CUDACC_EWP__
#define EWP 8
#else
#define EWP 0
#endif
#ifdef __CUDACC_DEBUG__
#define DEBUG 16
#else
#define DEBUG 0
#endif
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define STREAM 32
#else
#define STREAM 0
#endif
#ifdef __NVCC__
#define NVCC 64
#else
#define NVCC 0
#endif
#define BITS (LAMBDA | CONSTEXPR | RDC | EWP | DEBUG | STREAM | NVCC)
#define VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#define API (__CUDA_API_VER_MAJOR__ * 1000 + __CUDA_API_VER_MINOR__ * 10)
