/* Device variables named by strings, as in CUDA before version 5: `cudaMemcpyToSymbol("table", …)`. */
#ifndef SUPERSTEP_SYMBOLS_H
#define SUPERSTEP_SYMBOLS_H

#include <cuda_runtime.h>

/* Defined in Superstep's runtime. Returns the host shadow of the device variable with this name, or null. */
extern "C" const void *__superstep_symbol_named(const char *name);

/* Returns the symbol itself if it is a variable, or the variable with that name if it is a string. */
static inline const void *superstep_symbol(const char *symbol) {
    size_t bytes = 0;
    if (cudaGetSymbolSize(&bytes, (const void *)symbol) == cudaSuccess) return symbol;
    const void *named = __superstep_symbol_named(symbol);
    if (named == nullptr) return symbol;
    cudaGetLastError(); /* clears the error from the query above */
    return named;
}

template <size_t length>
static inline cudaError_t cudaMemcpyToSymbol(const char (&symbol)[length], const void *from, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cudaMemcpyToSymbol(superstep_symbol(symbol), from, bytes, offset, kind);
}
template <size_t length>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const char (&symbol)[length], size_t bytes, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cudaMemcpyFromSymbol(to, superstep_symbol(symbol), bytes, offset, kind);
}
template <size_t length> static inline cudaError_t cudaGetSymbolAddress(void **address, const char (&symbol)[length]) {
    return cudaGetSymbolAddress(address, superstep_symbol(symbol));
}
template <size_t length> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const char (&symbol)[length]) {
    return cudaGetSymbolSize(bytes, superstep_symbol(symbol));
}

#endif
