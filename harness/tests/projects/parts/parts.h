#pragma once
// From the static library.
void scale(int *numbers, int count, int factor);
// From the shared library.
void shift(int *to, const int *from, int count);
// Host code from another compiler.
int report(const int *numbers, int count);
