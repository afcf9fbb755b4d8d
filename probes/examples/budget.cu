__device__ void on_access(Fields &fields, unsigned width, const unsigned long long *parameters) {
  fields.bytes += width * parameters[0];
}
