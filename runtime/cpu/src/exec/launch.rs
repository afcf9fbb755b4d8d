//! Kernel launches.

use crate::device::devices;
use crate::device::functions::occupancy;
use crate::device::properties::MULTIPROCESSORS;
use crate::device_calls::children::{Child, Work};
use crate::errors::{CudaError, CudaResult, check_sticky, code_of, cuda, given, put, set_sticky};
use crate::exec::job::{Arguments, Job};
use crate::exec::pool;
use crate::memory;
use crate::memory::copies::{KIND_DEFAULT, copy_rows};
use crate::memory::memset::fill_bytes;
use crate::record::probed::Probed;
use crate::registry::{self, Kernel};
use crate::runtime::{session, unsupported};
use crate::streams::graphs::submit_launch;
use crate::streams::{resolve_stream, stream_id};
use cudarc::runtime::sys::{cudaLaunchConfig_t, dim3};
use parking_lot::ReentrantMutex;
use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use superstep_abi::variable::CPU_THREADS;
use superstep_runtime_core::children::run_all;
use superstep_runtime_core::cuda::extents;
use superstep_runtime_core::{Geometry, limits::is_configuration};
use superstep_trace::{LaunchOutcome, Probe, StreamId};

/// Grid, block, shared memory and stream of `<<<…>>>`.
type Configuration = (dim3, dim3, usize, *mut c_void);

thread_local! {
    /// Never dropped, since destructors of the program's variables may launch kernels. Owns no memory
    /// while it is empty.
    static CONFIGURATIONS: RefCell<ManuallyDrop<Vec<Configuration>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Held from the numbering of a launch until it completes. Reentrant, since a probe's observer may launch kernels.
static IN_ORDER: ReentrantMutex<()> = ReentrantMutex::new(());

/// `__cudaPushCallConfiguration`: saves the configuration in `<<<…>>>` for the kernel's stub.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared_bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    CONFIGURATIONS.with_borrow_mut(|stack| stack.push((grid, block, shared_bytes, stream)));
    0
}

/// `__cudaPopCallConfiguration`.
///
/// # Safety
/// The pointers must be valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut dim3,
    block: *mut dim3,
    shared_bytes: *mut usize,
    stream: *mut *mut c_void,
) -> c_int {
    let last = CONFIGURATIONS.with_borrow_mut(|stack| {
        let last = stack.pop();
        if stack.is_empty() {
            drop(std::mem::take(&mut **stack));
        }
        last
    });
    let Some(last) = last else {
        return code_of(Err(CudaError::MISSING_CONFIGURATION));
    };
    let result = put(grid, last.0)
        .and_then(|()| put(block, last.1))
        .and_then(|()| put(shared_bytes, last.2))
        .and_then(|()| put(stream, last.3));
    code_of(result)
}

/// Checks grid, block and shared memory against the limits of the device and the kernel.
pub fn check(kernel: &Kernel, request: &LaunchRequest) -> CudaResult {
    let (grid, block) = (extents(request.grid), extents(request.block));
    if !is_configuration(grid, block) {
        return Err(CudaError::INVALID_CONFIGURATION);
    }
    if grid.map(u128::from).iter().product::<u128>() > u128::from(u32::MAX) {
        let name = &kernel.display_name;
        session().warning(format_args!("kernel {name}: a grid of {grid:?} has more than 2^32 - 1 CTAs, the maximum that a capture supports"));
        return Err(CudaError::INVALID_CONFIGURATION);
    }
    if block.iter().product::<u32>() > kernel.max_threads {
        return Err(CudaError::INVALID_VALUE);
    }
    if request.shared_bytes as u64 > kernel.max_dynamic_shared_bytes.load(Ordering::Relaxed) {
        return Err(match request.is_cooperative {
            true => CudaError::COOPERATIVE_LAUNCH_TOO_LARGE,
            false => CudaError::INVALID_VALUE,
        });
    }
    Ok(())
}

/// A kernel launch that the program requested.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest {
    /// Address of the kernel's host function, or of the kernel itself for a device-side launch.
    pub function: usize,
    pub grid: dim3,
    pub block: dim3,
    pub shared_bytes: usize,
    pub is_cooperative: bool,
}

