//! Support for multiple devices. Each device has a shadow of the memory that was allocated while the device was
//! current. Kernels on other devices do not see that shadow: their loads from this memory count as unknown, and after
//! they have stored to it, the shadow is discarded.

use super::layout::UNKNOWN;
use super::{InSitu, OnDevice, Order};
use crate::cuda::Stream;
use crate::cuda::device::with_device;
use crate::cuda::memory;
use crate::recorder::RecordError;
use crate::recorder::runtime::{STALL, monitor, session};
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl InSitu {
    pub(super) fn others(&self, ordinal: c_int) -> Vec<Arc<OnDevice>> {
        let devices = self.devices.lock();
        let others = devices.values().filter(|device| device.ordinal != ordinal);
        others.cloned().collect()
    }

    /// Before a launch, discards the shadow of each device whose memory kernels on other devices may have stored to.
    pub(super) fn check_others(&self, device: &OnDevice, order: &Order) -> Result<(), RecordError> {
        if order.launched_on.is_none_or(|last| last == device.ordinal) {
            return Ok(());
        }
        let have_ended = monitor().wait(STALL);
        for other in self.others(device.ordinal) {
            if other.stored_elsewhere.swap(false, Ordering::AcqRel) || !have_ended {
                self.discard_others(other.ordinal, have_ended)?;
            }
        }
        if device.stored_elsewhere.swap(false, Ordering::AcqRel) {
            self.discard_others(device.ordinal, have_ended)?;
        }
        Ok(())
    }

    /// Discards the shadow memory of all devices except `stored`, whose kernels may have stored to the other devices'
    /// memory.
    fn discard_others(&self, stored: c_int, have_ended: bool) -> Result<(), RecordError> {
        for device in self.others(stored) {
            if with_device(device.ordinal, || device.discard_all(have_ended))? {
                session().warning(format!(
                    "stores by device {stored} to memory on device {own} are not tracked in situ; later loads from existing allocations on device {own} count as unknown; trace the program instead",
                    own = device.ordinal
                ));
            }
        }
        Ok(())
    }

    pub fn forget(&self, ordinal: c_int) {
        self.plans.lock().clear();
        let Some(device) = self.devices.lock().remove(&ordinal) else {
            return;
        };
        device.additions.end();
        let order = &mut *self.order.lock();
        if order.device == ordinal {
            order.event = None;
        }
        if device.stored_elsewhere.load(Ordering::Acquire)
            && let Err(error) = self.discard_others(ordinal, true)
        {
            session().fault(error);
        }
    }
}

impl OnDevice {
    /// Fills the shadows of the ranges, in stream order.
    pub(super) fn fill_all(
        &self,
        order: &mut Order,
        ranges: &[(u64, u64)],
        pattern: u8,
        stream: Stream,
    ) -> Result<(), RecordError> {
        let shadow = |&(address, bytes)| {
            let shadow = &self.shared.lock().shadow;
            shadow.fills(address, bytes, pattern, UNKNOWN)
        };
        let fills: Vec<_> = ranges.iter().flat_map(shadow).collect();
        if fills.is_empty() {
            return Ok(());
        }
        order.begin(self.ordinal, stream)?;
        for ((place, length), value) in fills {
            // SAFETY: the range is in shadow memory, which is not freed while `order` is locked.
            let filled = unsafe { memory::fill(place, value, length as usize, stream) };
            filled.check("fill shadow memory")?;
        }
        Ok(order.end(self, stream)?)
    }
}
