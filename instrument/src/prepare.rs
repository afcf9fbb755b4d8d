//! The device IR of a translation unit between Clang's front end and LLVM's optimiser, which Clang leaves out.
//!
//! What is corrected here is what the optimiser would draw conclusions from: see [`assembly`](crate::assembly)
//! and [`constants`](crate::constants).

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

impl Prepare {
    pub fn run(&self) -> Result<()> {
        let mut module = ir::Module::read(&self.input)?;
        ir::discard_names();
        assembly::declare(&module);
        ir::round_roots(!self.inexact_roots);
        constants::place(&mut module);
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
