//! Launches whose accesses are added up.

use super::layout::{CTA_MASK, KNOWN_BYTES, KNOWN_LAUNCHES, LAUNCH_BITS, SLOT_SHIFT};
use super::{OFTEN, OnDevice, SLOT_BYTES, Slot, device_memory, sums};
use crate::cuda::ffi::{self, Error, Stream};
use crate::cuda::real;
use crate::model::modules::Kernel;
use crate::recorder::drain::monitor::Item;
use crate::recorder::launch::{Call, record};
use crate::recorder::runtime::Runtime;
use crate::recorder::selection;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use superstep_runtime_core::ActiveLaunch;
use superstep_trace::StreamId;

/// The sums of a launch, on their way.
pub struct Summed {
    /// Happens when they have arrived.
    pub done: usize,
    device: Arc<OnDevice>,
    slot: Slot,
}

impl Call<'_> {
    /// Launches, and adds up.
    pub(crate) fn in_situ(
        &self,
        runtime: &'static Runtime,
        kernel: &Kernel,
        stream: StreamId,
    ) -> Result<Error, String> {
        let device = runtime.in_situ.on_device(runtime)?;
        let grid: [u32; 3] = self.grid.into();
        let ctas: u128 = grid.iter().map(|&extent| u128::from(extent)).product();
        if ctas > u128::from(CTA_MASK - 1) {
            return Err(format!(
                "a grid of {ctas} CTAs has more than the {} that --in-situ can tell apart; trace it",
                CTA_MASK - 1
            ));
        }
        // Variables of its module may have to be noted, which takes memory.
        runtime.note_variables(kernel);
        let real_stream = self.real_stream();
        let mut order = device.order.lock();
        if device.is_to_be_drained() {
            order.wait()?;
            device.drain(runtime)?;
        }
        (runtime.in_situ).look_at_others(runtime, &device, &order)?;
        order.begin(device.ordinal, real_stream)?;
        order.launched_on = Some(device.ordinal);
        let active = self.begin(runtime, kernel, stream);
        let number = u64::from(active.number) + 1;
        if number >= 1 << (LAUNCH_BITS - 1) {
            return Err(format!(
                "launch {number} is beyond what --in-situ can number; trace a part of the program (--launch-count)"
            ));
        }
        device.name_launch(number, &kernel.name, real_stream)?;
        let slot = device.take_slot()?;
        let parameter =
            number | (slot.number as u64) << SLOT_SHIFT | selection::launch_bits(active.recorded);
        let (error, mut queued) = self.surround(runtime, active, || {
            self.launch_with(kernel, device.context, parameter)
        });
        if error == ffi::SUCCESS {
            match device.fetch(&slot, real_stream) {
                Ok(()) => {
                    let done = runtime.events.take();
                    record(done, real_stream);
                    queued.summed = Some(Summed {
                        done,
                        device: device.clone(),
                        slot,
                    });
                }
                Err(error) => {
                    runtime.session.fault(error);
                    device.return_slot(slot);
                }
            }
        } else {
            self.explain_refusal(runtime, kernel, error);
            device.return_slot(slot);
        }
        runtime.monitor().send(Item::Queued(queued));
        order.end(&device, real_stream)?;
        Ok(error)
    }
}

impl Summed {
    /// Keeps the sums, once [`done`](Self::done) has happened without a failure; answers the launch's accesses.
    pub fn keep(&self, runtime: &Runtime, active: &ActiveLaunch) -> u64 {
        let words = self.slot.copy.host as *const u64;
        // SAFETY: the memory holds the sums, and the copy into it has ended.
        let words = unsafe { std::slice::from_raw_parts(words, SLOT_BYTES / size_of::<u64>()) };
        let mut found = sums::of_launch(&active.launch, words);
        if self.device.shared.lock().shadow.has_forgotten() {
            // What is unknown may be so for that alone.
            found.sums.unshadowed_loaded_bytes = found.sums.loaded.unknown;
        }
        self.device
            .rows
            .fetch_add(found.new_rows, Ordering::Relaxed);
        let kernel = &active.launch.kernel;
        if found.lost_bytes > 0 {
            let larger = runtime.session.cta_blocks().larger().ctas();
            runtime.session.fault(format!(
                "kernel {kernel}: {} bytes that CTAs received are in no transfer, because the table of transfers on the device was full; run again with --cta-blocks {larger}, or trace this kernel",
                found.lost_bytes
            ));
        }
        if found.not_split > 0 {
            runtime.session.fault(format!(
                "kernel {kernel}: {} accesses to single bytes are not told apart, because the memory for them was full; trace this kernel instead",
                found.not_split
            ));
        }
        if found.sums.unshadowed_stored_bytes > 0 {
            self.device.stored_elsewhere.store(true, Ordering::Release);
        }
        let accesses = found.sums.thread_accesses();
        runtime.session.launch_sums(found.sums);
        accesses
    }

