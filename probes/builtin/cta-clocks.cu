// Ocelot's clock counters: the SM's clock when the first thread of a CTA begins and when the last thread ends.
__device__ void on_entry(Fields &fields) { fields.start = clock64(); }
__device__ void on_exit(Fields &fields) {
  fields.end = clock64();
  fields.sm = superstep::sm();
}
