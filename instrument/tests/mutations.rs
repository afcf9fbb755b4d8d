//! Faults injected into the instrumenter on purpose: each must make at least one test fail.
//!
//! `cargo test --release -p superstep-instrument --features mutations --test mutations -- --nocapture every_injected_fault` runs,
//! for each fault, the file tests and, if those do not notice, five batches of generated programs and some CUDA sources against
//! the faulty instrumenter, and prints which of them noticed. `SUPERSTEP_MUTATIONS_BOTH=1` asks both in any case.

mod filetests;
#[path = "generated_programs/main.rs"]
mod generated_programs;

use std::process::Command;

/// Every fault that `src/mutation.rs` knows, and what it does.
const FAULTS: &[(&str, &str)] = &[
    ("drop-kernel-parameter", "kernel parameters count as local"),
    (
        "drop-by-value-member",
        "pointers inside by-value structures count as parameters",
    ),
    ("drop-global-variable", "global variables count as local"),
    (
        "drop-loaded-pointer",
        "pointers read from memory count as local",
    ),
    ("drop-malloc", "the device's heap counts as local"),
    ("select-first", "a select is what its first operand is"),
    ("phi-first", "a phi is what its first incoming value is"),
    (
        "join-ignores-mixed",
        "two spaces that meet are the first of them",
    ),
    (
        "number-is-global",
        "an address made from a number is global",
    ),
    (
        "loaded-always-global",
        "memory holds global pointers, whatever is stored there",
    ),
    (
        "forget-address-as-number",
        "an address stored as a number is not noticed",
    ),
    (
        "indirect-callee-global",
        "functions called through pointers get global pointers only",
    ),
    ("skip-clone", "calls keep leading to the original function"),
    ("vector-width", "a vector is as wide as one of its elements"),
    ("forget-memset", "memset is no access"),
    ("forget-cmpxchg", "cmpxchg is no access"),
    ("atomic-as-load", "atomicrmw is a load"),
    ("probe-empty-copy", "a copy of no bytes is traced"),
    (
        "forget-by-value-call",
        "passing a structure by value reads nothing",
    ),
    (
        "parameters-never-written",
        "by-value structures hold global pointers, whatever is stored there",
    ),
    (
        "by-value-is-global",
        "a structure passed to a kernel by value lies in global memory",
    ),
    (
        "copied-argument-is-global",
        "a structure passed to a function by value lies in global memory",
    ),
    ("alloca-is-global", "stack variables are global"),
    ("shared-is-global", "what is typed as shared is global"),
    ("constant-is-global", "what is typed as constant is global"),
    (
        "literal-is-constant",
        "string literals lie in constant memory",
    ),
    ("select-second", "a select is what its second operand is"),
    ("phi-last", "a phi is what its last incoming value is"),
    ("phi-gives-up", "a phi is always undecided"),
    (
        "first-member-for-all",
        "each member of a structure is what its first pointer is",
    ),
    (
        "forget-inserted-member",
        "a pointer put into a structure is not seen in it",
    ),
    (
        "forget-inserted-element",
        "a pointer put into a vector is not seen in it",
    ),
    ("one-sweep", "facts are not followed around loops"),
    (
        "one-context",
        "a function has one context, all others are undecided",
    ),
    ("wrong-clone", "calls lead to the copy of another context"),
    ("result-global", "functions return global pointers"),
    (
        "indirect-result-global",
        "functions called through pointers return global pointers",
    ),
    (
        "forget-taken-address",
        "only direct calls say what a function's parameters are",
    ),
    ("forget-store", "a store puts no pointer into memory"),
    (
        "forget-exchange",
        "an atomic exchange puts no pointer into memory",
    ),
    (
        "forget-pointer-in-structure",
        "pointers inside structures and vectors are not seen when stored",
    ),
    (
        "forget-constant-number",
        "an address inside a constant is not noticed",
    ),
    (
        "forget-initial-values",
        "what variables start with is not looked at",
    ),
    ("store-as-load", "a store is a load"),
    ("atomic-sub-as-add", "an atomic subtraction is an addition"),
    ("forget-atomicrmw", "atomicrmw is no access"),
    ("forget-inline-ptx", "inline PTX accesses nothing"),
    ("forget-copy-source", "memcpy reads nothing"),
    ("forget-copy-target", "memcpy writes nothing"),
    ("copy-reversed", "memcpy writes before it reads"),
    (
        "length-as-width",
        "a copy of variable length is 8 bytes wide",
    ),
    ("probe-twice", "each access is recorded twice"),
    (
        "drop-tested",
        "what must be tested at run time is not traced",
    ),
    ("ignore-strict", "--strict refuses nothing"),
    (
        "accept-second-pass",
        "what is instrumented is instrumented again",
    ),
    (
        "constants-point-to-global",
        "constant variables hold global pointers, whatever they start with",
    ),
    (
        "never-test",
        "what must be tested at run time is traced untested",
    ),
];

/// Whether the tests of this binary whose names start with `prefix` fail with the fault.
fn noticed(fault: &str, prefix: &str) -> bool {
    let run = Command::new(std::env::current_exe().unwrap())
        .args([prefix, "--skip", "both_backends"])
        .env("SUPERSTEP_MUTATION", fault)
        .env("SUPERSTEP_GENERATED_PROGRAMS", "495")
        .env("SUPERSTEP_GENERATED_SOURCES", "50")
        .env("SUPERSTEP_GENERATED_QUICK", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(
        !text.contains("running 0 tests"),
        "no test is called {prefix}"
    );
    !run.status.success()
}

#[test]
fn every_injected_fault_is_noticed() {
    assert!(
        !noticed("", "filetests::"),
        "the file tests fail without a fault"
    );
    let both = std::env::var_os("SUPERSTEP_MUTATIONS_BOTH").is_some();
    let mut unnoticed = Vec::new();
    for (fault, what) in FAULTS {
        let by_files = noticed(fault, "filetests::");
        let by_programs = (both || !by_files).then(|| noticed(fault, "generated_programs::"));
        let answer = |noticed: Option<bool>| match noticed {
            Some(true) => "noticed",
            Some(false) => "-",
            None => "not asked",
        };
        println!(
            "{fault:26} file tests: {:8} generated programs: {:9} {what}",
            answer(Some(by_files)),
            answer(by_programs)
        );
        if !by_files && by_programs == Some(false) {
            unnoticed.push(*fault);
        }
    }
    assert!(unnoticed.is_empty(), "nothing noticed {unnoticed:?}");
}