/// Checks that all CTAs of a launch fit on the device.
fn check_residency(kernel: &Kernel, request: &LaunchRequest) -> CudaResult {
    let threads = extents(request.block).iter().product::<u32>() as c_int;
    let resident = occupancy(kernel, threads, request.shared_bytes)?;
    let max_ctas = u64::from(MULTIPROCESSORS) * resident as u64;
    let ctas: u64 = extents(request.grid).map(u64::from).iter().product();
    if ctas <= max_ctas {
        return Ok(());
    }
    let name = &kernel.display_name;
    session().warning(format_args!(
        "kernel {name}: a cooperative launch of {ctas} CTAs failed: only {max_ctas} fit on the device"
    ));
    Err(CudaError::COOPERATIVE_LAUNCH_TOO_LARGE)
}

/// `cudaLaunchCooperativeKernelMultiDevice`: unsupported on both backends.
#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchCooperativeKernelMultiDevice() -> ! {
    unsupported(format_args!(
        "cudaLaunchCooperativeKernelMultiDevice: Superstep does not support launches on several devices at once; launch on one device at a time"
    ))
}

fn reject_clusters(kernel: &Kernel) -> ! {
    unsupported(format_args!(
        "the kernel {} runs in clusters of CTAs, which the CPU backend does not support; run this program with --backend cuda",
        kernel.display_name
    ))
}

/// Runs a kernel and its children to completion.
pub fn launch(
    request: LaunchRequest,
    arguments: *mut *mut c_void,
    stream: *mut c_void,
) -> CudaResult {
    check_sticky()?;
    let kernel = registry::kernel(request.function as *const c_void)?;
    check(&kernel, &request)?;
    if request.is_cooperative {
        check_residency(&kernel, &request)?;
    }
    let stream = stream_id(stream)?;
    let children = run(&kernel, request, arguments, stream, None)?;
    if !children.is_empty() {
        // Later calls report the children's errors, like all device errors.
        let outcome = run_all(children, |work| run_child(work, stream));
        outcome.unwrap_or_else(set_sticky);
    }
    Ok(())
}

fn run(
    kernel: &Arc<Kernel>,
    request: LaunchRequest,
    arguments: *mut *mut c_void,
    stream: StreamId,
    parent: Option<u64>,
) -> Result<Vec<Child>, CudaError> {
    if kernel.in_clusters {
        reject_clusters(kernel);
    }
    let geometry = Geometry {
        grid: extents(request.grid),
        block: extents(request.block),
        dynamic_shared_bytes: request.shared_bytes as u64,
        static_shared_bytes: kernel.static_shared_bytes,
        device: devices::current(),
    };
    let mut workers = pool::worker_count();
    if request.is_cooperative {
        workers = workers.max(geometry.grid.iter().product::<u32>() as usize);
    }
    let session = session();
    // The last writer of a byte depends on the order of the launches, which must match their numbering.
    let _in_order = session.shadow().map(|_| IN_ORDER.lock());
    let active = session.launch_begin(stream, &kernel.name, geometry, parent);
    let running = session.add_up(&active);
    let probed = Probed::new(kernel, &active, workers);
    let fail = |error, why: &dyn std::fmt::Display| {
        session.fault(why);
        set_sticky(error);
        error
    };
    let probed = probed.map_err(|error| fail(CudaError::MEMORY_ALLOCATION, &error))?;
    // A launch without the probe runs the kernel's native copy if there is one; otherwise, it drops the probe's
    // results.
    let native = match &probed {
        Some(probed) if !probed.is_wanted => registry::native(kernel),
        _ => None,
    };
    let (arguments, ranges) = (Arguments(arguments), memory::ranges());
    let chosen = native.clone().unwrap_or_else(|| kernel.clone());
    let mut job = Job::new(chosen, arguments, active, ranges, workers);
    job.running = running;
    if request.is_cooperative {
        job.cooperate();
    }
    job.probe_logs = Probed::logs(kernel);
    job.probed = probed.filter(|_| native.is_none());
    let job = Arc::new(job);
    let start = Instant::now();
    pool::run(&job).map_err(|error| {
        fail(CudaError::INITIALIZATION, &format_args!(
            "failed to start {workers} worker threads: {error}; lower {CPU_THREADS}, or the number of CTAs in cooperative launches"
        ))
    })?;
    let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    if kernel.probe == Probe::Count {
        let counts = job.counts.lock().clone();
        session.site_counts(&job.active, kernel.sites.iter().copied().zip(counts));
    }
    if let Some(probed) = &job.probed {
        probed.finish(&job, elapsed_ns);
    }
    let failure = job.failure.lock().clone();
    let outcome = match &failure {
        None => LaunchOutcome::Completed,
        Some(failure) => LaunchOutcome::Failed(failure.text.clone()),
    };
    if let Some(running) = &job.running {
        session.launch_aggregated(running);
    }
    let accesses = job.accesses.load(Ordering::Relaxed);
    session.launch_end(&job.active, accesses, elapsed_ns, outcome);
    // As with an asynchronous failure, the launch succeeds and later calls fail.
    if let Some(failure) = failure {
        session.fault(&failure.text);
        set_sticky(failure.error);
        return Ok(Vec::new());
    }
    Ok(std::mem::take(&mut job.children.lock()))
}

