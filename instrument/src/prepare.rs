//! The device IR of a translation unit between Clang's front end and LLVM's optimiser, which Clang leaves out.
//!
//! What is corrected here is what the optimiser would draw conclusions from: see [`assembly`](crate::assembly)
//! and [`constants`](crate::constants).

use crate::ir::traits::*;
use crate::{assembly, constants, ir};
use anyhow::Result;
use std::path::PathBuf;

/// Makes the IR of Clang's front end what Clang's optimiser would make of it, but with what it says wrongly corrected.
#[derive(Debug, clap::Args)]
pub struct Prepare {
    /// Bitcode that Clang wrote with `-Xclang -disable-llvm-passes`.
    input: PathBuf,
    /// The GPU to optimise for: `sm_90` and the like.
    #[arg(long)]
    target_cpu: String,
    /// What Clang's optimiser would run, in LLVM's notation.
    #[arg(long, default_value = "default<O2>")]
    passes: String,
    /// Approximate square roots in single precision, as nvcc's `-prec-sqrt=false`.
    #[arg(long)]
    inexact_roots: bool,
    /// Bitcode to write.
    #[arg(short, long)]
    output: PathBuf,
    /// Print the result as IR text, for tests and for reading.
    #[arg(long)]
    print: bool,
}

/// What `harness/compatibility/old_cuda.h` has Clang note of kernels with `__cluster_dims__`, with the dimensions.
const CLUSTER: &str = "superstep-cluster";

/// LLVM's attribute of a kernel whose CTAs run in clusters, with three dimensions.
pub const CLUSTER_DIMENSIONS: &str = "nvvm.cluster_dim";

/// Says of each kernel in which clusters its CTAs run. Clang reads the attribute, and makes nothing of it for NVIDIA's GPUs.
fn name_clusters(module: &ir::Module) {
    for annotation in module.annotations() {
        let kernel = annotation.value.as_function();
        if let Some(kernel) = kernel.filter(|_| annotation.text == CLUSTER) {
            let [x, y, z] = [0, 1, 2].map(|index| annotation.numbers.get(index).unwrap_or(&1));
            kernel.set_text_attribute(CLUSTER_DIMENSIONS, &format!("{x},{y},{z}"));
        }
    }
}

const HEAP: &str = "malloc free _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZdlPv _ZdaPv _ZdlPvm \
    _ZdaPvm";

/// Lets memory of the device's heap be what the program says. LLVM leaves out what is allocated and freed in one function, with all stores to
/// it; nvcc does not.
fn keep_heap(module: &ir::Module) {
    for function in HEAP.split(' ').filter_map(|name| module.function(name)) {
        function.set_attribute("nobuiltin");
        function
            .callers()
            .for_each(|call| call.remove_attribute("builtin"));
    }
}

impl Prepare {
    pub fn run(&self) -> Result<()> {
        let mut module = ir::Module::read(&self.input)?;
        ir::discard_names();
        assembly::declare(&module);
        ir::round_roots(!self.inexact_roots);
        name_clusters(&module);
        keep_heap(&module);
        constants::place(&mut module);
        module.delete_annotations();
        let machine = ir::Machine::nvptx(&self.target_cpu)?;
        module.run_passes("reading the input", &self.passes, &machine)?;
        assembly::drop_unused(&module);
        // Clang's front end gets the flag that forbids tables for `switch`, which nvcc does not make of numbers. Code generation may jump
        // through tables.
        for function in module.defined_functions() {
            function.remove_string_attributes(|name| name == "no-jump-tables");
        }
        module.write("the optimiser", &self.output)?;
        if self.print {
            print!("{}", module.print());
        }
        Ok(())
    }
}
