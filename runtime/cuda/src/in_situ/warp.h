// Warps on the host, for a handler that is compiled for it. Each lane has a stack of its own, and one runs at a time. It stops where lanes
// work together, until all that it names are there, and may stop where it touches what others share (`meanwhile`). Who goes on then is
// chosen by chance, the same each time. What would hang on a GPU, or give what nobody can tell, ends the program.

#undef _FORTIFY_SOURCE // it refuses jumps from stack to stack
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct Extent { unsigned x, y, z; };
Extent blockIdx, threadIdx, gridDim = {1u << 20, 1, 1}, blockDim = {1024, 1, 1};

// An access of the lanes in `mask`.
struct Access {
  unsigned cta, first_thread, operation, width, mask;
  unsigned long long addresses[32];
};

namespace host {

const unsigned LANES = 32, WARPS = 4, STACK_BYTES = (1 << 16) + 1088;

// What one lane does; the test's own.
void run_lane(const Access &access, unsigned lane);

struct Lane;
// What lanes do together: `answer` makes the answers of those in a mask.
struct Primitive {
  const char *name;
  void (*answer)(Lane *lanes, unsigned mask);
};

const Primitive ACTIVE = {"__activemask", nullptr};

struct Lane {
  jmp_buf at;
  // What it waits for. Lanes meet where all of these are equal, or where `place` is if there is no mask yet.
  const Primitive *primitive;
  const void *place;
  unsigned mask;
  // What it brings and gets.
  unsigned argument;
  uint64_t value, answer;
};

struct Warp {
  Access access;
  unsigned live, ready;
  Lane lanes[LANES];
};

Warp warps[WARPS], *warp, *alone; // that which runs, and that which alone may
unsigned running, waiting;        // bits of warps; some wait until another touches what they share
unsigned lane;
jmp_buf scheduler;
uint64_t chance;

unsigned below(unsigned limit) {
  chance = chance * 0x5851f42d4c957f2dull + 0x14057b7e767814full;
  return (unsigned)((chance >> 32) * limit >> 32);
}

// One of the bits.
unsigned any_of(unsigned bits) {
  const unsigned turn = below(32);
  const unsigned turned = bits >> turn | (turn ? bits << (32 - turn) : 0);
  return (__builtin_ctz(turned) + turn) % 32;
}

template <class F> void each(unsigned bits, F visit) {
  for (; bits != 0; bits &= bits - 1) visit((unsigned)__builtin_ctz(bits));
}

[[noreturn]] void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  for (const Warp &one : warps) {
    if (one.live == 0) continue;
    const Access &access = one.access;
    fprintf(stderr, "CTA %u, thread %u and so on, operation %u, %u bytes, lanes %08x; of these still there: %08x\n", access.cta,
            access.first_thread, access.operation, access.width, access.mask, one.live);
    each(one.live, [&](unsigned l) {
      const Lane &waits = one.lanes[l];
      if (one.ready >> l & 1)
        fprintf(stderr, "  lane %u can go on\n", l);
      else
        fprintf(stderr, "  lane %u waits at %s, mask %08x, called from %p\n", l, waits.primitive->name, waits.mask, waits.place);
    });
  }
  exit(3);
}

// The lane stops, and the scheduler goes on.
__attribute__((noinline)) void stop() {
  if (_setjmp(warp->lanes[lane].at) == 0) _longjmp(scheduler, 1);
}

__attribute__((noinline)) void resume(unsigned next) {
  lane = next;
  blockIdx.x = warp->access.cta;
  threadIdx.x = warp->access.first_thread + next;
  if (_setjmp(scheduler) == 0) _longjmp(warp->lanes[next].at, 1);
}

// A lane's stack: one access after the other.
void live() {
  for (;;) {
    stop();
    run_lane(warp->access, lane);
    warp->live &= ~(1u << lane);
    warp->ready &= ~(1u << lane);
  }
}

