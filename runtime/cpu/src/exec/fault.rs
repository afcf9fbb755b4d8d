//! Signals in kernels: an access to unmapped memory or a division by zero aborts the launch, not the program.
//!
//! The handler runs on its own stack and stops the faulting fiber; the worker's scheduler reports the failure. Signals
//! raised elsewhere are left to the previous handler.

use crate::errors::CudaError;
use crate::exec::fiber::{End, GUARD_BYTES};
use crate::exec::job::Failure;
use crate::exec::worker::{self, Place, Worker};
use crate::mapping::Mapping;
use crate::record::merge::LogEntry;
use crate::record::sink::describe_site;
use crate::runtime::session;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::{Once, OnceLock};
use superstep_abi::variable::CPU_STACK_KIB;
use superstep_trace::SiteId;

#[derive(Clone, Copy, Debug)]
pub struct SignalRecord {
    pub signal: c_int,
    /// Accessed address; meaningless for SIGFPE.
    pub address: u64,
    pub is_write: bool,
    /// Whether the address is known: the processor does not report a non-canonical one.
    pub has_address: bool,
}

pub const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
const ALTERNATE_STACK_BYTES: usize = 64 << 10;
/// Bit of a page fault's error code that is set if the access was a write.
const PAGE_FAULT_WRITE: i64 = 2;
/// `si_code` of a signal that Linux sent without an address.
const SI_KERNEL: c_int = 0x80;
const DIRECTION_FLAG: i64 = 0x400;

static PREVIOUS: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

pub fn install_handlers() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: an all-zero `sigaction` is valid.
        let mut previous: [libc::sigaction; SIGNALS.len()] = unsafe { zeroed() };
        for (place, signal) in previous.iter_mut().zip(SIGNALS) {
            // SAFETY: reads the current action.
            unsafe { libc::sigaction(signal, std::ptr::null(), place) };
        }
        let _ = PREVIOUS.set(previous);
        // SAFETY: an all-zero `sigaction` is valid; the handler and flags are filled in below.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        for signal in SIGNALS {
            // SAFETY: `on_signal` acts only in kernels, which hold none of the runtime's locks.
            unsafe { libc::sigaction(signal, &action, null_mut()) };
        }
    });
}

