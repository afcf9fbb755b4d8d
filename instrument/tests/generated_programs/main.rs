//! Uses generated programs to test that each access to global memory, and no other access, is traced exactly once.
//!
//! Device modules with pointers to all spaces, mixed through phis, selects, casts, integers, structures, memory, calls
//! and recursion, run on the CPU in two forms. In one, the program calls an oracle before each access; the other is
//! instrumented. A driver, which owns all global memory, decides which of the oracle's accesses are global. Both forms
//! must yield the same sequence of (operation, address, width) and the same final memory. In addition, LLVM verifies
//! each module, and every fourth batch checks that both backends find the same sites, that a second pass is rejected,
//! and that `--strict` rejects exactly the modules in which something is tested at run time.
//!
//! CUDA C++ sources (`source/`), which Clang compiles first, are tested in the same way.
//!
//! `SUPERSTEP_GENERATED_PROGRAMS` sets the number of programs (2,000 by default; the long run has 100,000),
//! `SUPERSTEP_GENERATED_SOURCES` sets the number of sources (300), and `SUPERSTEP_GENERATED_SEED` sets the seed. A
//! failing program is minimised and stored as IR.

mod access;
mod batch;
mod body;
mod calls;
mod pointers;
mod program;
mod recipe;
mod scope;
mod smuggling;
mod source;
mod tool;
mod verdict;

use batch::Language;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use recipe::Recipe;
use scope::Mode;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// Programs per module in a batch. Some modules have one program, so that no other program affects the analysis.
const MODULE_SIZES: &[usize] = &[1, 1, 2, 4, 8, 12, 16, 24, 32];
/// Programs per module in a long run, which starts fewer processes per program.
const LONG_MODULE_SIZES: &[usize] = &[1, 2, 16, 96, 96, 128, 128, 160];
/// Programs per module for CUDA sources.
const SOURCE_SIZES: &[usize] = &[1, 8, 16];
/// Minimum number of programs in a long run.
const LONG_RUN: usize = 10_000;
/// Maximum number of attempts to minimise a failing program.
const SHRINKING_STEPS: usize = 400;

type Tree = Box<dyn ValueTree<Value = Recipe>>;

fn setting(name: &str, default: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Returns the programs of a batch by module, each with its restrictions on mixing pointers.
fn trees(seed: usize, batch: usize, sizes: &[usize]) -> Vec<Vec<(Tree, Mode)>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&(seed as u64).to_le_bytes());
    bytes[8..16].copy_from_slice(&(batch as u64).to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = recipe::recipe();
    let mut modules = Vec::new();
    for (number, size) in sizes.iter().copied().enumerate() {
        let mut programs: Vec<(Tree, Mode)> = Vec::new();
        for program in 0..size {
            let tree: Tree = Box::new(strategy.new_tree(&mut runner).unwrap());
            // A single program that stores non-global pointers must change the assumptions for the whole module.
            let mode = match (number + batch) % 4 {
                _ if number == 1 => Mode::Smuggling,
                0 => Mode::Plain,
                1 if program + 1 == size => Mode::Smuggling,
                1 => Mode::Plain,
                2 => Mode::Pure,
                _ => Mode::Free,
            };
            programs.push((tree, mode));
        }
        modules.push(programs);
    }
    modules
}

fn current(modules: &[Vec<(Tree, Mode)>]) -> Vec<Vec<program::Program>> {
    modules
        .iter()
        .map(|module| {
            module
                .iter()
                .map(|(tree, mode)| (tree.current(), *mode))
                .collect()
        })
        .collect()
}