__attribute__((noinline)) void begin_stack(unsigned of) {
  lane = of;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = malloc(STACK_BYTES);
  context.uc_stack.ss_size = STACK_BYTES;
  makecontext(&context, live, 0);
  if (_setjmp(scheduler) == 0) setcontext(&context);
}

void begin_stacks() {
  for (Warp &one : warps) {
    warp = &one;
    for (unsigned l = 0; l < LANES; ++l) begin_stack(l);
  }
}

// Warps that wait begin.
void start(unsigned some) {
  waiting &= ~some;
  running |= some;
}

// A place where what others do may come in between. A warp that waits for such a place begins, in half of the cases to run to its end.
void meanwhile() {
  if (waiting != 0) {
    const unsigned next = any_of(waiting);
    start(1u << next);
    if (below(2) == 0) alone = &warps[next];
    stop();
  } else if (below(4) == 0) {
    stop();
  }
}

// Stops until the lanes in `mask` are here.
uint64_t meet(const Primitive &primitive, unsigned mask, uint64_t value, unsigned argument, const void *place) {
  Lane &self = warp->lanes[lane];
  self.primitive = &primitive;
  self.place = place;
  self.mask = mask;
  self.value = value;
  self.argument = argument;
  warp->ready &= ~(1u << lane);
  if (&primitive != &ACTIVE && !(mask >> lane & 1)) fail("a lane is not in its own mask");
  stop();
  return warp->lanes[lane].answer;
}

// Lets those go on of whom nobody lacks. Answers whether there are such.
bool settle_masks() {
  const unsigned stopped = warp->live & ~warp->ready;
  unsigned left = stopped;
  bool found = false;
  while (left != 0) {
    const unsigned first = __builtin_ctz(left);
    const Primitive *primitive = warp->lanes[first].primitive;
    const unsigned mask = warp->lanes[first].mask;
    unsigned met = 0;
    each(mask & stopped, [&](unsigned l) {
      if (warp->lanes[l].primitive == primitive && warp->lanes[l].mask == mask) met |= 1u << l;
    });
    left &= ~(met | 1u << first);
    if (mask == 0 || met != mask) continue;
    primitive->answer(warp->lanes, mask);
    warp->ready |= mask;
    found = true;
  }
  return found;
}

// Gives lanes that stopped at one `__activemask` a mask: of all of them, or of a part, as where a branch has parted them.
bool settle_active() {
  unsigned active = 0, met = 0;
  each(warp->live & ~warp->ready, [&](unsigned l) { active |= (warp->lanes[l].mask == 0) << l; });
  if (active == 0) return false;
  const void *place = warp->lanes[any_of(active)].place;
  each(active, [&](unsigned l) { met |= (warp->lanes[l].place == place) << l; });
  if (below(8) == 0) {
    const unsigned part = met & (unsigned)(chance >> 16);
    if (part != 0) met = part;
  }
  each(met, [&](unsigned l) { warp->lanes[l].answer = met; });
  warp->ready |= met;
  return true;
}

// Runs a lane of the warp until it stops. Those that can go on need not wait for the others, but mostly do.
void step() {
  if (warp->ready == 0 || below(32) == 0) {
    const bool goes_on = settle_masks() || settle_active() || warp->ready != 0;
    if (!goes_on) fail("no lane can go on");
  }
  resume(any_of(warp->ready));
}

// Runs the warps that have begun to their end.
void run_warps() {
  while (running != 0) {
    warp = alone ? alone : &warps[any_of(running)];
    step();
    if (warp->live != 0) continue;
    running &= ~(1u << (warp - warps));
    alone = nullptr;
  }
}

// Runs those that wait, too.
void run_waiting() {
  start(waiting);
  run_warps();
}

// Gives an access to a warp that is free.
void begin(const Access &access, bool waits) {
  if (waiting + 1 == 1u << WARPS) run_waiting();
  const unsigned free = __builtin_ctz(~waiting);
  warps[free].access = access;
  warps[free].live = warps[free].ready = access.mask;
  waiting |= 1u << free;
  if (waits) return;
  start(1u << free);
  run_warps();
}

