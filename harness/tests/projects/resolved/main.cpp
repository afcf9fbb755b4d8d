#include <cstdio>
int one(), two();
int main() { std::printf("%d %d\n", one(), two()); }
