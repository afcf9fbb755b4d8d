//! Corrects and optimises the device IR of a translation unit, in place of Clang's optimiser.
//!
//! The corrections must precede the optimiser: see [`assembly`] and [`constants`].

use crate::ir;
use crate::ir::traits::*;
use crate::semantics::{assembly, constants};
use anyhow::Result;
use std::path::PathBuf;

/// Corrects the IR from Clang's front end, and optimises it as Clang would.
#[derive(Debug, clap::Args)]
pub struct Prepare {
    /// Bitcode that Clang wrote with `-Xclang -disable-llvm-passes`.
    input: PathBuf,
    /// GPU to optimise for, such as `sm_90`.
    #[arg(long)]
    target_cpu: String,
    /// Optimisation passes, in LLVM's notation.
    #[arg(long, default_value = "default<O2>")]
    passes: String,
    /// Approximate single-precision square roots, as nvcc does with `-prec-sqrt=false`.
    #[arg(long)]
    inexact_roots: bool,
    /// Bitcode to write.
    #[arg(short, long)]
    output: PathBuf,
    /// Print the result as IR text.
    #[arg(long)]
    print: bool,
}

/// Annotation that `harness/compatibility/old_cuda.h` adds to kernels with `__cluster_dims__`; it lists the dimensions.
const CLUSTER: &str = "superstep-cluster";

/// LLVM's attribute for the three dimensions of a kernel's clusters.
pub const CLUSTER_DIMENSIONS: &str = "nvvm.cluster_dim";

/// Sets the cluster dimensions of each kernel. Clang parses `__cluster_dims__` but ignores it for NVIDIA GPUs.
fn set_cluster_dimensions(module: &ir::Module) {
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

/// Preserves device-heap allocations. If a function frees the memory that it allocates, LLVM removes the allocation and
/// all stores to it; nvcc does not.
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
        set_cluster_dimensions(&module);
        keep_heap(&module);
        constants::place(&mut module);
        module.delete_unused(ir::ANNOTATIONS);
        let machine = ir::Machine::nvptx(&self.target_cpu)?;
        module.run_passes("reading the input", &self.passes, &machine)?;
        assembly::drop_unused(&module);
        // The front end gets a flag that forbids lookup tables for `switch`, since nvcc generates none. Code
        // generation may use jump tables.
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
