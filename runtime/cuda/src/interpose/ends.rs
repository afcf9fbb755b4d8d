//! Functions that end the process without running exit handlers. They wait for the kernels, as `exit` does.

use crate::cuda::loader::dlsym;
use crate::recorder::drain::signals;
use crate::recorder::runtime::STALL;
use std::ffi::{c_int, c_void};

fn end(status: c_int) -> ! {
    signals::wait(STALL);
    loop {
        // SAFETY: the call takes an integer and does not return.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// Interposes the C library's `_exit`.
#[unsafe(no_mangle)]
pub extern "C" fn _exit(status: c_int) -> ! {
    end(status)
}

/// Interposes the C library's `_Exit`.
#[unsafe(no_mangle)]
pub extern "C" fn _Exit(status: c_int) -> ! {
    end(status)
}

unsafe extern "C" fn absent() -> c_int {
    // SAFETY: the pointer points to this thread's `errno`.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

/// Defines exported functions that wait and then jump to the C library's functions without touching their arguments,
/// since some are variadic.
macro_rules! before_exec {
    ($($name:ident)*) => {
        /// Addresses of the C library's functions. A forked process that is about to call `exec` must not look them up,
        /// so this library looks them up when it is loaded.
        static REAL: std::sync::OnceLock<Real> = std::sync::OnceLock::new();

        #[derive(Debug)]
        struct Real { $($name: usize),* }

        extern "C" fn look_up() {
            REAL.get_or_init(|| Real {
                $($name: {
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the name ends with a zero byte.
                    let found = unsafe { dlsym()(libc::RTLD_NEXT, name.as_ptr().cast()) };
                    if found.is_null() { absent as *const () as usize } else { found as usize }
                },)*
            });
        }

        $(
            #[doc = concat!("Interposes the C library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            ///
            /// The arguments must meet the contract of the C library's function.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                extern "C" fn prepare() -> *const c_void {
                    signals::wait(STALL);
                    look_up();
                    let real = REAL.get().map_or(absent as *const () as usize, |real| real.$name);
                    std::ptr::with_exposed_provenance(real)
                }
                // On entry, the stack is misaligned by 8 bytes. Pushing seven registers aligns it to 16.
                std::arch::naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                    "call {prepare}",
                    "mov r11, rax",
                    "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "jmp r11",
                    prepare = sym prepare,
                )
            }
        )*
    };
}

before_exec! { execve execv execvp execvpe execl execlp execle fexecve execveat }

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_UP: extern "C" fn() = look_up;
