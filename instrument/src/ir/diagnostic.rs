//! LLVM's own words about an error, which it would print before it ends the process.

use super::message;
use llvm_sys::{
    LLVMDiagnosticSeverity,
    core::{LLVMContextSetDiagnosticHandler, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity},
    prelude::{LLVMContextRef, LLVMDiagnosticInfoRef},
};
use std::cell::RefCell;
use std::ffi::c_void;

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Has errors in `context` kept for [`take_last`]; warnings go to standard error, as LLVM does itself.
///
/// # Safety
/// The context is alive.
pub unsafe fn keep(context: LLVMContextRef) {
    // SAFETY: the caller vouches for the context; the handler is a function without data of its own.
    unsafe { LLVMContextSetDiagnosticHandler(context, Some(handle), std::ptr::null_mut()) }
}

pub fn take_last() -> String {
    let text = LAST.take();
    if text.is_empty() {
        "LLVM does not say why".to_owned()
    } else {
        text
    }
}

extern "C" fn handle(diagnostic: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM calls this with a valid diagnostic; the message is handed over.
    let (severity, text) = unsafe {
        (
            LLVMGetDiagInfoSeverity(diagnostic),
            message(LLVMGetDiagInfoDescription(diagnostic)),
        )
    };
    match severity {
        LLVMDiagnosticSeverity::LLVMDSError => LAST.set(text),
        LLVMDiagnosticSeverity::LLVMDSWarning => eprintln!("warning: {text}"),
        _ => {}
    }
}
