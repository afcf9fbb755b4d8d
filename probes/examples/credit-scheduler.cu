// Two programs share a GPU, and a scheduler gives half of it to each (GPU Ocelot's experiment 4): it uses the probe
// `cta-clocks` to measure how long each program's kernels run, and sets how often each program may launch a kernel.
//
//   superstep probe cta-clocks credit-scheduler.cu --volatile-lines '^utilisation' -- SECONDS SMALL LARGE
//
// Both programs multiply square matrices, A with SMALL rows and B with LARGE rows. Each initially launches a kernel
// every 10 ms; the scheduler is idle for the first half of the run, then adjusts the periods every 50 ms.
// `utilisation.csv` contains its measurements. Without the probe, it measures nothing, and the periods do not change.
#include <superstep/runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr char board_file[] = "credits";
constexpr double target = 0.5;

// State shared by the programs and the scheduler, in a file that all of them map; initially zero.
struct Program {
  std::atomic<unsigned> period_us; // launch period, set by the scheduler
  std::atomic<unsigned> launches;
  std::atomic<unsigned long long> busy_ns; // time of all its kernels so far
};
struct Board {
  Program programs[2];
  std::atomic<bool> stop;
};

static Board *open_board() {
  const int file = open(board_file, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Board)) != 0) return nullptr;
  void *memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<Board *>(memory);
}

__global__ void multiply(const float *a, const float *b, float *c, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= n || row >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// Returns the mean time for which the kernel kept its SMs busy. Each SM has its own clock, so the span from the first
// start to the last end is measured per SM, and the longest span is assumed to be the launch's elapsed time.
static unsigned long long busy_ns(const superstep_launch *launch) {
  struct Span { unsigned long long first = ~0ull, last = 0; };
  std::map<unsigned long long, Span> spans;
  for (unsigned long long cta = 0; cta < launch->rows; ++cta) {
    unsigned long long start = 0, end = 0, sm = 0;
    for (unsigned site = 0; site < launch->sites; ++site) {
      const unsigned long long *fields = launch->values + (cta * launch->sites + site) * launch->fields;
      if (fields[0] != ~0ull) start = fields[0];
      if (fields[1] != 0) end = std::max(end, fields[1]), sm = fields[2];
    }
    Span &span = spans[sm];
    span.first = std::min(span.first, start);
    span.last = std::max(span.last, end);
  }
  unsigned long long cycles = 0, longest = 1;
  for (const auto &[sm, span] : spans) {
    cycles += span.last - span.first;
    longest = std::max(longest, span.last - span.first);
  }
  return launch->elapsed_ns * (double(cycles) / spans.size() / longest);
}

static void record_launch(const superstep_launch *launch, void *user) {
  static_cast<Program *>(user)->busy_ns += busy_ns(launch);
}

static int run_program(Board &board, int which, int n) {
  Program &program = board.programs[which];
  if (superstep_has_probe && superstep_has_probe()) superstep_observe(nullptr, record_launch, &program);
  float *a, *b, *c;
  const size_t bytes = sizeof(float) * n * n;
  if (cudaMallocManaged(&a, bytes) || cudaMallocManaged(&b, bytes) || cudaMallocManaged(&c, bytes)) return 2;
  for (int i = 0; i < n * n; ++i) a[i] = i % 3, b[i] = i % 5;
  const dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
  auto next = Clock::now();
  while (!board.stop) {
    std::this_thread::sleep_until(next);
    next = std::max(next + microseconds(program.period_us), Clock::now());
    multiply<<<grid, block>>>(a, b, c, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    ++program.launches;
  }
  float expected = 0;
  for (int k = 0; k < n; ++k) expected += a[(n - 1) * n + k] * b[k * n + n - 1];
  return c[n * n - 1] == expected ? 0 : 4;
}

static pid_t start(const char *which, const char *n) {
  const pid_t child = fork();
  if (child != 0) return child;
  // Only the scheduler writes the results of this run.
  for (const char *name : {"SUPERSTEP_PROBE_RESULTS", "SUPERSTEP_SUMMARY", "SUPERSTEP_CAPTURE"}) unsetenv(name);
  execl("/proc/self/exe", "credit-scheduler", which, n, static_cast<char *>(nullptr));
  _exit(127);
}

static void schedule(Board &board, double seconds) {
  FILE *table = std::fopen("utilisation.csv", "w");
  if (!table) return;
  std::fprintf(table, "ms,scheduled,program,period_us,launches,utilisation_percent\n");
  unsigned long long busy[2] = {};
  double share[2][2] = {};
  int windows[2] = {};
  const auto begin = Clock::now();
  auto last = begin;
  for (int tick = 1; tick <= seconds * 20; ++tick) {
    std::this_thread::sleep_until(begin + milliseconds(50 * tick));
    const auto now = Clock::now();
    const double window_ns = std::chrono::duration<double, std::nano>(now - last).count();
    last = now;
    const bool scheduled = tick > seconds * 10;
    // The periods must settle before measurements count.
    const bool settled = scheduled ? tick > seconds * 15 : tick > seconds * 5;
    windows[scheduled] += settled;
    for (int which = 0; which < 2; ++which) {
      Program &program = board.programs[which];
      const unsigned long long busy_now = program.busy_ns;
      const double utilisation = (busy_now - busy[which]) / window_ns;
      busy[which] = busy_now;
      if (settled) share[scheduled][which] += utilisation;
      std::fprintf(table, "%d,%d,%c,%u,%u,%.1f\n", 50 * tick, scheduled, 'A' + which, program.period_us.load(),
                   program.launches.load(), 100 * utilisation);
      // Lowers the launch rate of a program that used more than its credit, and raises it for one that used less.
      if (scheduled && utilisation > 0)
        program.period_us = std::clamp(program.period_us * std::sqrt(utilisation / target), 100.0, 1e6);
    }
  }
  std::fclose(table);
  for (int scheduled = 0; scheduled < 2; ++scheduled)
    std::printf("utilisation %s: A %.1f %%, B %.1f %%\n", scheduled ? "with the scheduler" : "without it",
                100 * share[scheduled][0] / std::max(windows[scheduled], 1),
                100 * share[scheduled][1] / std::max(windows[scheduled], 1));
}

int main(int count, char **arguments) {
  const bool is_program = count == 3 && std::strlen(arguments[1]) == 1;
  if (!is_program && count != 4) return std::fprintf(stderr, "usage: credit-scheduler SECONDS SMALL LARGE\n"), 2;
  if (!is_program) unlink(board_file);
  Board *board = open_board();
  if (!board) return std::perror(board_file), 1;
  if (is_program) return run_program(*board, *arguments[1] - 'A', std::atoi(arguments[2]));
  for (Program &program : board->programs) program.period_us = 10'000;
  const pid_t programs[] = {start("A", arguments[2]), start("B", arguments[3])};
  schedule(*board, std::atof(arguments[1]));
  board->stop = true;
  bool passed = true;
  for (const pid_t program : programs) {
    int status = 0;
    passed &= waitpid(program, &status, 0) == program && status == 0;
  }
  unlink(board_file);
  std::puts(passed ? "PASSED" : "FAILED");
  return passed ? 0 : 1;
}
