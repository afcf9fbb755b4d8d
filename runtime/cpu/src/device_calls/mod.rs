//! Functions that kernels call: barriers, warp operations, full-log handling, `printf`, `assert`, `malloc`.

pub mod children;
pub mod device_heap;
pub mod matrix;
pub mod printf;

use crate::device_calls::matrix::Lane;
use crate::errors::CudaError;
use crate::exec::cta::Purpose;
use crate::exec::fiber::Pause;
use crate::exec::job::Job;
use crate::exec::worker::{self, Place, Worker};
use corosensei::trap::CoroutineTrapHandler;
use std::ffi::{c_char, c_int, c_void};
use superstep_abi::cpu::WARP_LANES;
use superstep_runtime_core::cuda::text;
use superstep_trace::matrix::REGISTERS;

/// Runs `body` as part of the runtime, where a signal is not the kernel's fault.
pub fn enter<T>(what: &str, body: impl FnOnce(&'static Worker) -> T) -> T {
    let Some(worker) = worker::current() else {
        crate::runtime::unsupported(format_args!("device code ran outside a kernel: {what}"));
    };
    worker.place.set(Place::Runtime);
    let result = body(worker);
    worker.place.set(Place::Kernel);
    result
}

/// Ends the launch with a failure; the calling fiber is never resumed.
fn fail(worker: &Worker, error: CudaError, what: impl std::fmt::Display) -> ! {
    let failure = worker.describe(error, what);
    *worker.failure.borrow_mut() = Some(failure);
    leave(worker, Pause::Failed)
}

fn leave(worker: &Worker, pause: Pause) -> ! {
    loop {
        worker.suspend(pause);
    }
}

/// Returns whether the CTA's threads can wait for each other. A single thread never waits; if a CTA without fibers
/// has more threads, that is an instrumentation error.
fn can_wait(worker: &Worker, what: &str) -> bool {
    if worker.step.get().is_none() {
        return true;
    }
    if worker.job().is_some_and(|job| job.threads() > 1) {
        let text = format_args!(
            "it executed {what}, which its module does not declare; rebuild the program, and report this if it happens again"
        );
        fail(worker, CudaError::LAUNCH_FAILURE, text);
    }
    false
}

/// Makes room in the running thread's full log.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_log_full() {
    enter("the log", |worker| match worker.discard.get() {
        Some(log) => worker.set_log(log),
        None => worker.suspend(Pause::LogFull),
    });
}

/// Ends the launch because a thread used a misaligned `address`, in which bits of `mask` are set.
///
/// # Safety
///
/// `file` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_misaligned(
    address: u64,
    mask: u64,
    file: *const c_char,
    line: u32,
) -> ! {
    enter("a misaligned access", |worker| {
        let place = match line {
            0 => String::new(),
            // SAFETY: the file's name is a NUL-terminated constant in the module.
            line => format!(" ({}:{line})", unsafe { text(file) }),
        };
        let bytes = mask + 1;
        let text = format_args!(
            "misaligned access: it used address {address:#x}{place}, which is not a multiple of {bytes}"
        );
        fail(worker, CudaError::MISALIGNED_ADDRESS, text)
    })
}

fn barrier(id: u32, threads: u32, predicate: bool, wait: bool) -> u64 {
    enter("a barrier", |worker| {
        if !can_wait(worker, "a barrier") {
            return 1 << 32 | u64::from(predicate);
        }
        let thread = worker.thread();
        let mut cta = worker.cta.borrow_mut();
        let passed = cta.arrive(thread, id, threads, predicate, wait);
        let switch = !passed || cta.merge_due;
        drop(cta);
        if switch {
            worker.suspend(Pause::Waiting);
        }
        worker.cta.borrow().answer(thread)
    })
}

/// Waits until `thread_count` threads (0: all live threads) have arrived at barrier `id`.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_barrier(id: u32, thread_count: u32) {
    barrier(id, thread_count, false, true);
}

/// Arrives at barrier `id` without waiting.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_barrier_arrive(id: u32, thread_count: u32) {
    barrier(id, thread_count, false, false);
}

/// Waits at barrier `id`. Returns the number of threads with a true predicate (`operation` 0), or whether all (1) or
/// any (2) of the predicates are true.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_barrier_reduce_count(
    id: u32,
    operation: u32,
    predicate: u32,
    thread_count: u32,
) -> u32 {
    let answer = barrier(id, thread_count, predicate != 0, true);
    let (arrived, positive) = ((answer >> 32) as u32, answer as u32);
    match operation {
        0 => positive,
        1 => u32::from(positive == arrived),
        _ => u32::from(positive > 0),
    }
}

/// Exchanges `value` between the lanes of `mask` that have not exited. `out` receives the value of each lane that took
/// part, and 0 for the others. Returns the lanes that took part.
///
/// # Safety
/// `out` must have room for 32 values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_warp_gather(
    mask: u32,
    value: u64,
    out: *mut [u64; WARP_LANES as usize],
) -> u32 {
    enter("a warp operation", |worker| {
        // SAFETY: `out` has room for one value per lane.
        unsafe { gather(worker, mask, Purpose::Values, value, out) }.0
    })
}

