/* Asynchronous copies, and 64-bit barriers in shared memory that count threads and bytes (`mbarrier`). A CTA runs on one worker, so
 * no other thread changes a barrier at the same time. */
#include "thread.h"

void *__superstep_ptx_shared_pointer(uint64_t address) {
  return address >> 32 ? (void *)address : __superstep_shared_address((uint32_t)address);
}

/* Copies the first `read` of `size` bytes and fills the rest with zeroes. */
void __superstep_ptx_copy(void *to, const void *from, uint32_t size, uint32_t read) {
  if (read > size)
    read = size;
  __builtin_memcpy(to, from, read);
  __builtin_memset((char *)to + read, 0, size - read);
}

/* Fields from the lowest bit: phase (1 bit), pending arrivals (20), expected arrivals per phase (20), pending bytes (23, signed). */
enum { PENDING = 1, EXPECTED = 21, BYTES = 41, COUNT_MASK = 0xfffff };

static inline uint32_t pending(uint64_t state) { return (uint32_t)(state >> PENDING) & COUNT_MASK; }
static inline uint32_t expected(uint64_t state) { return (uint32_t)(state >> EXPECTED) & COUNT_MASK; }
static inline int64_t bytes(uint64_t state) { return (int64_t)state >> BYTES; }
static inline uint64_t barrier(uint64_t phase, uint32_t pending, uint32_t expected, int64_t bytes) {
  return (phase & 1) | (uint64_t)(pending & COUNT_MASK) << PENDING | (uint64_t)(expected & COUNT_MASK) << EXPECTED |
         (uint64_t)bytes << BYTES;
}
/* The next phase begins when neither arrivals nor bytes are pending. */
static inline void set(volatile uint64_t *place, uint64_t phase, uint32_t pending, uint32_t expected, int64_t bytes) {
  *place = pending == 0 && bytes == 0 ? barrier(phase + 1, expected, expected, 0) : barrier(phase, pending, expected, bytes);
}

void __superstep_ptx_mbarrier_init(volatile uint64_t *place, uint32_t count) { *place = barrier(0, count, count, 0); }
uint64_t __superstep_ptx_mbarrier_arrive(volatile uint64_t *place, uint32_t count) {
  uint64_t state = *place;
  set(place, state, pending(state) - count, expected(state), bytes(state));
  return state;
}
/* Arrives for the last time: later phases expect `count` fewer arrivals. */
uint64_t __superstep_ptx_mbarrier_arrive_drop(volatile uint64_t *place, uint32_t count) {
  uint64_t state = *place;
  set(place, state, pending(state) - count, expected(state) - count, bytes(state));
  return state;
}
void __superstep_ptx_mbarrier_expect_tx(volatile uint64_t *place, uint32_t more) {
  uint64_t state = *place;
  *place = barrier(state, pending(state), expected(state), bytes(state) + (int32_t)more);
}
void __superstep_ptx_mbarrier_complete_tx(volatile uint64_t *place, uint32_t done) {
  uint64_t state = *place;
  set(place, state, pending(state), expected(state), bytes(state) - (int32_t)done);
}
uint32_t __superstep_ptx_mbarrier_pending_count(uint64_t state) { return pending(state); }

/* A thread whose test fails polls in a loop, so let the other threads run before testing again. */
bool __superstep_ptx_mbarrier_test_parity(volatile uint64_t *place, uint32_t parity) {
  if ((*place & 1) != (parity & 1))
    return true;
  __superstep_yield();
  return (*place & 1) != (parity & 1);
}
bool __superstep_ptx_mbarrier_test(volatile uint64_t *place, uint64_t state) {
  return __superstep_ptx_mbarrier_test_parity(place, (uint32_t)state);
}
