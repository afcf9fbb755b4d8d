// Moves a probe's fields from threads to memory. The generated code (build/src/probe/glue.rs) includes this file after
// the handler, with these macros:
//
//   SUPERSTEP_FIELDS(each)       each(index, Combine, type, name) for every field
//   SUPERSTEP_FIELD_COUNT        number of fields
//   SUPERSTEP_PER_THREAD, SUPERSTEP_PER_CTA or SUPERSTEP_PER_LAUNCH
//   SUPERSTEP_WORD_BYTES         size of a field in memory
//   SUPERSTEP_FIELDS_IN_MEMORY   defined if handlers that run once per warp merge their fields into memory
//
// Instrumented code calls the `extern "C"` functions.
#ifndef SUPERSTEP_FIELDS_H
#define SUPERSTEP_FIELDS_H

namespace superstep {

// Address of a site's first field, and the distance from one field to the next. Words of neighbouring threads are
// adjacent; the words of a CTA or a launch are contiguous.
struct Place {
  u64 at, between;
};

__device__ inline Place place(void *context, u32 site) {
  const Context *c = context_of(context);
#if defined SUPERSTEP_PER_THREAD
  const u64 between = fixed(c->slot_stride) * SUPERSTEP_WORD_BYTES;
  const u64 unit = fixed(c->fields) + thread() * SUPERSTEP_WORD_BYTES;
#elif defined SUPERSTEP_PER_CTA
  const u64 between = SUPERSTEP_WORD_BYTES;
  const u64 unit = fixed(c->fields) + cta() * fixed(c->unit_stride) * SUPERSTEP_WORD_BYTES;
#else
  const u64 between = SUPERSTEP_WORD_BYTES;
  const u64 unit = fixed(c->fields) + copy(fixed(c->units)) * fixed(c->unit_stride) * SUPERSTEP_WORD_BYTES;
#endif
  return {unit + ((site & 0xffff) - fixed(c->first_slot)) * (SUPERSTEP_FIELD_COUNT * between), between};
}

} // namespace superstep

extern "C" __device__ void superstep_begin(void *fields) {
  Fields &f = *static_cast<Fields *>(fields);
  (void)f;
#define SUPERSTEP_BEGIN(index, combine, word, name) \
  f.name = superstep::is_complemented(superstep::combine) ? (word)~0ull : 0;
  SUPERSTEP_FIELDS(SUPERSTEP_BEGIN)
}

extern "C" __device__ void superstep_flush(void *context, unsigned site, const void *fields, bool once) {
  const Fields &f = *static_cast<const Fields *>(fields);
  const superstep::Place place = superstep::place(context, site);
  (void)f, (void)place;
#ifdef SUPERSTEP_PER_THREAD
#define SUPERSTEP_FLUSH(index, combine, word, name) \
  superstep::keep_own<superstep::combine, word>(place.at + index * place.between, f.name, once);
#else
#define SUPERSTEP_FLUSH(index, combine, word, name) \
  superstep::keep<superstep::combine, word>(place.at + index * place.between, f.name);
#endif
  SUPERSTEP_FIELDS(SUPERSTEP_FLUSH)
}

#if defined SUPERSTEP_FIELDS_IN_MEMORY && !defined SUPERSTEP_CPU
// Merges into memory the values that the lanes in a mask share. Reads all words before it changes any, so that a warp
// waits for memory only once.
__device__ inline void superstep_keep_now(void *context, unsigned mask, unsigned site, const Fields &f) {
  const superstep::Place place = superstep::place(context, site);
  (void)f, (void)place;
#define SUPERSTEP_READ(index, combine, word, name)                                                              \
  unsigned long long *const word_##index =                                                                      \
      superstep::in_global_memory<unsigned long long>(place.at + index * place.between);                        \
  const unsigned long long value_##index = superstep::is_complemented(superstep::combine) ? (word)~f.name : f.name; \
  const bool news_##index = superstep::is_news<superstep::combine>(word_##index, value_##index);
#define SUPERSTEP_OR_NEWS(index, combine, word, name) | news_##index
#define SUPERSTEP_CHANGE(index, combine, word, name) \
  if (news_##index) superstep::change<superstep::combine>(word_##index, value_##index);
  SUPERSTEP_FIELDS(SUPERSTEP_READ)
  if (!(false SUPERSTEP_FIELDS(SUPERSTEP_OR_NEWS)) || !superstep::leads(mask)) return;
  SUPERSTEP_FIELDS(SUPERSTEP_CHANGE)
}
#endif

#endif
