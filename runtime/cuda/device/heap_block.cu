// Finds the heap of device-side `malloc` by allocating its first block (src/model/device_heap.rs). heap_block.ptx is
// compiled from this file (tests/device_code.rs compares them).

extern "C" __global__ void __superstep_heap_block(unsigned long long *address) {
  void *block = malloc(1);
  *address = reinterpret_cast<unsigned long long>(block);
  free(block);
}
