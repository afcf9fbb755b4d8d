//! Kernels as loops over the threads of a CTA, so that no thread needs a stack or a call of its own.
//!
//! A kernel without barriers becomes one loop around its body. One with barriers is cut at them: what runs from the entry,
//! or from behind a barrier, up to the next barrier or the end is a *region*, and each region is a loop over the CTA's
//! threads (continuation-based synchronization: Meyer, Alpay, Hack, Fröning and Heuveline, IWOCL 2023). What a thread
//! needs behind a barrier lies meanwhile in its CTA's *frame*. The runtime calls the *step* function of the kernel for a
//! region and a range of threads, and gets the region that they go on with; threads that part at a barrier are called by
//! themselves.
//!
//! Kernels that wait in another way (warp operations, barriers of some threads only, barriers in functions that were not
//! inlined, indirect calls), that end a thread in the middle of a function, or that have stack memory of varying size stay
//! what they are: their threads are fibers.

mod apart;
mod body;
mod columns;
mod frame;
mod regions;
mod rematerialise;
mod step;

use super::kernels::CpuKernel;
use crate::ir::{Function, Machine, Module, Opcode, Value};
use anyhow::Result;

/// What a region, and the step function, return when threads have ended.
const EXIT: u32 = u32::MAX;
/// What the step function returns when its threads part; where each goes stands at the start of the frame.
const DIVERGED: u32 = u32::MAX - 1;

/// The loops of a kernel.
pub struct Loops {
    /// `u32 step(void **args, void *frame, u32 region, u32 first, u32 last)`.
    pub step: Function,
    /// Bytes of a frame for each thread of the CTA, whose number is rounded up to a multiple of [`frame::THREADS_UNIT`].
    pub frame_bytes: u64,
    /// Whether the thread block does not say which thread runs, and the runtime has to run the CTA again after a fault.
    pub forgets_threads: bool,
}

/// Gives each kernel its loops; `None` where it cannot have them. Has to run while GPU operations are still intrinsics.
pub fn add(
    module: &Module,
    machine: &Machine,
    kernels: &[CpuKernel],
    traced: bool,
) -> Result<Vec<Option<Loops>>> {
    kernels
        .iter()
        .map(|kernel| {
            if kernel.can_loop {
                add_to(module, machine, kernel, traced)
            } else {
                Ok(None)
            }
        })
        .collect()
}

fn add_to(
    module: &Module,
    machine: &Machine,
    kernel: &CpuKernel,
    traced: bool,
) -> Result<Option<Loops>> {
    let body = body::make(module, kernel);
    if !traced {
        apart::mark(module, body.function);
    }
    let (regions, frame_bytes) = if barriers(body.function).is_empty() {
        body.function.add_attribute("alwaysinline");
        let region = regions::Region {
            function: body.function,
            exits: vec![EXIT],
        };
        (vec![region], 0)
    } else {
        rematerialise::run(module, &body);
        let cut = regions::cut(module, machine, &body, &kernel.name)?;
        body.function.erase();
        match cut {
            Some(cut) => cut,
            None => return Ok(None),
        }
    };
    let step = step::make(module, kernel, &body, &regions, traced);
    Ok(Some(Loops {
        step,
        frame_bytes,
        forgets_threads: body.is_repeatable,
    }))
}

/// Whether a call is a barrier at which all threads of the CTA meet.
pub fn is_barrier(call: Value) -> bool {
    call.opcode() == Some(Opcode::LLVMCall)
        && call.callee().as_function().is_some_and(|callee| {
            matches!(
                callee.name().as_str(),
                "llvm.nvvm.barrier.cta.sync.aligned.all" | "llvm.nvvm.barrier.cta.sync.all"
            )
        })
        && call.operand(0).constant_integer() == Some(0)
}

fn barriers(function: Function) -> Vec<Value> {
    let instructions = function.instructions().into_iter();
    instructions.filter(|i| is_barrier(*i)).collect()
}
