//! `superstep-bench fuzz`: a suite of random kernels. Each thread ends with a store whose address depends on all that it computed, so
//! the capture's digest does, too: golden results of one backend or device show whether another one computes the same.

mod operations;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use superstep_build::exit_code;
use superstep_build::failure::Failure;

use operations::{CTA, CXX, PTX, WARP};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for the suite; `superstep suite DIR` runs it.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Number of kernels.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    kernels: u32,
    /// Kernels of each program.
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..))]
    each: u32,
    /// Seed of the first kernel; the others count on from it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let mut names = Vec::new();
    for first in (0..args.kernels).step_by(args.each as usize) {
        let seeds = u64::from(first)..u64::from(args.kernels.min(first + args.each));
        let seeds: Vec<u64> = seeds.map(|number| args.seed.wrapping_add(number)).collect();
        let name = format!("random-{}", seeds[0]);
        write(&args.out, &format!("{name}.cu"), &program(&seeds))?;
        write(
            &args.out,
            &format!("{name}.yaml"),
            &manifest(&name, seeds.len()),
        )?;
        names.push(name);
    }
    let suite = format!(
        "schema: 1\nname: random\ntitle: Random kernels\nsource: {{in-tree: true}}\ndefault-size: small\nbenchmarks: [{}]\n",
        names.join(", ")
    );
    write(&args.out, "suite.yaml", &suite)?;
    println!(
        "{} kernels in {} programs: {}",
        args.kernels,
        names.len(),
        args.out.display()
    );
    Ok(exit_code::OK)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    std::fs::create_dir_all(folder).map_err(Failure::io("create", &folder))?;
    std::fs::write(&path, text).map_err(Failure::io("write", &path))
}

fn manifest(name: &str, kernels: usize) -> String {
    format!(
        "schema: 1\nname: {name}\ntitle: Random kernels\nwhy: {kernels} kernels of random instructions; where each thread stores shows what it computed.\n\
         files: [{name}.cu]\ntranslation-units: [{{file: {name}.cu, language: cuda}}]\ndeterministic: true\nsizes:\n  small: {{args: []}}\n\
         checks:\n  exit-code: 0\n"
    )
}

fn program(seeds: &[u64]) -> String {
    let mut text = PROLOGUE.to_owned();
    for &seed in seeds {
        text += &Kernel::new(seed).text();
    }
    text += "int main() {\n    fill();\n    uint8_t *seen;\n    cudaMalloc(&seen, places);\n";
    for seed in seeds {
        let _ = writeln!(text, "    k{seed}<<<2, 64>>>(seen);");
    }
    text + "    return cudaDeviceSynchronize() != cudaSuccess;\n}\n"
}

/// A variable for each letter: its type, how many there are, and inline assembly's letter for it.
const VARIABLES: [(u8, &str, u64, char); 4] = [
    (b'W', "uint32_t", 5, 'r'),
    (b'Q', "uint64_t", 3, 'l'),
    (b'F', "float", 3, 'f'),
    (b'D', "double", 3, 'd'),
];

struct Kernel {
    seed: u64,
    random: ChaCha8Rng,
    body: String,
}

impl Kernel {
    fn new(seed: u64) -> Self {
        Kernel {
            seed,
            random: ChaCha8Rng::seed_from_u64(seed),
            body: String::new(),
        }
    }

