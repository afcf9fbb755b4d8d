// Simulates warps for a handler that is compiled for the host. Each lane has a separate stack, and one lane runs at a
// time. A lane stops in `__activemask`, and may also stop at accesses to shared data (`interleave`). The next lane to
// run is chosen at random, but reproducibly.

#undef _FORTIFY_SOURCE // it rejects jumps between stacks
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct Extent { unsigned x, y, z; };
Extent blockIdx, threadIdx, gridDim = {1u << 20, 1, 1}, blockDim = {1024, 1, 1};

// An access by the lanes in `mask`.
struct Access {
  unsigned cta, first_thread, operation, width, mask;
  unsigned long long addresses[32];
};

namespace host {

const unsigned LANES = 32, WARPS = 4, STACK_BYTES = (1 << 16) + 1088;

// Does the work of a lane. Defined by the test.
void run_lane(const Access &access, unsigned lane);

struct Lane {
  jmp_buf at;
  // Address of the lane's call to `__activemask`, and its result. Lanes that call it at the same address converge.
  const void *place;
  unsigned answer;
};

struct Warp {
  Access access;
  unsigned live, ready;
  Lane lanes[LANES];
};

Warp warps[WARPS], *warp, *alone; // the running warp, and the only one that may run, if any
unsigned running, waiting;        // masks of warps; a waiting warp starts when another one accesses shared data
unsigned lane;
jmp_buf scheduler;
uint64_t chance;

unsigned below(unsigned limit) {
  chance = chance * 0x5851f42d4c957f2dull + 0x14057b7e767814full;
  return (unsigned)((chance >> 32) * limit >> 32);
}

// Returns the index of a random bit that is set.
unsigned random_bit(unsigned bits) {
  const unsigned turn = below(32);
  const unsigned turned = bits >> turn | (turn ? bits << (32 - turn) : 0);
  return (__builtin_ctz(turned) + turn) % 32;
}

template <class F> void each(unsigned bits, F visit) {
  for (; bits != 0; bits &= bits - 1) visit((unsigned)__builtin_ctz(bits));
}

// Stops the lane and returns to the scheduler.
__attribute__((noinline)) void stop() {
  if (_setjmp(warp->lanes[lane].at) == 0) _longjmp(scheduler, 1);
}

__attribute__((noinline)) void resume(unsigned next) {
  lane = next;
  blockIdx.x = warp->access.cta;
  threadIdx.x = warp->access.first_thread + next;
  if (_setjmp(scheduler) == 0) _longjmp(warp->lanes[next].at, 1);
}

// Runs accesses on a lane's stack, one after another.
void run_accesses() {
  for (;;) {
    stop();
    run_lane(warp->access, lane);
    warp->live &= ~(1u << lane);
    warp->ready &= ~(1u << lane);
  }
}

__attribute__((noinline)) void begin_stack(unsigned index) {
  lane = index;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = malloc(STACK_BYTES);
  context.uc_stack.ss_size = STACK_BYTES;
  makecontext(&context, run_accesses, 0);
  if (_setjmp(scheduler) == 0) setcontext(&context);
}

void begin_stacks() {
  for (Warp &w : warps) {
    warp = &w;
    for (unsigned l = 0; l < LANES; ++l) begin_stack(l);
  }
}

// Starts waiting warps.
void start(unsigned mask) {
  waiting &= ~mask;
  running |= mask;
}

// May run other lanes. If a warp is waiting, starts it; half of the time, that warp then runs to completion.
void interleave() {
  if (waiting != 0) {
    const unsigned next = random_bit(waiting);
    start(1u << next);
    if (below(2) == 0) alone = &warps[next];
    stop();
  } else if (below(4) == 0) {
    stop();
  }
}

// Stops the lane until it receives the mask of the lanes at this place.
unsigned meet(const void *place) {
  warp->lanes[lane].place = place;
  warp->ready &= ~(1u << lane);
  stop();
  return warp->lanes[lane].answer;
}

// Gives the lanes at one place their mask, which contains all of them or, as after a branch, only some.
void settle() {
  const unsigned stopped = warp->live & ~warp->ready;
  if (stopped == 0) return;
  const void *place = warp->lanes[random_bit(stopped)].place;
  unsigned group = 0;
  each(stopped, [&](unsigned l) { group |= (warp->lanes[l].place == place) << l; });
  if (below(8) == 0) {
    const unsigned part = group & (unsigned)(chance >> 16);
    if (part != 0) group = part;
  }
  each(group, [&](unsigned l) { warp->lanes[l].answer = group; });
  warp->ready |= group;
}

// Runs a lane of the warp until it stops. Lanes that can continue need not wait for the others, but usually do.
void step() {
  if (warp->ready == 0 || below(32) == 0) settle();
  resume(random_bit(warp->ready));
}

// Runs the started warps to completion.
void run_warps() {
  while (running != 0) {
    warp = alone ? alone : &warps[random_bit(running)];
    step();
    if (warp->live != 0) continue;
    running &= ~(1u << (warp - warps));
    alone = nullptr;
  }
}

// Runs the waiting warps as well.
void run_waiting() {
  start(waiting);
  run_warps();
}

// Assigns an access to a free warp.
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

// `change` computes the new value from the old one.
template <class T, class F> T atomic(T *word, F change) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words must be 32 or 64 bits wide");
  interleave();
  const T was = *word;
  *word = change(was);
  return was;
}

template <class T> struct Same { typedef T type; };

} // namespace host

__attribute__((noinline)) static unsigned __activemask() { return host::meet(__builtin_return_address(0)); }

template <class T> static T atomicAdd(T *word, typename host::Same<T>::type value) {
  return host::atomic(word, [=](T was) { return was + value; });
}
template <class T> static T __ldg(const T *place) { return *place; }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static int __ffs(unsigned bits) { return __builtin_ffs((int)bits); }
