//! Tests for `api`.

use super::*;
use std::mem::{offset_of, size_of};
use superstep_trace::probe::{Combine, Field, FieldsIn, KernelSlots, Word};
use superstep_trace::{LaunchId, ProbeSpec, StreamId};

#[test]
fn launch_view_has_the_layout_from_the_header() {
    assert_eq!(size_of::<LaunchView>(), 104);
    assert_eq!(offset_of!(LaunchView, elapsed_ns), 40);
    assert_eq!(offset_of!(LaunchView, values), 64);
    assert_eq!(offset_of!(LaunchView, tables), 96);
}

unsafe extern "C" fn before(
    launch: *const LaunchView,
    parameters: *mut u64,
    _user: *mut c_void,
) -> c_int {
    // SAFETY: `before_launch` passes a launch and one parameter.
    unsafe {
        *parameters += 1;
        c_int::from((*launch).launch != 3)
    }
}

unsafe extern "C" fn after(launch: *const LaunchView, user: *mut c_void) {
    // SAFETY: the test passes the address of two numbers.
    unsafe {
        let sums = user.cast::<[u64; 2]>();
        (*sums)[0] = superstep_total(launch, c"second".as_ptr());
        (*sums)[1] = superstep_total(launch, c"third".as_ptr());
    }
}

#[test]
fn observers_set_parameters_switch_the_probe_and_get_results() {
    let field = |name: &str| Field {
        name: name.into(),
        word: Word::U64,
        combine: Combine::Sum,
    };
    let probe = DefinedProbe {
        spec: ProbeSpec {
            name: "p".into(),
            title: String::new(),
            kernels: vec![],
            per: Per::Cta,
            fields: vec![field("first"), field("second")],
            fields_in: FieldsIn::Registers,
            tables: vec![],
            parameters: vec!["n".into()],
            points: vec![],
        },
        sites: vec![],
        kernels: [(
            "k".to_owned(),
            KernelSlots {
                first: 0,
                count: 2,
                native: true,
            },
        )]
        .into(),
    };
    let layout = Layout::of(&probe, "k", [2, 1, 1], [32, 1, 1], 1);
    let layout = layout.unwrap().unwrap();
    let launch = |number| Launch {
        sequence: 0,
        stream: StreamId(0),
        launch: LaunchId(number),
        kernel: "k".into(),
        grid: [2, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    };
    let mut sums = [7u64; 2];
    assert!(!is_observed());
    superstep_observe(Some(before), Some(after), (&raw mut sums).cast());
    assert!(is_observed());
    let mut parameters = [5];
    assert!(before_launch(&probe, &launch(2), &layout, &mut parameters));
    assert!(!before_launch(&probe, &launch(3), &layout, &mut parameters));
    assert_eq!(parameters, [7]);
    // Two CTAs, each with two places of two fields.
    let found = Found {
        values: vec![1, 10, 2, 20, 3, 30, 4, 40],
        ..Found::default()
    };
    after_launch(&probe, &launch(2), &layout, &found, 1);
    assert_eq!(sums, [100, 0]);
    // The test's observers must not outlive its variables.
    OBSERVERS.lock().clear();
}