/// Performs a launch, copy or fill that a kernel requested; returns the requests of the launched kernel, if any.
fn run_child(work: Work, stream: StreamId) -> Result<Vec<Child>, CudaError> {
    let mut children = Vec::new();
    match work {
        Work::Launch(child) => {
            let (arguments, parent) = (child.arguments.pointers(), Some(child.parent));
            children = run(&child.kernel, child.request, arguments, stream, parent)?;
        }
        Work::Copy(rows) => copy_rows("a kernel's copy", rows, KIND_DEFAULT, stream)?,
        Work::Fill(address, value, bytes) => fill_bytes(address, value, bytes, stream)?,
    }
    // Children of a failed kernel do not run.
    check_sticky()?;
    Ok(children)
}

/// `cudaLaunchAttribute`.
#[repr(C, align(8))]
pub struct LaunchAttribute {
    id: c_int,
    padding: [u8; 4],
    value: [u32; 16],
}

const ATTRIBUTE_COOPERATIVE: c_int = 2;
const ATTRIBUTE_CLUSTER: c_int = 4;

cuda! {
    fn [cudaLaunchKernel cudaLaunchKernel_ptsz](
        function: *const c_void, grid: dim3, block: dim3, arguments: *mut *mut c_void, shared_bytes: usize, stream: *mut c_void
    ) {
        submit_launch(LaunchRequest { function: function as usize, grid, block, shared_bytes, is_cooperative: false }, arguments, stream)
    }

    fn [cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz](
        function: *const c_void, grid: dim3, block: dim3, arguments: *mut *mut c_void, shared_bytes: usize, stream: *mut c_void
    ) {
        submit_launch(LaunchRequest { function: function as usize, grid, block, shared_bytes, is_cooperative: true }, arguments, stream)
    }
}

cuda! { by_name:
    fn [cudaLaunchKernelExC cudaLaunchKernelExC_ptsz](
        configuration: *const cudaLaunchConfig_t, function: *const c_void, arguments: *mut *mut c_void
    ) |name| {
        let configuration = given(configuration)?;
        let attributes = configuration.attrs.cast::<LaunchAttribute>();
        if configuration.numAttrs > 0 && attributes.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let mut is_cooperative = false;
        for index in 0..configuration.numAttrs as usize {
            // SAFETY: the program passes this many attributes.
            let attribute = unsafe { &*attributes.add(index) };
            let is_one_cta = attribute.value[..3].iter().all(|&n| n <= 1);
            match attribute.id {
                ATTRIBUTE_COOPERATIVE => is_cooperative = attribute.value[0] != 0,
                ATTRIBUTE_CLUSTER if !is_one_cta => reject_clusters(&*registry::kernel(function)?),
                _ => {}
            }
        }
        let request = LaunchRequest {
            function: function as usize,
            grid: configuration.gridDim,
            block: configuration.blockDim,
            shared_bytes: configuration.dynamicSmemBytes,
            is_cooperative,
        };
        submit_launch(request, arguments, resolve_stream(name, configuration.stream.cast()))
    }
}

#[cfg(test)]
mod tests;
