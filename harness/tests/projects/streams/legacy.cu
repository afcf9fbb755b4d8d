#include "kernel.h"
unsigned long long legacy(int *p) { return launch(p); }
