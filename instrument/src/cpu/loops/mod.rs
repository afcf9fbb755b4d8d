//! Turns kernels into loops over the threads of a CTA, so that threads need neither their own stacks nor separate
//! calls.
//!
//! A kernel without barriers becomes one loop around its body. A kernel with barriers is cut at them: the code from the
//! entry or a barrier up to the next barrier or the end is a *region*, and each region becomes a loop over the CTA's
//! threads (continuation-based synchronization: Meyer, Alpay, Hack, Fröning and Heuveline, IWOCL 2023). Values that a
//! thread needs after a barrier are kept in its CTA's *frame*. The runtime calls the kernel's *step* function for a
//! region and a range of threads; the function returns the region in which these threads resume. Threads that diverge
//! at a barrier get separate calls. Kernels that wait in any other way ([`CpuKernel::can_loop`]) or have variable-sized
//! allocas are not changed: their threads run as fibers.

mod body;
mod columns;
mod frame;
mod regions;
mod rematerialise;
mod step;

use super::kernels::CpuKernel;
use crate::ir::{Call, Function, Instruction, Machine, Module, Opcode, Scope, space, traits::*};
use anyhow::Result;
use superstep_abi::cpu::EXIT;

pub struct Loops {
    step: String,
    /// Bytes of a frame per thread of the CTA; the number of threads is rounded up to a multiple of
    /// [`FRAME_THREADS_UNIT`](superstep_abi::cpu::FRAME_THREADS_UNIT).
    pub frame_bytes: u64,
    /// Whether the thread state does not record the running thread, so the runtime must rerun the CTA after a fault.
    pub forgets_threads: bool,
}

impl Loops {
    /// `u32 step(void **args, void *frame, u32 region, u32 first, u32 last)`.
    pub fn step<'m>(&self, module: &'m Module) -> Function<'m> {
        let function = module.function(&self.step);
        function.expect("step functions keep their names until the module is written")
    }
}

/// Creates a kernel's loops, or returns `None` if that is impossible. Must run while GPU operations are still
/// intrinsics.
pub fn add(
    module: &mut Module,
    machine: &Machine,
    kernel: &CpuKernel,
    traced: bool,
) -> Result<Option<Loops>> {
    if !kernel.can_loop {
        return Ok(None);
    }
    let (body, function) = body::make(module, kernel);
    if !traced {
        mark_disjoint_spaces(function);
    }
    if !function.calls().any(is_barrier) {
        function.set_attribute("alwaysinline");
        let exits = vec![EXIT];
        let region = regions::Region { function, exits };
        let step = step::make(module, kernel, &body, &[region], traced);
        return Ok(Some(Loops {
            step,
            frame_bytes: 0,
            forgets_threads: body.is_repeatable,
        }));
    }
    rematerialise::run(function);
    regions::prepare(module, machine, &body)?;
    let loops = regions::cut(module, &body, &kernel.name).map(|(regions, frame_bytes)| Loops {
        step: step::make(module, kernel, &body, &regions, traced),
        frame_bytes,
        forgets_threads: body.is_repeatable,
    });
    module.delete_unused(&body.name);
    Ok(loops)
}

/// Uses alias scopes to tell LLVM that shared and global memory are disjoint, which x86's address spaces do not
/// express. Without them, LLVM could rarely prove that the CTA's shared memory does not escape.
fn mark_disjoint_spaces(function: Function) {
    let (global, shared) = (Scope::named("global"), Scope::named("shared"));
    for instruction in function.instructions() {
        let address = match instruction.get_opcode() {
            Opcode::Load => instruction.operand(0),
            Opcode::Store => instruction.operand(1),
            _ => continue,
        };
        match address.ty().address_space() {
            space::GLOBAL => instruction.set_scopes(global, shared),
            space::SHARED => instruction.set_scopes(shared, global),
            _ => {}
        }
    }
}

pub fn is_barrier(call: Call) -> bool {
    let name = call.function_name();
    (name == "llvm.nvvm.barrier.cta.sync.aligned.all" || name == "llvm.nvvm.barrier.cta.sync.all")
        && call.operand(0).constant_integer() == Some(0)
}

pub fn waits_for_cta(instruction: Instruction) -> bool {
    instruction.as_call().is_some_and(is_barrier)
}
