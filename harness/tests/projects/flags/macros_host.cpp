#include "macros.h"
int host_bits() { return sizeof archs ? BITS : VERSION == API; }
