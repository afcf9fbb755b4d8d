//! The program's interface to its probe (`probes/include/superstep/runtime.h`): launch results, parameters, and an on/off
//! switch.

use super::{Found, Layout};
use crate::registry;
use parking_lot::Mutex;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{ptr, slice};
use superstep_trace::probe::Per;
use superstep_trace::{DefinedProbe, Launch, Probe};

/// `struct superstep_launch`.
#[repr(C)]
#[derive(Debug)]
pub struct LaunchView {
    stream: u32,
    launch: u32,
    kernel: *const c_char,
    grid: [u32; 3],
    block: [u32; 3],
    elapsed_ns: u64,
    sites: u32,
    fields: u32,
    rows: u64,
    values: *const u64,
    field_names: *const *const c_char,
    site_lines: *const u32,
    table_words: u64,
    tables: *const u64,
}

/// Callback before a launch, which can change the probe's parameters; returns whether to probe the launch.
pub type Before = unsafe extern "C" fn(*const LaunchView, *mut u64, *mut c_void) -> c_int;
/// Callback after a probed launch.
pub type After = unsafe extern "C" fn(*const LaunchView, *mut c_void);

#[derive(Clone, Copy)]
struct Observer {
    before: Option<Before>,
    after: Option<After>,
    user: *mut c_void,
}

// SAFETY: the pointer is only passed to the observer's own functions, on any launching thread, as the header documents.
unsafe impl Send for Observer {}

static OBSERVERS: Mutex<Vec<Observer>> = Mutex::new(Vec::new());
static ON: AtomicBool = AtomicBool::new(true);

pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

pub(crate) fn is_observed() -> bool {
    !OBSERVERS.lock().is_empty()
}

/// `superstep_has_probe`: returns 1 in a program that was built with a probe, 0 otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn superstep_has_probe() -> c_int {
    let modules = registry().from(0);
    c_int::from(modules.iter().any(|module| module.probe == Probe::Defined))
}

/// `superstep_switch`: sets whether later launches are probed.
#[unsafe(no_mangle)]
pub extern "C" fn superstep_switch(on: c_int) {
    ON.store(on != 0, Ordering::Relaxed);
}

/// `superstep_observe`: calls these functions around each launch.
#[unsafe(no_mangle)]
pub extern "C" fn superstep_observe(
    before: Option<Before>,
    after: Option<After>,
    user: *mut c_void,
) {
    OBSERVERS.lock().push(Observer {
        before,
        after,
        user,
    });
}

/// `superstep_total`: returns the sum of a field over all places and units of a launch, or 0 if there is no such field.
///
/// # Safety
///
/// `launch` must have been passed to an observer, and `field` must be NUL-terminated; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn superstep_total(launch: *const LaunchView, field: *const c_char) -> u64 {
    // SAFETY: the observer passes the launch that it was called with, or null.
    let Some(launch) = (unsafe { launch.as_ref() }).filter(|launch| !launch.values.is_null())
    else {
        return 0;
    };
    if field.is_null() {
        return 0;
    }
    let fields = launch.fields as usize;
    let all = launch.rows as usize * launch.sites as usize * fields;
    // SAFETY: `for_each_observer` created the view with this many names, which outlive the call to the observer.
    let names = unsafe { slice::from_raw_parts(launch.field_names, fields) };
    // SAFETY: the same holds for its values.
    let values = unsafe { slice::from_raw_parts(launch.values, all) };
    // SAFETY: the observer passes a NUL-terminated name.
    let wanted = unsafe { CStr::from_ptr(field) };
    // SAFETY: `for_each_observer` created one name for each field, and names are NUL-terminated.
    let index = (names.iter()).position(|name| unsafe { CStr::from_ptr(*name) } == wanted);
    index.map_or(0, |index| {
        let values = values.iter().skip(index).step_by(fields);
        values.fold(0, |sum, value| sum.wrapping_add(*value))
    })
}

/// Calls the observers before a launch. They can change the parameters, and each of them can switch the probe off.
pub(crate) fn before_launch(
    probe: &DefinedProbe,
    launch: &Launch,
    layout: &Layout,
    parameters: &mut [u64],
) -> bool {
    let mut wanted = true;
    for_each_observer(probe, launch, layout, None, |observer, view| {
        if let Some(before) = observer.before {
            // SAFETY: the function and its argument were registered together; the view and the parameters outlive the
            // call.
            wanted &= unsafe { before(view, parameters.as_mut_ptr(), observer.user) } != 0;
        }
    });
    wanted
}

pub(crate) fn after_launch(
    probe: &DefinedProbe,
    launch: &Launch,
    layout: &Layout,
    found: &Found,
    elapsed_ns: u64,
) {
    let results = Some((found, elapsed_ns));
    for_each_observer(probe, launch, layout, results, |observer, view| {
        if let Some(after) = observer.after {
            // SAFETY: the function and its argument were registered together; the view outlives the call.
            unsafe { after(view, observer.user) };
        }
    });
}

fn for_each_observer(
    probe: &DefinedProbe,
    launch: &Launch,
    layout: &Layout,
    results: Option<(&Found, u64)>,
    mut call: impl FnMut(&Observer, *const LaunchView),
) {
    let observers = OBSERVERS.lock().clone();
    if observers.is_empty() {
        return;
    }
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let kernel = text(&launch.kernel);
    let names: Vec<CString> = probe.spec.fields.iter().map(|f| text(&f.name)).collect();
    let field_names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let slots = layout.first_slot as usize..(layout.first_slot + layout.slots) as usize;
    let site_lines: Vec<u32> = (probe.sites.get(slots).unwrap_or_default().iter())
        .map(|site| site.line)
        .collect();
    let rows = match layout.per {
        Per::Cta => layout.units,
        Per::Thread | Per::Launch => 1,
    };
    let view = LaunchView {
        stream: launch.stream.0,
        launch: launch.launch.0,
        kernel: kernel.as_ptr(),
        grid: launch.grid,
        block: launch.block,
        elapsed_ns: results.map_or(0, |(_, elapsed_ns)| elapsed_ns),
        sites: layout.slots,
        fields: layout.fields,
        rows,
        values: results.map_or(ptr::null(), |(found, _)| found.values.as_ptr()),
        field_names: field_names.as_ptr(),
        site_lines: site_lines.as_ptr(),
        table_words: results.map_or(0, |(found, _)| found.tables.len() as u64),
        tables: results.map_or(ptr::null(), |(found, _)| found.tables.as_ptr()),
    };
    observers.iter().for_each(|observer| call(observer, &view));
}

#[cfg(test)]
mod tests;
