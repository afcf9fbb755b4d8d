//! Tests of the parser.

use super::*;

#[test]
fn counters_are_added_over_links_and_devices() {
    let text = "GPU 0: NVIDIA (UUID: GPU-1)\n\t Link 0: Data Tx: 3 KiB\n\t Link 0: Data Rx: 1 KiB\n\t Link 1: Data Tx: 4 KiB\n\t Link 1: Data Rx: 0 KiB\nGPU 1: NVIDIA (UUID: GPU-2)\n\t Link 0: Data Tx: 1 KiB\n\t Link 0: Data Rx: 7 KiB\n";
    let all = parse(text).unwrap().unwrap();
    let kib = |sent: u64, received: u64| Traffic {
        sent_bytes: sent << 10,
        received_bytes: received << 10,
    };
    assert_eq!(all, kib(8, 8));
    assert_eq!(all.since(kib(6, 8)), kib(2, 0));
}

#[test]
fn links_without_counters_return_none_and_unknown_lines_are_errors() {
    let gpu = "GPU 0: NVIDIA (UUID: GPU-1)\n";
    assert_eq!(parse(gpu).unwrap(), None);
    let absent = format!("{gpu}\t Link 0: Data Tx: N/A\n\t Link 0: Data Rx: N/A\n");
    assert_eq!(parse(&absent).unwrap(), None);
    for wrong in [
        "Link 0: Data Tx: 3 MiB",
        "Link x: Data Tx: 3 KiB",
        "Link 0: 26.5 GB/s",
    ] {
        let error = parse(&format!("{gpu}\t {wrong}\n")).unwrap_err();
        assert!(error.message.contains(wrong), "{error}");
    }
}