/// Exchanges values between lanes. Returns the lanes that took part, and whether the caller was the last of them; the
/// others have not resumed yet.
///
/// # Safety
/// `out` must have room for 32 values.
unsafe fn gather(
    worker: &Worker,
    mask: u32,
    purpose: Purpose,
    value: u64,
    out: *mut [u64; WARP_LANES as usize],
) -> (u32, bool) {
    let thread = worker.thread();
    if !can_wait(worker, "a warp operation") {
        let mut values = [0; WARP_LANES as usize];
        values[(thread % WARP_LANES) as usize] = value;
        // SAFETY: `out` has room for one value per lane.
        unsafe { out.write(values) };
        return (1 << (thread % WARP_LANES), true);
    }
    let complete = (worker.cta.borrow_mut()).gather(thread, mask, purpose, value, out);
    if !complete {
        worker.suspend(Pause::Waiting);
    }
    (worker.cta.borrow().answer(thread) as u32, complete)
}

/// Loads, stores or multiplies matrices that are distributed over the `registers` of a warp's lanes. The last lane to
/// arrive does the work for all lanes.
///
/// # Safety
/// `registers` must be the calling thread's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_matrix(
    operation: u64,
    registers: *mut [u32; REGISTERS],
    address: u64,
    stride: u64,
) {
    enter("a matrix operation", |worker| {
        let lane = Lane {
            registers,
            address,
            stride,
        };
        let mut lanes = [0; WARP_LANES as usize];
        let place = &raw const lane as u64;
        // SAFETY: `lanes` has room for 32 values.
        let (present, is_last) =
            unsafe { gather(worker, u32::MAX, Purpose::Matrices, place, &mut lanes) };
        if present != u32::MAX {
            let text = format_args!(
                "a matrix operation was executed by only {} of the warp's 32 lanes; it needs all of them",
                present.count_ones()
            );
            fail(worker, CudaError::LAUNCH_FAILURE, text);
        }
        if is_last {
            // SAFETY: each lane passed the address of its own structure, and is still waiting.
            let lanes = lanes.map(|lane| unsafe { &*(lane as *const Lane) });
            if let Some(lane) = matrix::misaligned_row(operation, &lanes) {
                let (address, bytes) = (lanes[lane].address, matrix::ROW_BYTES);
                let text = format_args!(
                    "misaligned access: lane {lane} passed matrix row address {address:#x}, which is not a multiple of {bytes}"
                );
                fail(worker, CudaError::MISALIGNED_ADDRESS, text);
            }
            // From here on, a bad address is the program's fault.
            worker.place.set(Place::Kernel);
            matrix::run(operation, &lanes);
            worker.place.set(Place::Runtime);
        }
    });
}

/// Returns the lanes of the warp that are currently at `site`.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_active_mask_at(site: *const c_void) -> u32 {
    enter("a warp operation", |worker| {
        let thread = worker.thread();
        if !can_wait(worker, "a warp operation") {
            return 1 << (thread % WARP_LANES);
        }
        let mut cta = worker.cta.borrow_mut();
        cta.wait_for_active_mask(thread, site as usize);
        drop(cta);
        worker.suspend(Pause::Waiting);
        worker.cta.borrow().answer(thread) as u32
    })
}

/// Lets other threads of the CTA run.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_yield() {
    enter("nanosleep", |worker| {
        let Some(job) = worker.job() else { return };
        if worker.step.get().is_none() {
            if let Some(grid) = &job.grid_barrier {
                grid.announce();
            }
            worker.suspend(Pause::Yielded);
        } else if job.is_stopped() {
            leave(worker, Pause::Exit);
        } else {
            job.wait_for_others();
        }
    });
}

/// Returns whether `address` is in global memory: a live allocation, a `__device__` variable, or the heap of
/// device-side `malloc`.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_is_global(address: *const c_void) -> bool {
    let address = address as u64;
    let Some((worker, job)) = worker::current().and_then(|worker| Some((worker, worker.job()?)))
    else {
        return crate::memory::ranges().find(address).is_some();
    };
    let (first, last) = worker.last_range.get();
    if (first..last).contains(&address) {
        return true;
    }
    let found = job.ranges.find(address);
    let found = found.or_else(|| device_heap::range_of(address));
    found
        .inspect(|&range| worker.last_range.set(range))
        .is_some()
}

/// Returns the ranges of the CTA's shared memory: static variables and the dynamic array.
fn shared_ranges(worker: &Worker) -> [std::ops::Range<u64>; 2] {
    let (first, last) = worker.thread_locals.get();
    // SAFETY: the block is this worker's own thread-local variable; it is set while a launch runs.
    let dynamic = unsafe { worker.block.get().as_ref() }.map_or(0..0, |block| {
        let first = block.dynamic_shared as u64;
        first..first + block.dynamic_shared_bytes
    });
    [first..last, dynamic]
}

/// Returns whether `address` is in the CTA's shared memory, static or dynamic.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_is_shared(address: *const c_void) -> bool {
    let is_in = |range: &std::ops::Range<u64>| range.contains(&(address as u64));
    worker::current().is_some_and(|worker| shared_ranges(worker).iter().any(is_in))
}

