//! Records memory that no host call allocates, before the first launch that can access it: device variables, and the heap of
//! device-side `malloc`.

use super::runtime::{Runtime, session};
use crate::cuda::CudaError;
use crate::cuda::device::{current_device, symbol_address};
use crate::model::modules::Kernel;
use crate::model::{device_heap, globals};
use std::ffi::c_void;
use superstep_trace::{AllocationKind, DEVICE_HEAP, Probe};

impl Runtime {
    /// Records new device variables: those that the program's host code names, and all those in the module of `kernel`. This
    /// loads their modules.
    pub fn note_variables(&self, kernel: &Kernel) {
        let device = current_device();
        self.note_named_variables(device);
        self.note_table(device, kernel);
        // The program may change the heap's size until this launch.
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
        match globals::of_kernel(kernel.stub) {
            Ok(table) => {
                self.modules.lock().add_allocating(device, table.allocating);
                for variable in table.variables {
                    if !session().is_allocated(variable.address) {
                        self.note_variable(variable.address, variable.bytes, variable.name);
                    }
                }
            }
            Err(error) => session().warning(format!(
                "{error}; variables that the host code does not name may be reported as lying outside all allocations"
            )),
        }
    }

    fn note_device_heap(&self) {
        match device_heap::extent() {
            Ok((address, bytes)) if !session().is_allocated(address) => {
                self.note_variable(address, bytes, DEVICE_HEAP.to_owned());
            }
            Ok(_) => {}
            Err(error) => session().warning(format!(
                "{error}; blocks that kernels allocate may be reported as lying outside all allocations"
            )),
        }
    }

    fn note_named_variables(&self, device: i32) {
        let variables = self.modules.lock().new_variables(device).to_vec();
        for variable in variables {
            let address = if variable.managed {
                // SAFETY: a managed variable's shadow is a pointer, which the runtime has set by now.
                Ok(unsafe { *(variable.host as *const *mut c_void) } as u64)
            } else {
                symbol_address(variable.host as *const c_void)
            };
            match address {
                Ok(address) => self.note_variable(address, variable.bytes, variable.name),
                Err(status) => {
                    let doing = format!("find the device variable {}", variable.name);
                    session().warning(CudaError::of(doing)(status));
                }
            }
        }
    }

    fn note_variable(&self, address: u64, bytes: u64, name: String) {
        self.allocated(address, bytes, AllocationKind::Symbol { name });
    }
}
