/* Video instructions on one, two or four numbers in a register. Results are computed with more bits, saturated, and merged or combined
 * with a third operand. All arguments but the operands are constants, so that the optimiser removes unused cases. */
#include <stdbool.h>
#include <stdint.h>

enum { SIGNED_A = 1, SIGNED_B = 2, SIGNED_RESULT = 4, SATURATE = 8, WRAP = 16 };
enum { ADD, SUBTRACT, DIFFERENCE, AVERAGE, MINIMUM, MAXIMUM, SHIFT_LEFT, SHIFT_RIGHT, EQUAL = 16, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL };

static inline int64_t lane_of(uint32_t word, int lane, int bits, bool is_signed) {
  uint64_t up = (uint64_t)word << (64 - bits * (lane + 1));
  return is_signed ? (int64_t)up >> (64 - bits) : (int64_t)(up >> (64 - bits));
}

static inline int64_t combine(int64_t a, int64_t b, uint32_t operation, uint32_t flags) {
  /* Shift amounts are clamped to 32 or taken modulo 32. */
  int amount = (int)(flags & WRAP ? b & 31 : b < 0 || b > 32 ? 32 : b);
  switch (operation) {
  case ADD:
    return a + b;
  case SUBTRACT:
    return a - b;
  case DIFFERENCE:
    return a < b ? b - a : a - b;
  case AVERAGE:
    return (a + b + (a + b >= 0)) >> 1;
  case MINIMUM:
    return a < b ? a : b;
  case MAXIMUM:
    return a > b ? a : b;
  case SHIFT_LEFT:
    return (int64_t)((uint64_t)a << amount);
  case SHIFT_RIGHT:
    return a >> amount;
  case EQUAL:
    return a == b;
  case UNEQUAL:
    return a != b;
  case LESS:
    return a < b;
  case LESS_EQUAL:
    return a <= b;
  case GREATER:
    return a > b;
  default:
    return a >= b;
  }
}

uint32_t __superstep_ptx_video(uint32_t a, uint32_t b, uint32_t c, uint32_t operation, uint32_t lanes, uint32_t flags, uint32_t second) {
  int bits = 32 / (int)lanes;
  bool is_signed = flags & SIGNED_RESULT;
  int64_t max = is_signed ? (int64_t)(~0ull >> (65 - bits)) : (int64_t)(~0ull >> (64 - bits)), min = is_signed ? -max - 1 : 0;
  uint32_t merged = 0, sum = c;
  int64_t last = 0;
  for (int lane = 0; lane < (int)lanes; lane++) {
    int64_t value = combine(lane_of(a, lane, bits, flags & SIGNED_A), lane_of(b, lane, bits, flags & SIGNED_B), operation, flags);
    if (flags & SATURATE)
      value = value < min ? min : value > max ? max : value;
    last = value;
    sum += (uint32_t)value;
    merged |= (uint32_t)((uint64_t)value & (~0ull >> (64 - bits))) << (lane * bits);
  }
  if (second == 0)
    return merged;
  if (second == 1)
    return sum;
  int64_t other = is_signed ? (int32_t)c : (int64_t)c, result = is_signed ? (int32_t)(uint32_t)last : (int64_t)(uint32_t)last;
  return (uint32_t)((result < other) == (second == 2) ? result : other);
}