/// Returns the address in the CTA's shared memory whose lower 32 bits are `low`, the address in PTX's shared
/// space. An address outside shared memory keeps its distance from the static variables.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_shared_address(low: u32) -> *mut c_void {
    let ranges = worker::current().map_or([0..0, 0..0], shared_ranges);
    let offset = |range: &std::ops::Range<u64>| u64::from(low.wrapping_sub(range.start as u32));
    let inside = |range: &&std::ops::Range<u64>| offset(range) < range.end - range.start;
    let range = ranges.iter().find(inside).unwrap_or(&ranges[0]);
    (range.start + offset(range)) as *mut c_void
}

/// Returns whether `address` is on the running thread's stack, or in its CTA's frame.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_is_local(address: *const c_void) -> bool {
    worker::current().is_some_and(|worker| {
        let (first, last) = worker.frame.get();
        let on_stack = |trap: CoroutineTrapHandler<_>| trap.stack_ptr_in_bounds(address as usize);
        (first as u64..last as u64).contains(&(address as u64))
            || worker.trap.get().is_some_and(on_stack)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_worker_count() -> u32 {
    crate::device::properties::MULTIPROCESSORS.max(crate::exec::pool::worker_count() as u32)
}

/// Returns the index of the launch within the program (`%gridid`).
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_grid_id() -> u64 {
    let job = worker::current().and_then(Worker::job);
    job.map_or(0, |job| job.grid_id)
}

/// Returns the address of a cooperative launch's grid barrier (`%envreg1` and `%envreg2`), or 0.
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_grid_workspace() -> u64 {
    let job = worker::current().and_then(Worker::job);
    let grid = job.and_then(|job| job.grid_barrier.as_ref());
    grid.map_or(0, |grid| grid.range().0)
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_shared_bytes() -> u64 {
    let job = worker::current().and_then(Worker::job);
    let bytes = |job: &Job| job.kernel.static_shared_bytes + job.active.launch.dynamic_shared_bytes;
    job.map_or(0, bytes)
}

/// Ends the launch after a call to an unsupported device function.
///
/// # Safety
///
/// `what` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_unsupported_device(what: *const c_char) -> ! {
    // SAFETY: the text is a NUL-terminated constant in the module.
    let what = unsafe { text(what) };
    let text = format!("{what} is not supported by the CPU backend");
    let Some(worker) = worker::current() else {
        crate::runtime::unsupported(format_args!("{text}"));
    };
    worker.place.set(Place::Runtime);
    fail(worker, CudaError::NOT_SUPPORTED, text)
}

/// Ends only the running thread (PTX `exit`).
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_exit_thread() -> ! {
    enter("exit", |worker| leave(worker, Pause::Exit))
}

/// Ends the launch (PTX `trap`).
#[unsafe(no_mangle)]
pub extern "C" fn __superstep_trap() -> ! {
    enter("trap", |worker| {
        let text = "the kernel stopped itself (trap)";
        fail(worker, CudaError::LAUNCH_FAILURE, text)
    })
}

/// Prints CUDA's message for a failed `assert`, and ends the launch.
///
/// # Safety
///
/// `message`, `file` and `function` must be NUL-terminated or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_assertfail(
    message: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    _char_bytes: usize,
) -> ! {
    enter("assert", |worker| {
        let [message, file, function] =
            [message, file, function].map(|text| printf::device_string(text as u64));
        let place = worker.job().map(|job| worker.coordinates(job));
        let [[x, y, z], [tx, ty, tz]] = place.unwrap_or_default();
        let text = format!(
            "{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed.\n"
        );
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        let text = format_args!("assertion `{message}` failed at {file}:{line}");
        fail(worker, CudaError::ASSERT, text)
    })
}

/// Prints formatted text to stdout. `arguments` contains the values, each at its natural alignment. Returns the number
/// of conversions.
///
/// # Safety
///
/// `format` must be NUL-terminated, and `arguments` must contain the values that it converts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __superstep_vprintf(
    format: *const c_char,
    arguments: *const c_void,
) -> c_int {
    enter("printf", |_| {
        if format.is_null() {
            return -1;
        }
        // SAFETY: the format is NUL-terminated, as in CUDA.
        let format = unsafe { std::ffi::CStr::from_ptr(format) };
        // SAFETY: the arguments match the format and were packed by Clang.
        let mut values = unsafe { printf::Packed::new(arguments.cast()) };
        let (text, conversions) = printf::format(format.to_bytes(), &mut values);
        printf::write_stdout(&text);
        conversions
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_device_malloc(bytes: u64) -> *mut c_void {
    enter("malloc", |_| device_heap::allocate(bytes) as *mut c_void)
}

#[unsafe(no_mangle)]
pub extern "C" fn __superstep_device_free(address: *mut c_void) {
    enter("free", |worker| {
        if !address.is_null() && !device_heap::free(address as u64) {
            let text = format_args!(
                "free of address {address:p}, which device-side malloc did not return"
            );
            fail(worker, CudaError::LAUNCH_FAILURE, text);
        }
    });
}
