//! Memory that nobody allocates: the device's variables, and the heap of device-side `malloc`. Noted before the first launch that can touch it.

use crate::cuda::device::current_device;
use crate::cuda::ffi;
use crate::cuda::real;
use crate::model::device_heap;
use crate::model::globals;
use crate::model::modules::Kernel;
use crate::recorder::runtime::Runtime;
use std::ffi::c_void;
use superstep_trace::{AllocationKind, DEVICE_HEAP, Probe};

impl Runtime {
    /// Notes variables of the device that nobody has noted yet: those of the program's host code, and all in the module of
    /// `kernel`. Loads their modules.
    pub fn note_variables(&self, kernel: &Kernel) {
        let device = current_device();
        self.note_named_variables(device);
        self.note_table(device, kernel);
        // Not earlier: the program may set the heap's size until then.
        if self.modules.lock().allocates_first(device, &kernel.name) {
            self.note_device_heap();
        }
    }

    fn note_table(&self, device: i32, kernel: &Kernel) {
        if kernel.probe != Some(Probe::Trace)
            || !self.modules.lock().table_is_new(device, kernel.binary)
        {
            return;
        }
        match globals::of_kernel(kernel.stub as *const c_void) {
            Ok(table) => {
                self.modules.lock().add_allocating(device, table.allocating);
                for variable in table.variables {
                    if !self.session.is_allocated(variable.address) {
                        let name = variable.name;
                        let kind = AllocationKind::Symbol { name };
                        self.allocated(variable.address, variable.bytes, kind);
                    }
                }
            }
            Err(error) => self.session.warning(format!(
                "{error}; variables that the host code does not name may be reported as lying in no allocation"
            )),
        }
    }

    fn note_device_heap(&self) {
        match device_heap::extent() {
            Ok((address, bytes)) if !self.session.is_allocated(address) => {
                let name = DEVICE_HEAP.to_owned();
                self.allocated(address, bytes, AllocationKind::Symbol { name });
            }
            Ok(_) => {}
            Err(error) => self.session.warning(format!(
                "{error}; blocks that kernels allocate may be reported as lying in no allocation"
            )),
        }
    }

    fn note_named_variables(&self, device: i32) {
        let variables = self.modules.lock().new_variables(device).to_vec();
        for variable in variables {
            let mut address = std::ptr::null_mut();
            let error = if variable.managed {
                // SAFETY: a managed variable's shadow is a pointer, which the runtime has set by now.
                address = unsafe { *(variable.host as *const *mut c_void) };
                ffi::SUCCESS
            } else {
                // SAFETY: the pointer leads to a pointer; the shadow was registered.
                unsafe { real::symbol_address(&mut address, variable.host as *const c_void) }
            };
            let name = variable.name;
            match real::check(error, &format!("find the device variable {name}")) {
                Ok(()) => {
                    let kind = AllocationKind::Symbol { name };
                    self.allocated(address as u64, variable.bytes, kind);
                }
                Err(error) => self.session.warning(error),
            }
        }
    }
}
