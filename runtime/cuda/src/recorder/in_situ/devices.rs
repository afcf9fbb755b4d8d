//! Several devices. Each has the shadow of what was allocated while it was the current one. What kernels of other devices load from there is
//! unknown, and what they store there is not seen: then the shadow is given up.

use super::layout::NOBODY_KNOWS;
use super::{InSitu, OnDevice, Order};
use crate::cuda::device::with_device;
use crate::cuda::ffi::Stream;
use crate::cuda::real;
use crate::recorder::runtime::{Runtime, STALL};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl InSitu {
    fn others(&self, than: c_int) -> Vec<Arc<OnDevice>> {
        let devices = self.devices.lock();
        let others = devices.values().filter(|device| device.ordinal != than);
        others.cloned().collect()
    }

    /// Ranges that the program has on all devices.
    pub(super) fn live(&self) -> Vec<(u64, u64)> {
        let devices = self.devices.lock();
        let live = |device: &Arc<OnDevice>| device.shared.lock().shadow.live();
        devices.values().flat_map(live).collect()
    }

    /// Fills the shadow of ranges on all devices but one.
    pub(super) fn fill_others(
        &self,
        than: c_int,
        order: &mut Order,
        ranges: &[(u64, u64)],
        pattern: u8,
    ) -> Result<(), String> {
        for device in self.others(than) {
            with_device(device.ordinal, || {
                device.fill_all(order, ranges, pattern, device.own_stream as Stream)
            })?;
        }
        Ok(())
    }

    /// Before a launch, after which kernels of other devices may have stored where these have no shadow.
    pub(super) fn look_at_others(
        &self,
        runtime: &'static Runtime,
        device: &OnDevice,
        order: &Order,
    ) -> Result<(), String> {
        if order.launched_on.is_none_or(|last| last == device.ordinal) {
            return Ok(());
        }
        let have_ended = runtime.monitor().wait(STALL);
        for other in self.others(device.ordinal) {
            if other.stored_elsewhere.swap(false, Ordering::AcqRel) || !have_ended {
                self.forget_what_others_have(runtime, other.ordinal, have_ended)?;
            }
        }
        if device.stored_elsewhere.swap(false, Ordering::AcqRel) {
            self.forget_what_others_have(runtime, device.ordinal, have_ended)?;
        }
        Ok(())
    }

    /// A kernel of a device may have stored in what the others have: they lose their shadow memory.
    fn forget_what_others_have(
        &self,
        runtime: &Runtime,
        stored: c_int,
        have_ended: bool,
    ) -> Result<(), String> {
        for device in self.others(stored) {
            if with_device(device.ordinal, || device.give_up_all(have_ended))? {
                runtime.session.warning(format!(
                    "kernels on device {stored} may have stored in memory of device {own}, which --in-situ does not follow; what kernels on device {own} load from memory that it has so far counts as unknown from now on; trace the program instead",
                    own = device.ordinal
                ));
            }
        }
        Ok(())
    }

    /// Nothing on the device stays valid.
    pub fn forget(&self, runtime: &Runtime, ordinal: c_int) {
        self.plans.clear();
        let Some(device) = self.devices.lock().remove(&ordinal) else {
            return;
        };
        let order = &mut *self.order.lock();
        if order.device == ordinal {
            order.event = 0;
        }
        if device.stored_elsewhere.load(Ordering::Acquire)
            && let Err(error) = self.forget_what_others_have(runtime, ordinal, true)
        {
            runtime.session.fault(error);
        }
    }
}

impl OnDevice {
    /// Fills the shadow of ranges when the stream comes there.
    pub(super) fn fill_all(
        &self,
        order: &mut Order,
        ranges: &[(u64, u64)],
        pattern: u8,
        stream: Stream,
    ) -> Result<(), String> {
        let fills = self.fills(ranges, pattern);
        if fills.is_empty() {
            return Ok(());
        }
        order.begin(self.ordinal, stream)?;
        for ((place, length), value) in fills {
            let (to, value) = (place as *mut c_void, c_int::from(value));
            // SAFETY: the piece lies in shadow memory, of which none is given back while `order` is held.
            let error = unsafe { real::memset_async(to, value, length as usize, stream) };
            real::check(error, "fill shadow memory")?;
        }
        order.end(self, stream)
    }

    fn fills(&self, ranges: &[(u64, u64)], pattern: u8) -> Vec<((u64, u64), u8)> {
        let shadow = &self.shared.lock().shadow;
        let fills = |&(address, bytes)| shadow.fills(address, bytes, pattern, NOBODY_KNOWS);
        ranges.iter().flat_map(fills).collect()
    }
}