template <class F> void answer_each(Lane *lanes, unsigned mask, F answer) {
  each(mask, [&](unsigned l) { lanes[l].answer = answer(l); });
}

void answer_all(Lane *lanes, unsigned mask, uint64_t answer) {
  each(mask, [&](unsigned l) { lanes[l].answer = answer; });
}

unsigned votes(const Lane *lanes, unsigned mask) {
  unsigned bits = 0;
  each(mask, [&](unsigned l) { bits |= (lanes[l].value != 0) << l; });
  return bits;
}

void match(Lane *lanes, unsigned mask) {
  for (unsigned left = mask; left != 0;) {
    const uint64_t value = lanes[__builtin_ctz(left)].value;
    unsigned same = 0;
    each(left, [&](unsigned l) { same |= (lanes[l].value == value) << l; });
    answer_all(lanes, same, same);
    left &= ~same;
  }
}

// From lanes that are not in the mask comes what nobody can tell.
uint64_t value_of(const Lane *lanes, unsigned mask, unsigned from) {
  return mask >> from & 1 ? lanes[from].value : chance * 0x9e3779b97f4a7c15ull;
}

// A source that the caller has chosen must be there.
void shuffle(Lane *lanes, unsigned mask) {
  each(mask, [&](unsigned l) {
    const unsigned from = lanes[l].argument % LANES;
    if (!(mask >> from & 1)) fail("__shfl_sync from a lane that is not in the mask");
    lanes[l].answer = lanes[from].value;
  });
}

void shuffle_up(Lane *lanes, unsigned mask) {
  answer_each(lanes, mask, [&](unsigned l) { return l < lanes[l].argument ? lanes[l].value : value_of(lanes, mask, l - lanes[l].argument); });
}

void shuffle_down(Lane *lanes, unsigned mask) {
  answer_each(lanes, mask, [&](unsigned l) {
    const unsigned from = l + lanes[l].argument;
    return from >= LANES ? lanes[l].value : value_of(lanes, mask, from);
  });
}

void shuffle_xor(Lane *lanes, unsigned mask) {
  answer_each(lanes, mask, [&](unsigned l) { return value_of(lanes, mask, (l ^ lanes[l].argument) % LANES); });
}

const Primitive SYNC = {"__syncwarp", [](Lane *, unsigned) {}};
const Primitive ALL = {"__all_sync", [](Lane *l, unsigned mask) { answer_all(l, mask, votes(l, mask) == mask); }};
const Primitive ANY = {"__any_sync", [](Lane *l, unsigned mask) { answer_all(l, mask, votes(l, mask) != 0); }};
const Primitive BALLOT = {"__ballot_sync", [](Lane *l, unsigned mask) { answer_all(l, mask, votes(l, mask)); }};
const Primitive REDUCE_ADD = {"__reduce_add_sync", [](Lane *l, unsigned mask) {
                                uint64_t sum = 0;
                                each(mask, [&](unsigned i) { sum += l[i].value; });
                                answer_all(l, mask, sum);
                              }};
const Primitive REDUCE_OR = {"__reduce_or_sync", [](Lane *l, unsigned mask) {
                               uint64_t bits = 0;
                               each(mask, [&](unsigned i) { bits |= l[i].value; });
                               answer_all(l, mask, bits);
                             }};
// Of values of 4 and of 8 bytes.
const Primitive MATCH[] = {{"__match_any_sync of 32 bits", match}, {"__match_any_sync of 64 bits", match}};
const Primitive SHUFFLE[] = {{"__shfl_sync of 32 bits", shuffle}, {"__shfl_sync of 64 bits", shuffle}};
const Primitive SHUFFLE_UP[] = {{"__shfl_up_sync of 32 bits", shuffle_up}, {"__shfl_up_sync of 64 bits", shuffle_up}};
const Primitive SHUFFLE_DOWN[] = {{"__shfl_down_sync of 32 bits", shuffle_down}, {"__shfl_down_sync of 64 bits", shuffle_down}};
const Primitive SHUFFLE_XOR[] = {{"__shfl_xor_sync of 32 bits", shuffle_xor}, {"__shfl_xor_sync of 64 bits", shuffle_xor}};

