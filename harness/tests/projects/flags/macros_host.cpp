#include "macros.h"
int of_host_code() { return sizeof archs ? BITS : VERSION == API; }
