//! Launches whose accesses the device aggregates.

use super::layout::{CTA_MASK, KNOWN_BYTES, KNOWN_LAUNCHES, LAUNCH_BITS, SLOT_SHIFT};
use super::{DRAIN_INTERVAL, InSitu, OnDevice, SLOT_BYTES, UNASSIGNED, sums};
use crate::cuda::memory::{self, device_memory};
use crate::cuda::{CudaError, Status, Stream, cuda};
use crate::model::graphs::NodeRecording;
use crate::model::modules::Kernel;
use crate::recorder::drain::monitor::Results;
use crate::recorder::drain::slots::Slot;
use crate::recorder::launch::Call;
use crate::recorder::launch::graph_nodes::Insertion;
use crate::recorder::runtime::{runtime, session};
use crate::recorder::{RecordError, Recorder, selection};
use cudarc::runtime::sys::cudaMemcpyKind;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use superstep_runtime_core::ActiveLaunch;

impl Recorder for InSitu {
    fn launch(&self, call: &Call<'_>, kernel: &Kernel) -> Result<Status, RecordError> {
        let device = self.on_device()?;
        let ctas: u128 = call.grid.iter().map(|&n| u128::from(n)).product();
        let max = CTA_MASK - 1;
        if ctas > u128::from(max) {
            return Err(RecordError::TooManyCtas { ctas, max });
        }
        // Comes before the launch, since recording variables allocates shadow memory.
        runtime().record_variables(kernel);
        let stream = call.stream();
        let mut order = device.order.lock();
        if device.needs_draining() {
            order.wait()?;
            device.drain()?;
        }
        self.check_others(&device, &order)?;
        order.begin(device.ordinal, stream)?;
        order.launched_on = Some(device.ordinal);
        let active = call.begin(kernel);
        let number = u64::from(active.number) + 1;
        if number >= 1 << (LAUNCH_BITS - 1) {
            return Err(RecordError::TooManyLaunches(number));
        }
        device.name_launch(number, &kernel.name, stream)?;
        let slot = device.slots.take()?;
        let parameter =
            number | (slot.number as u64) << SLOT_SHIFT | selection::launch_bits(active.recorded);
        let launch = || {
            let status = call.launch_with(kernel, device.context, parameter);
            call.explain_refusal(kernel, status);
            status
        };
        let fetch = || device.clone().fetch(slot, stream).map(Some);
        let status = call.with_results(active, launch, fetch);
        order.end(&device, stream)?;
        Ok(status)
    }

    /// Adds a kernel that never runs, since the nodes of instances are launched one by one.
    fn add_to_graph(
        &self,
        kernel: &Kernel,
        place: &mut dyn Insertion,
    ) -> Result<NodeRecording, RecordError> {
        runtime().record_variables(kernel);
        place.kernel(Some(UNASSIGNED))?;
        Ok(NodeRecording::Timed)
    }
}

impl OnDevice {
    /// Writes the sums of a launch, which have arrived in `slot`; returns the launch's number of accesses.
    fn write_sums(&self, slot: &Slot, active: &ActiveLaunch) -> u64 {
        let (first, words) = (slot.memory().at::<u64>(), SLOT_BYTES / size_of::<u64>());
        // SAFETY: the memory contains the sums, and the copy into it has completed.
        let words = unsafe { std::slice::from_raw_parts(first, words) };
        let mut found = sums::of_launch(&active.launch, words);
        if self.shared.lock().shadow.has_unknown_writers {
            // Unknown writers may be the only reason why loaded bytes are unknown.
            found.sums.unshadowed_loaded_bytes = found.sums.loaded.unknown;
        }
        (self.rows).fetch_add(found.new_rows, Ordering::Relaxed);
        let kernel = &active.launch.kernel;
        if found.unsplit_words > 0 {
            session().fault(format!(
                "kernel {kernel}: {} accesses to single bytes could not be told apart, because neither the GPU nor the host had memory for them; trace this kernel instead",
                found.unsplit_words
            ));
        }
        if found.sums.unshadowed_stored_bytes > 0 {
            self.stored_elsewhere.store(true, Ordering::Release);
        }
        let accesses = found.sums.thread_accesses();
        session().launch_sums(found.sums);
        accesses
    }

    /// Returns whether the table of transfers may soon be full, or has not been written for a long time.
    fn needs_draining(&self) -> bool {
        let rows = self.rows.load(Ordering::Relaxed);
        let is_nearly_full = rows > self.shared.lock().context.transfer_mask / 2;
        is_nearly_full || rows > 0 && self.drained.lock().elapsed() >= DRAIN_INTERVAL
    }

    /// Adds the kernel of launch `number` to the device's list.
    fn name_launch(&self, number: u64, kernel: &str, stream: Stream) -> Result<(), CudaError> {
        let mut shared = self.shared.lock();
        if number / KNOWN_LAUNCHES != shared.known_since / KNOWN_LAUNCHES {
            shared.known_since = number;
            // SAFETY: the memory is `KNOWN_BYTES` bytes long and is never freed.
            let cleared = unsafe { memory::fill(shared.context.known, 0, KNOWN_BYTES, stream) };
            cleared.check("clear the cache of known words")?;
        }
        let next = shared.kernels.len() as u32;
        let id = *shared.kernels.entry(kernel.to_owned()).or_insert(next);
        let number = number as usize;
        if number >= shared.launches {
            let old = shared.launches;
            let launches = (2 * old).max(number + 1).next_power_of_two();
            let memory = device_memory(4 * launches, "list of launches")?;
            let kind = cudaMemcpyKind::cudaMemcpyDeviceToDevice;
            let (to, from) = (
                memory as *mut c_void,
                shared.context.kernels as *const c_void,
            );
            // SAFETY: both lists are at least as long as the copy; the old one is not freed, since kernels may still
            // read it.
            let copied = unsafe { cuda!(cudaMemcpyAsync(to, from, 4 * old, kind, stream.raw())) };
            copied.check("copy the list of launches")?;
            shared.context.kernels = memory;
            shared.launches = launches;
            self.write_context(&shared.context)?;
        }
        let to = shared.context.kernels + 4 * number as u64;
        // SAFETY: the list has more than `number` entries of 4 bytes; the source is pageable.
        let written = unsafe { memory::copy_to_device(to, (&raw const id).cast(), 4, stream) };
        written.check("write the list of launches")
    }

    /// Copies the sums out and clears them, in stream order.
    fn fetch(self: Arc<Self>, slot: Slot, stream: Stream) -> Result<Results, RecordError> {
        let from = self.shared.lock().context.sums + (slot.number * SLOT_BYTES) as u64;
        let to = slot.memory().at();
        // SAFETY: both sides are `SLOT_BYTES` bytes long and belong to this launch until the slot is dropped.
        let copied = unsafe { memory::copy_to_host(to, from, SLOT_BYTES, stream) };
        copied.check("copy the sums of a launch")?;
        // SAFETY: the sums are `SLOT_BYTES` bytes long and belong to this launch until the slot is dropped.
        let cleared = unsafe { memory::fill(from, 0, SLOT_BYTES, stream) };
        cleared.check("clear the sums of a launch")?;
        let done = (runtime().events.take()).ok_or(RecordError::NoEventForResults)?;
        done.record(stream);
        let write = move |active: &ActiveLaunch| self.write_sums(&slot, active);
        Ok(Results {
            done,
            write: Box::new(write),
        })
    }
}