template <class T> uint64_t bits_of(T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "values are of 32 or 64 bits");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T> T exchange_lanes(const Primitive *of_width, unsigned mask, T value, unsigned argument, const void *place) {
  const uint64_t bits = meet(of_width[sizeof(T) / 8], mask, bits_of(value), argument, place);
  memcpy(&value, &bits, sizeof(T));
  return value;
}

// `change` makes the new value of the old one.
template <class T, class F> T atomic(T *word, F change) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words are of 32 or 64 bits");
  meanwhile();
  const T was = *word;
  *word = change(was);
  return was;
}

template <class T> struct Same { typedef T type; };

} // namespace host

#define HERE __builtin_return_address(0)
#define NOINLINE __attribute__((noinline)) static

NOINLINE unsigned __activemask() { return (unsigned)host::meet(host::ACTIVE, 0, 0, 0, HERE); }
NOINLINE void __syncwarp(unsigned mask = 0xffffffffu) { host::meet(host::SYNC, mask, 0, 0, HERE); }
NOINLINE int __all_sync(unsigned mask, int holds) { return (int)host::meet(host::ALL, mask, holds != 0, 0, HERE); }
NOINLINE int __any_sync(unsigned mask, int holds) { return (int)host::meet(host::ANY, mask, holds != 0, 0, HERE); }
NOINLINE unsigned __ballot_sync(unsigned mask, int holds) { return (unsigned)host::meet(host::BALLOT, mask, holds != 0, 0, HERE); }
NOINLINE unsigned __reduce_add_sync(unsigned mask, unsigned value) { return (unsigned)host::meet(host::REDUCE_ADD, mask, value, 0, HERE); }
NOINLINE unsigned __reduce_or_sync(unsigned mask, unsigned value) { return (unsigned)host::meet(host::REDUCE_OR, mask, value, 0, HERE); }
template <class T> NOINLINE unsigned __match_any_sync(unsigned mask, T value) {
  return (unsigned)host::meet(host::MATCH[sizeof(T) / 8], mask, host::bits_of(value), 0, HERE);
}
template <class T> NOINLINE T __shfl_sync(unsigned mask, T value, int from) {
  return host::exchange_lanes(host::SHUFFLE, mask, value, from, HERE);
}
template <class T> NOINLINE T __shfl_up_sync(unsigned mask, T value, unsigned by) {
  return host::exchange_lanes(host::SHUFFLE_UP, mask, value, by, HERE);
}
template <class T> NOINLINE T __shfl_down_sync(unsigned mask, T value, unsigned by) {
  return host::exchange_lanes(host::SHUFFLE_DOWN, mask, value, by, HERE);
}
template <class T> NOINLINE T __shfl_xor_sync(unsigned mask, T value, int by) {
  return host::exchange_lanes(host::SHUFFLE_XOR, mask, value, by, HERE);
}

template <class T> static T atomicAdd(T *word, typename host::Same<T>::type value) {
  return host::atomic(word, [=](T was) { return was + value; });
}
template <class T> static T atomicOr(T *word, typename host::Same<T>::type value) {
  return host::atomic(word, [=](T was) { return was | value; });
}
template <class T> static T atomicExch(T *word, typename host::Same<T>::type value) {
  return host::atomic(word, [=](T) { return value; });
}
template <class T> static T atomicCAS(T *word, typename host::Same<T>::type old, typename host::Same<T>::type next) {
  return host::atomic(word, [=](T was) { return was == old ? next : was; });
}

template <class T> static T __ldg(const T *place) { return *place; }
static void __threadfence() {}
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
