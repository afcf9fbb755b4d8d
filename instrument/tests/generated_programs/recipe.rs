//! Recipes that proptest generates: programs as lists of small steps, each of which stays valid when earlier ones are
//! removed.

use proptest::collection::vec;
use proptest::prelude::*;

/// A step of a function. `kind` determines the step's meaning; the choices select among the values in scope.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Statement to write, 0 to 99.
    pub kind: u8,
    /// Choices for the statement.
    pub choices: [u16; 4],
}

/// A program: device functions, and kernels that run in turn on the same memory.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Initial values, and contents of tables.
    pub memory: [u16; 8],
    /// Functions with the signature that indirect calls use.
    pub functions: Vec<Vec<Step>>,
    /// Functions that accept and return a structure by value.
    pub by_value: Vec<Vec<Step>>,
    pub kernels: Vec<Vec<Step>>,
}

fn step() -> impl Strategy<Value = Step> {
    (0..100_u8, any::<[u16; 4]>()).prop_map(|(kind, choices)| Step { kind, choices })
}

/// Generates programs with at most `max_kernels` kernels; the other parameters limit the steps of each function and
/// kernel.
fn sized(
    functions: usize,
    by_value: usize,
    kernels: std::ops::Range<usize>,
    max_kernels: usize,
) -> BoxedStrategy<Recipe> {
    (
        any::<[u16; 8]>(),
        vec(vec(step(), 1..functions), 1..=max_kernels + 1),
        vec(vec(step(), 1..by_value), 1..=max_kernels),
        vec(vec(step(), kernels), 1..=max_kernels),
    )
        .prop_map(|(memory, functions, by_value, kernels)| Recipe {
            memory,
            functions,
            by_value,
            kernels,
        })
        .boxed()
}

/// Generates programs of two sizes: larger programs combine more steps; smaller programs run faster, so more can be
/// run.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    prop_oneof![6 => sized(6, 4, 3..16, 1), 1 => sized(12, 8, 10..40, 2)]
}