pub fn give_alternate_stack() -> std::io::Result<()> {
    let mapping = Mapping::new(ALTERNATE_STACK_BYTES)?;
    let stack = libc::stack_t {
        ss_sp: mapping.base().cast(),
        ss_flags: 0,
        ss_size: mapping.bytes(),
    };
    std::mem::forget(mapping);
    // SAFETY: the memory stays mapped until the program exits.
    match unsafe { libc::sigaltstack(&stack, null_mut()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid context and info to a handler with SA_SIGINFO.
    let (context, info) = unsafe { (&mut *context.cast::<libc::ucontext_t>(), &*info) };
    let registers = &mut context.uc_mcontext.gregs;
    let in_kernel = worker::current().filter(|worker| worker.place.get() == Place::Kernel);
    let stack_pointer = registers[libc::REG_RSP as usize] as usize;
    let fiber = in_kernel.and_then(|worker| {
        let trap = worker.trap.get()?;
        // An overflowing frame can extend below the guard.
        let is_inside = trap.stack_ptr_in_bounds(stack_pointer)
            || trap.stack_ptr_in_bounds(stack_pointer + GUARD_BYTES);
        is_inside.then_some((worker, trap))
    });
    let Some((worker, trap)) = fiber else {
        return restore_previous_action(signal);
    };
    worker.place.set(Place::Runtime);
    let record = SignalRecord {
        signal,
        // SAFETY: all handled signals carry an address.
        address: unsafe { info.si_addr() } as u64,
        is_write: registers[libc::REG_ERR as usize] & PAGE_FAULT_WRITE != 0,
        has_address: info.si_code != SI_KERNEL,
    };
    if permits_access(worker, record) {
        worker.place.set(Place::Kernel);
        return;
    }
    worker.signal.set(Some(record));
    // SAFETY: the interrupted code is a kernel on this trap handler's fiber; it owns nothing that must be dropped.
    let resume = unsafe { trap.setup_trap_handler(|| End::Fault) };
    registers[libc::REG_RIP as usize] = resume.rip as i64;
    registers[libc::REG_RSP as usize] = resume.rsp as i64;
    registers[libc::REG_RBP as usize] = resume.rbp as i64;
    registers[libc::REG_RDI as usize] = resume.rdi as i64;
    registers[libc::REG_RSI as usize] = resume.rsi as i64;
    registers[libc::REG_EFL as usize] &= !DIRECTION_FLAG;
}

/// Permits an access just past the end of an allocation, with a warning. The kernel holds none of the runtime's locks.
fn permits_access(worker: &Worker, record: SignalRecord) -> bool {
    let is_permitted = record.signal == libc::SIGSEGV
        && record.has_address
        && crate::memory::open_tail(record.address);
    if is_permitted {
        let text = failure_of(worker, record, None).text;
        session().warning(format_args!("{text}; a GPU allows this"));
    }
    is_permitted
}

/// Restores the previous action for a signal that a kernel did not raise; the faulting instruction then runs again.
fn restore_previous_action(signal: c_int) {
    let index = SIGNALS.iter().position(|&other| other == signal);
    if let Some(action) = index.and_then(|index| PREVIOUS.get()?.get(index)) {
        // SAFETY: this action was in effect before `install_handlers`.
        unsafe { libc::sigaction(signal, action, null_mut()) };
    }
}

/// Restores the floating-point environment: round to nearest, no traps.
pub fn reset_floating_point() {
    const DEFAULT_MXCSR: u32 = 0x1f80;
    // SAFETY: loads a valid value into MXCSR.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &DEFAULT_MXCSR, options(nostack, readonly)) };
}

pub fn failure_of(worker: &Worker, record: SignalRecord, last_access: Option<LogEntry>) -> Failure {
    let (address, has_address) = (record.address, record.has_address);
    match record.signal {
        libc::SIGFPE => worker.describe(
            CudaError::LAUNCH_FAILURE,
            "integer division by zero, or of the smallest integer by -1 (a GPU would continue with an arbitrary result)",
        ),
        libc::SIGILL => worker.describe(CudaError::LAUNCH_FAILURE, "illegal instruction; was the program built for another processor?"),
        _ => {
            let floor = worker.stack_floor.get();
            if has_address && (floor.saturating_sub(GUARD_BYTES as u64)..floor).contains(&address) {
                let text = format_args!("the thread's stack overflowed; {CPU_STACK_KIB} sets its size (default 256)");
                return worker.describe(CudaError::ILLEGAL_ADDRESS, text);
            }
            let site = last_access
                .filter(|entry| {
                    let width = (entry.width_and_site >> 32).max(1);
                    if has_address { address.wrapping_sub(entry.address) < width } else { !is_canonical(entry.address) }
                })
                .map(|entry| (entry.address, describe_site(SiteId(entry.width_and_site as u32))));
            let (address, site) = match site {
                Some((logged, site)) => (Some(logged), format!(" ({site})")),
                None => (has_address.then_some(address), String::new()),
            };
            let Some(address) = address else {
                return worker.describe(CudaError::ILLEGAL_ADDRESS, "out-of-bounds access to an address that cannot exist");
            };
            let verb = match (has_address, record.is_write) {
                (false, _) => "used",
                (true, true) => "wrote to",
                (true, false) => "read from",
            };
            let location = crate::memory::locate(address);
            worker.describe(
                CudaError::ILLEGAL_ADDRESS,
                format_args!("out-of-bounds access: it {verb} address {address:#x}{site}, {location}"),
            )
        }
    }
}

/// Returns whether the upper 17 bits of an address are equal.
fn is_canonical(address: u64) -> bool {
    matches!((address as i64) >> 47, 0 | -1)
}