    fn text(mut self) -> String {
        for _ in 0..16 {
            self.statement(0);
        }
        let mut declarations = String::new();
        let mut hash = String::new();
        for (letter, ty, count, _) in VARIABLES {
            let letter = char::from(letter.to_ascii_lowercase());
            for number in 0..count {
                let _ = writeln!(
                    declarations,
                    "    {ty} {letter}{number} = start<{ty}>(t * 14 + {});",
                    self.below(14)
                );
                let _ = writeln!(hash, "    h = mix(h, {letter}{number});");
            }
        }
        format!(
            "__global__ void k{}(uint8_t *seen) {{\n    __shared__ uint32_t tile[64];\n    uint32_t local[8] = {{}};\n    \
             const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;\n    tile[threadIdx.x] = local[t & 7] = t;\n    __syncthreads();\n{declarations}{}    uint64_t h = {};\n{hash}    \
             seen[(h ^ h >> 32) % places] = 1;\n}}\n",
            self.seed, self.body, self.seed
        )
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn choose<'a>(&mut self, table: &[(&'static str, &'a [&'a str])]) -> (&'static str, &'a str) {
        let all: usize = table.iter().map(|(_, texts)| texts.len()).sum();
        let mut number = self.below(all as u64) as usize;
        for (types, texts) in table {
            match texts.get(number) {
                Some(text) => return (types, text),
                None => number -= texts.len(),
            }
        }
        unreachable!("the number is below the sum of all lengths")
    }

    fn variable(&mut self, letter: u8) -> String {
        let letter = if matches!(letter, b'H' | b'B' | b'V') {
            b'W'
        } else {
            letter
        };
        let of_letter = |&&(known, ..): &&(u8, &str, u64, char)| known == letter;
        let count = VARIABLES
            .iter()
            .find(of_letter)
            .map_or(1, |&(_, _, count, _)| count);
        format!(
            "{}{}",
            char::from(letter.to_ascii_lowercase()),
            self.below(count)
        )
    }

    /// `depth`: branches and loops around it; not all threads of a warp take part inside of these.
    fn statement(&mut self, depth: usize) {
        match self.below(20) {
            0..3 if depth < 2 => self.branch(depth),
            3..5 if depth < 2 => self.repetition(depth),
            5..7 if depth == 0 => self.assembly(WARP),
            7 if depth == 0 => self.code(CTA),
            8..13 => self.code(CXX),
            _ => self.assembly(PTX),
        }
    }

    fn branch(&mut self, depth: usize) {
        let (variable, bits) = (self.variable(b'W'), self.below(31) + 1);
        let _ = writeln!(self.body, "    if ({variable} & {bits}) {{");
        self.some(depth);
        if self.below(2) == 0 {
            self.body += "    } else {\n";
            self.some(depth);
        }
        self.body += "    }\n";
    }

    fn repetition(&mut self, depth: usize) {
        let (variable, counter) = (self.variable(b'W'), ["i", "j"][depth]);
        let _ = writeln!(
            self.body,
            "    for (uint32_t {counter} = {variable} & 7; {counter}; {counter}--) {{"
        );
        self.some(depth);
        self.body += "    }\n";
    }

    fn some(&mut self, depth: usize) {
        for _ in 0..=self.below(3) {
            self.statement(depth + 1);
        }
    }

    fn assembly(&mut self, table: &[(&'static str, &[&str])]) {
        let (types, text) = self.choose(table);
        let operands = (0..types.len())
            .map(|number| format!("%{number}"))
            .collect::<Vec<_>>();
        let text = match text.contains('%') {
            true => text.to_owned(),
            false => format!("{text} {};", operands.join(", ")),
        };
        let text = text.replace('#', &self.below(256).to_string());
        let mut values: Vec<String> = types.bytes().map(|letter| self.variable(letter)).collect();
        if types.contains('V') {
            make_distinct(&mut values[1..]);
        }
        let constraint = |letter: u8| {
            let of_letter = |&&(known, ..): &&(u8, &str, u64, char)| known == letter;
            VARIABLES
                .iter()
                .find(of_letter)
                .map_or('r', |&(.., constraint)| constraint)
        };
        let inputs = types.bytes().zip(&values).skip(1);
        let inputs: Vec<_> = inputs
            .map(|(letter, value)| format!("\"{}\"({value})", constraint(letter)))
            .collect();
        let (result, letter) = (&values[0], types.as_bytes()[0]);
        // Instructions of a guarded half leave the result as it was.
        let _ = writeln!(
            self.body,
            "    asm volatile(\"{text}\" : \"={}\"({result}) : {});{}",
            constraint(letter),
            inputs.join(", "),
            plain(letter, result)
        );
    }

    fn code(&mut self, table: &[(&'static str, &[&str])]) {
        let (types, text) = self.choose(table);
        let mut text = text.replace('#', &self.below(256).to_string());
        let values: Vec<String> = types.bytes().map(|letter| self.variable(letter)).collect();
        for (number, value) in values.iter().enumerate() {
            text = text.replace(&format!("${number}"), value);
        }
        let _ = writeln!(
            self.body,
            "    {text}{}",
            plain(types.as_bytes()[0], &values[0])
        );
    }
}

/// Makes no two of them the same: ptxas 12.9 gives a wrong table to `lop3` of a, b, a with `xor` b behind it.
fn make_distinct(words: &mut [String]) {
    for index in 1..words.len() {
        let mut number = 0;
        while words[..index].contains(&words[index]) {
            words[index] = format!("w{number}");
            number += 1;
        }
    }
}

/// All NaNs become one: which of them an operation gives is open. And a zero that only the host knows is added to the bits, so that each
/// instruction stands for itself: ptxas makes one of two, not always the same (`neg.s32` of the least number, then `sub.sat.s32`).
fn plain(letter: u8, value: &str) -> String {
    match letter {
        b'F' | b'D' => format!(" {value} = one_nan({value});"),
        b'H' => format!(" {value} = one_nan_of_halves({value}, 0x7c00);"),
        b'B' => format!(" {value} = one_nan_of_halves({value}, 0x7f80);"),
        _ => format!(" {value} ^= zero;"),
    }
}

const PROLOGUE: &str = r"// Random kernels; written by superstep-bench fuzz.
#include <cstdint>
#include <cstring>
constexpr uint32_t words = 2048, places = 1 << 20;

__constant__ int zero;
__device__ float one_nan(float value) { return __int_as_float((value != value ? 0x7fffffff : __float_as_int(value)) ^ zero); }
__device__ double one_nan(double value) {
    return __longlong_as_double((value != value ? 0x7fffffffffffffffll : __double_as_longlong(value)) ^ zero);
}
__device__ uint32_t one_nan_of_halves(uint32_t pair, uint32_t infinity) {
    if ((pair & 0x7fff) > infinity) pair |= 0xffff;
    if ((pair >> 16 & 0x7fff) > infinity) pair |= 0xffff0000;
    return pair ^ zero;
}
// Constant memory is not traced, so what these load costs no instructions and no entries.
__constant__ alignas(8) uint32_t in[words];
template <typename T> __device__ T start(uint32_t from) { return ((const T *)in)[from % (words / 2)]; }
template <> __device__ float start(uint32_t from) { return one_nan(__int_as_float(in[from % words])); }
template <> __device__ double start(uint32_t from) { return one_nan(((const double *)in)[from % (words / 2)]); }
__device__ uint64_t mix(uint64_t h, uint64_t value) {
    h = (h ^ value) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}
__device__ uint64_t mix(uint64_t h, uint32_t value) { return mix(h, (uint64_t)value); }
__device__ uint64_t mix(uint64_t h, float value) { return mix(h, (uint64_t)__float_as_int(value)); }
__device__ uint64_t mix(uint64_t h, double value) { return mix(h, (uint64_t)__double_as_longlong(value)); }

// A third of the words are such that something happens at them.
static void fill() {
    static const uint32_t special[] = {0, 1, 2, 0xffffffff, 0x80000000, 0x7fffffff, 31, 32, 33, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x7fc00000, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f000000, 0x3c003c00, 0x7c00fc00, 0x7e000001,
                                       0x03ff0400, 0x3ff00000, 0x7ff00000, 0x43e00000, 0x41dfffff, 0x4f000000, 0xcf000000, 0x5f000000, 0x00010080};
    static uint32_t host[words];
    uint64_t state = 88172645463325252ull;
    for (uint32_t &word : host) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const uint32_t choice = (uint32_t)(state >> 20);
        word = choice % 3 == 0 ? special[choice / 3 % (sizeof special / sizeof *special)] : choice % 3 == 1 ? choice >> 8 & 255 : (uint32_t)(state >> 32);
        if (choice % 9 == 2) word = (word & 0x807fffff) | (110 + (choice >> 10) % 36) << 23;
    }
    cudaMemcpyToSymbol(in, host, sizeof host);
}

";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_kernel_and_every_operand_is_filled_in() {
        let all: String = (0..200).map(|seed| Kernel::new(seed).text()).collect();
        assert_eq!(Kernel::new(7).text(), Kernel::new(7).text());
        assert_ne!(Kernel::new(7).text()[10..], Kernel::new(8).text()[10..]);
        assert!(!all.contains('$') && !all.contains('#'), "{all}");
        let mut words = ["w1", "w0", "w1"].map(str::to_owned);
        make_distinct(&mut words);
        assert_eq!(words, ["w1", "w0", "w2"]);
    }
}