    /// Lets another launch use the slot.
    pub fn give_back(self) {
        self.device.return_slot(self.slot);
    }
}

impl OnDevice {
    /// Whether the next launches might find no room in the table of transfers, or a kill would lose much of it.
    fn is_to_be_drained(&self) -> bool {
        let rows = self.rows.load(Ordering::Relaxed);
        let is_nearly_full = rows > self.shared.lock().context.transfer_mask / 2;
        is_nearly_full || rows > 0 && self.drained.lock().elapsed() >= OFTEN
    }

    /// Tells the device which kernel the launch with a number runs.
    fn name_launch(&self, number: u64, kernel: &str, stream: Stream) -> Result<(), String> {
        let mut shared = self.shared.lock();
        if number / KNOWN_LAUNCHES != shared.known_since / KNOWN_LAUNCHES {
            shared.known_since = number;
            let known = shared.context.known as *mut c_void;
            // SAFETY: the memory is as long as that.
            let error = unsafe { real::memset_async(known, 0, KNOWN_BYTES, stream) };
            real::check(error, "clear what CTAs know")?;
        }
        let next = shared.kernels.len() as u32;
        let id = *shared.kernels.entry(kernel.to_owned()).or_insert(next);
        let number = number as usize;
        if number >= shared.launches {
            let before = shared.launches;
            let launches = (2 * before).max(number + 1).next_power_of_two();
            let memory = device_memory(4 * launches, "list of launches")? as u64;
            let from = shared.context.kernels as *const c_void;
            // SAFETY: both lists are longer; the old one stays, since kernels may still read it.
            let error = unsafe {
                let to = memory as *mut c_void;
                real::memcpy_async(to, from, 4 * before, ffi::DEVICE_TO_DEVICE, stream)
            };
            real::check(error, "copy the list of launches")?;
            shared.context.kernels = memory;
            shared.launches = launches;
            self.write_context(&shared.context)?;
        }
        let to = (shared.context.kernels + 4 * number as u64) as *mut c_void;
        // SAFETY: the list is so long; the runtime takes a copy of pageable memory before it returns.
        let error = unsafe {
            real::memcpy_async(to, (&raw const id).cast(), 4, ffi::HOST_TO_DEVICE, stream)
        };
        real::check(error, "write the list of launches")
    }

    fn take_slot(&self) -> Result<Slot, String> {
        (self.slots.lock().recv()).map_err(|_| "the sums' memory is gone".to_owned())
    }

    fn return_slot(&self, slot: Slot) {
        // The receiver lives beside the sender.
        let _ = self.give_back.lock().send(slot);
    }

    /// Copies the sums out and clears them, in stream order.
    fn fetch(&self, slot: &Slot, stream: Stream) -> Result<(), String> {
        let from = (self.sums + (slot.number * SLOT_BYTES) as u64) as *mut c_void;
        let to = slot.copy.host as *mut c_void;
        // SAFETY: both are as long as that, and nobody else's meanwhile.
        let copied =
            unsafe { real::memcpy_async(to, from, SLOT_BYTES, ffi::DEVICE_TO_HOST, stream) };
        real::check(copied, "copy the sums of a launch")?;
        // SAFETY: as above.
        let cleared = unsafe { real::memset_async(from, 0, SLOT_BYTES, stream) };
        real::check(cleared, "clear the sums of a launch")
    }
}
