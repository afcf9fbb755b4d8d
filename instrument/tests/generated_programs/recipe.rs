//! What proptest generates: programs as lists of small steps, each of which stays meaningful whatever is removed before it.

use proptest::collection::vec;
use proptest::prelude::*;

/// One step of a function. Its meaning comes from `kind`; the choices select among what is there at that point.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which statement to write, 0 to 99.
    pub kind: u8,
    /// Choices that the statement makes.
    pub choices: [u16; 4],
}

/// A program: device functions and kernels, which run one after the other on the same memory.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// What initial values and tables hold.
    pub memory: [u16; 8],
    /// Functions with the signature that indirect calls use.
    pub functions: Vec<Vec<Step>>,
    /// Functions that take a structure by value and return one.
    pub by_value: Vec<Vec<Step>>,
    /// Kernels.
    pub kernels: Vec<Vec<Step>>,
}

fn step() -> impl Strategy<Value = Step> {
    (0..100_u8, any::<[u16; 4]>()).prop_map(|(kind, choices)| Step { kind, choices })
}

/// Programs whose functions and kernels have steps in the given ranges, and so many kernels at most.
fn sized(
    functions: usize,
    by_value: usize,
    kernels: std::ops::Range<usize>,
    most_kernels: usize,
) -> BoxedStrategy<Recipe> {
    (
        any::<[u16; 8]>(),
        vec(vec(step(), 1..functions), 1..=most_kernels + 1),
        vec(vec(step(), 1..by_value), 1..=most_kernels),
        vec(vec(step(), kernels), 1..=most_kernels),
    )
        .prop_map(|(memory, functions, by_value, kernels)| Recipe {
            memory,
            functions,
            by_value,
            kernels,
        })
        .boxed()
}

/// All programs. The larger one is, the more meets in it; the smaller, the more there are in the same time.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    prop_oneof![6 => sized(6, 4, 3..16, 1), 1 => sized(12, 8, 10..40, 2)]
}
