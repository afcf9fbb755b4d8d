//! Tests for `children`.

use super::*;
use std::mem::offset_of;

#[test]
fn structures_match_the_device_header() {
    let header = include_str!("../../../../device/children.h");
    let fields = |name: &str| {
        let body = header.split(&format!("struct {name} {{")).nth(1);
        let body = body.and_then(|rest| rest.split("};").next()).unwrap_or("");
        let lines = body.lines().filter_map(|line| line.split(';').next());
        let names = lines.filter_map(|line| line.rsplit([' ', '*']).next());
        let names = names.map(|name| name.split('[').next().unwrap_or(name).to_owned());
        names.filter(|name| !name.is_empty()).collect::<Vec<_>>()
    };
    macro_rules! mirrored {
        ($type:ty: $($field:ident)*) => {
            (vec![$(stringify!($field)),*], vec![$(offset_of!($type, $field)),*])
        };
    }
    let (names, offsets) =
        mirrored!(DeviceRequest: kind stream cta function arguments to from bytes grid block);
    assert_eq!(fields("SuperstepChild"), names);
    assert_eq!(offsets, [0, 4, 8, 16, 24, 32, 40, 48, 56, 68]);
    let (names, offsets) =
        mirrored!(Head: used used_bytes streams capacity capacity_bytes children bytes);
    assert_eq!(fields("SuperstepChildren"), names);
    assert_eq!(offsets, [0, 8, 16, 24, 32, 40, 48]);
    assert!(header.contains(&format!("SUPERSTEP_CHILD_LAUNCH {LAUNCH}\n")));
    assert!(header.contains(&format!("SUPERSTEP_CHILD_COPY {COPY}\n")));
}

#[test]
fn a_queue_returns_requests_once_and_reports_an_overflow() {
    let mut memory = vec![0u64; (Queue::BYTES + CAPACITY_BYTES) / 8];
    let host = memory.as_mut_ptr() as usize;
    let queue = Queue(Pinned { host, device: 0 });
    queue.clear(3);
    let head = host as *mut Head;
    // SAFETY: the memory contains the head, a child, and arguments.
    unsafe {
        (*head).used = 1;
        (*head).used_bytes = 16;
        let child = (host + Queue::CHILDREN) as *mut DeviceRequest;
        (*child).cta = 7;
        *((host + Queue::BYTES) as *mut u8) = 9;
    }
    let (requests, bytes) = queue.take("k").expect("there is room");
    assert_eq!(
        (requests.len(), requests[0].cta, bytes[0], bytes.len()),
        (1, 7, 9, 16)
    );
    assert!(queue.take("k").expect("there is room").0.is_empty());
    // SAFETY: the memory begins with the head.
    unsafe {
        assert_eq!((*head).streams, 3);
        (*head).used = CAPACITY as u64 + 1;
    }
    assert!(
        queue
            .take("k")
            .unwrap_err()
            .to_string()
            .contains("65537 launches")
    );
}