/// Runs a batch; if it fails, minimises and describes the failure.
fn run_batch(
    seed: usize,
    number: usize,
    sizes: &[usize],
    language: Language,
) -> Result<batch::Totals, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut modules = trees(seed, number, sizes);
    // The instrumenter is slow to start, so only some batches are thorough.
    let plan = batch::Plan {
        language,
        shift: number,
        thorough: number.is_multiple_of(4),
    };
    let failure = match batch::run(&current(&modules), plan, folder.path()) {
        Ok(totals) => return Ok(totals),
        Err(failure) => failure,
    };
    if std::env::var_os("SUPERSTEP_GENERATED_QUICK").is_some() {
        return Err(failure.message);
    }
    let stage = failure.stage;
    let run_alone = |module: Vec<program::Program>, shift| {
        let plan = batch::Plan { shift, ..plan };
        batch::run(&[module], plan, folder.path())
            .err()
            .filter(|failure| failure.stage == stage)
    };
    let mut message = format!("the batch fails only as a whole: {}", failure.message);
    'search: for (index, module) in modules.iter_mut().enumerate() {
        if failure.module.is_some_and(|blamed| blamed != index) {
            continue;
        }
        let shift = number + index;
        for (tree, mode) in module.iter_mut() {
            let Some(mut found) = run_alone(vec![(tree.current(), *mode)], shift) else {
                continue;
            };
            let (mut smaller, mut failing) = (tree.simplify(), tree.current());
            let mut best = None;
            for _ in 0..SHRINKING_STEPS {
                if !smaller {
                    break;
                }
                failing = tree.current();
                smaller = match run_alone(vec![(failing.clone(), *mode)], shift) {
                    Some(failure) => {
                        found = failure;
                        best = Some(failing.clone());
                        tree.simplify()
                    }
                    None => tree.complicate(),
                };
            }
            let smallest = best.unwrap_or(failing);
            let repeated = run_alone(vec![(smallest, *mode)], shift);
            message = repeated.map_or(found.message, |failure| failure.message);
            break 'search;
        }
        if failure.module.is_some() {
            let programs = current(std::slice::from_ref(module)).remove(0);
            if let Some(found) = run_alone(programs, shift) {
                message = format!(
                    "a module fails, but none of its programs fails on its own: {}",
                    found.message
                );
            }
        }
    }
    let saved = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated-failure");
    std::fs::create_dir_all(&saved).unwrap();
    for name in ["0.oracle.ll", "0.traced.ll", "0.traced.cu", "0.traced.json"] {
        std::fs::copy(folder.path().join(name), saved.join(name)).ok();
    }
    Err(format!(
        "SUPERSTEP_GENERATED_SEED={seed}, batch {number}: {message}\nthe IR is in {}",
        saved.display()
    ))
}

#[test]
fn traces_contain_exactly_the_global_accesses() {
    let programs = setting("SUPERSTEP_GENERATED_PROGRAMS", 2000);
    let sizes = if programs >= LONG_RUN {
        LONG_MODULE_SIZES
    } else {
        MODULE_SIZES
    };
    run_all(programs, sizes, Language::Ir);
}

#[test]
fn traces_of_cuda_sources_contain_exactly_the_global_accesses() {
    let programs = setting("SUPERSTEP_GENERATED_SOURCES", 300);
    run_all(programs, SOURCE_SIZES, Language::Cuda);
}

/// Runs at least `programs` programs on all processors.
fn run_all(programs: usize, sizes: &[usize], language: Language) {
    let seed = setting("SUPERSTEP_GENERATED_SEED", 0);
    let batch_size = sizes.iter().sum::<usize>();
    let batches = programs.div_ceil(batch_size);
    let (start, next, stop) = (Instant::now(), AtomicUsize::new(0), AtomicBool::new(false));
    let results = Mutex::new((batch::Totals::default(), Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(batches) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= batches {
                        break;
                    }
                    let result = run_batch(seed, number, sizes, language);
                    let mut results = results.lock().unwrap();
                    match result {
                        Ok(totals) => {
                            results.0.add(totals);
                            if programs >= LONG_RUN {
                                let seconds = start.elapsed().as_secs();
                                let done = results.0.programs;
                                println!(
                                    "{done} of {} programs in {seconds} s",
                                    batches * batch_size
                                );
                            }
                        }
                        Err(message) => {
                            stop.store(true, Ordering::Relaxed);
                            results.1.push(message);
                        }
                    }
                }
            });
        }
    });
    let (totals, failures) = results.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(
        totals.accesses > 0 && totals.proven > 0 && totals.tested > 0,
        "{totals:?}"
    );
    assert!(totals.accepted > 0 && totals.refused > 0, "{totals:?}");
    println!(
        "{language:?}, seed {seed}, {} programs in {:.0} s: {totals:?}",
        totals.programs,
        start.elapsed().as_secs_f64()
    );
}
