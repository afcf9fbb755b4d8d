// Launches that pass data to later ones, to test in-situ aggregates, all of whose values are known in advance.
//
//   exchange WORDS TILE ROUNDS LAUNCHES       the first two are logarithms: memory of 2^WORDS words, 2^TILE per CTA
//
// In each round of a launch, a CTA performs four 4-byte accesses for each word of its tile: it stores the word, and loads a word of a
// table that only the host writes, a word that the previous launch stored at a small offset from the CTA's own, and a word that the
// previous launch stored in another tile, at a permuted position. The first three are coalesced, the last one is scattered.
//
// A launch thus performs 4 * 2^WORDS * ROUNDS accesses. For the other formulas, see `superstep-bench in-situ` (tools/bench/src/in_situ.rs).

#include <cstdio>
#include <cstdlib>
#include <vector>

static const unsigned THREADS = 256;

// Applies a permutation of the `bits`-bit integers.
__host__ __device__ inline unsigned scramble(unsigned i, unsigned bits, unsigned round) {
  const unsigned mask = (1u << bits) - 1, half = (bits + 1) / 2;
  i = (i + round * 0x9e3779b1u) & mask;
  i ^= i >> half;
  i = (i * 0x85ebca6bu) & mask;
  return i ^ i >> half;
}

__global__ void exchange(const unsigned *in, const unsigned *table, unsigned *out, unsigned tile, unsigned shift, unsigned hop,
                         unsigned rounds) {
  const unsigned last = (gridDim.x << tile) - 1, own = blockIdx.x << tile;
  const unsigned other = (blockIdx.x + hop) % gridDim.x << tile;
  for (unsigned round = 0; round < rounds; ++round)
    for (unsigned i = threadIdx.x; i < 1u << tile; i += blockDim.x)
      out[own + i] = in[(own + i + shift) & last] + table[own + i] + in[other + scramble(i, tile, round)] + round;
}

static bool failed = false;

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  printf("%s: %s\n", what, cudaGetErrorString(error));
  failed = true;
}

static unsigned sum(const std::vector<unsigned> &words) {
  unsigned all = 0;
  for (unsigned word : words) all += word;
  return all;
}

int main(int argc, char **argv) {
  if (argc != 5) return fprintf(stderr, "usage: exchange WORDS TILE ROUNDS LAUNCHES\n"), 2;
  const int bits = atoi(argv[1]), tile = atoi(argv[2]), rounds = atoi(argv[3]), launches = atoi(argv[4]);
  if (bits > 30 || tile < 3 || bits < tile + 2 || rounds < 1 || launches < 1)
    return fprintf(stderr, "exchange: at most 2^30 words, at least 4 tiles of at least 2^3 words\n"), 2;
  const unsigned ctas = 1u << (bits - tile);
  std::vector<unsigned> words(1ull << bits);
  const size_t bytes = words.size() * sizeof(unsigned);
  unsigned *memory[2], *table;
  for (unsigned **it : {&memory[0], &memory[1], &table}) check(cudaMalloc(it, bytes), "cudaMalloc");
  for (size_t i = 0; i < words.size(); ++i) words[i] = unsigned(i) * 2654435761u;
  check(cudaMemcpy(memory[0], words.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaMemcpy(table, words.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  const unsigned table_sum = sum(words);
  unsigned expected = table_sum;
  for (int launch = 0; launch < launches && !failed; ++launch) {
    // Skips the CTA itself and the next one, whose words it loads anyway.
    const unsigned hop = 2 + launch % (ctas - 3);
    exchange<<<ctas, THREADS>>>(memory[launch % 2], table, memory[1 - launch % 2], tile, (1u << tile) / 8, hop, rounds);
    check(cudaGetLastError(), "launch of exchange");
    // In the last round, each of the two loads of the previous launch's words reads every word once.
    expected = 2 * expected + table_sum + unsigned(rounds - 1) * unsigned(words.size());
  }
  check(cudaMemcpy(words.data(), memory[launches % 2], bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (sum(words) != expected) printf("the sum of the words is wrong\n"), failed = true;
  printf("%s\n", failed ? "FAILED" : "PASSED");
  return failed;
}
