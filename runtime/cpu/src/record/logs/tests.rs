//! Tests for `logs`.

use super::*;

fn write(cursor: *mut u64, entry: LogEntry) -> *mut u64 {
    // SAFETY: the tests stay inside the segments that they opened.
    unsafe {
        cursor.cast::<LogEntry>().write(entry);
        cursor.add(2)
    }
}

#[test]
fn logs_of_lanes_are_consecutive() {
    let mut log = WarpLog::new().unwrap();
    let (mut cursor, end) = log.open(None);
    for lane in 0..3 {
        assert!(cursor < end);
        log.begin(lane, cursor);
        for i in 0..lane {
            cursor = write(cursor, LogEntry::new(i as u32, 4, lane as u64));
        }
    }
    let lanes = log.lanes(cursor);
    assert_eq!(lanes.map(<[LogEntry]>::len)[..4], [0, 1, 2, 0]);
    assert_eq!(lanes[2][1], LogEntry::new(1, 4, 2));
    let (cursor, _) = log.open(None);
    assert!(log.lanes(cursor).iter().all(|entries| entries.is_empty()));
}

#[test]
fn a_loop_stores_where_its_lanes_begin() {
    let mut log = WarpLog::new().unwrap();
    let (mut cursor, end) = log.open(None);
    assert!(cursor < end);
    for (lane, entries) in [(1, 2), (2, 0), (30, 1)] {
        // SAFETY: the array has 32 entries.
        unsafe { log.starts().cast::<*mut u64>().add(lane).write(cursor) };
        for i in 0..entries {
            cursor = write(cursor, LogEntry::new(i, 4, lane as u64));
        }
    }
    let lengths = |log: &WarpLog, cursor| log.lanes(cursor).map(<[LogEntry]>::len);
    let mut expected = [0; LANES];
    (expected[1], expected[30]) = (2, 1);
    assert_eq!(lengths(&log, cursor), expected);
    assert_eq!(log.lanes(cursor)[30], [LogEntry::new(0, 4, 30)]);
    let (cursor, _) = log.open(Some(30));
    let cursor = write(cursor, LogEntry::new(9, 8, 1));
    assert_eq!(log.lanes(cursor)[30], [LogEntry::new(9, 8, 1)]);
    assert_eq!(lengths(&log, cursor).iter().sum::<usize>(), 1);
}

#[test]
fn segments_grow_and_keep_their_entries() {
    let mut logs = CtaLogs::new().unwrap();
    logs.reset(40);
    let mut written = 0;
    while written < 3 * FIRST_SEGMENT_ENTRIES {
        let (mut cursor, end) = logs.open(35);
        while cursor < end && written < 3 * FIRST_SEGMENT_ENTRIES {
            cursor = write(cursor, LogEntry::new(7, 8, written as u64));
            written += 1;
        }
        logs.close(35, cursor);
        if cursor == end {
            assert!(logs.grow(35));
        }
    }
    let lanes = logs.lanes(1);
    assert_eq!(lanes[3].len(), written);
    assert!(
        lanes[3]
            .iter()
            .enumerate()
            .all(|(i, entry)| *entry == LogEntry::new(7, 8, i as u64))
    );
    assert!(logs.has_entries(1) && !logs.has_entries(0));
    logs.clear(1);
    assert!(!logs.has_entries(1));
    logs.reset(40);
    let (cursor, end) = logs.open(0);
    assert_eq!(
        end as usize - cursor as usize,
        4 * FIRST_SEGMENT_ENTRIES * ENTRY_BYTES,
        "later CTAs start with the larger capacity"
    );
}

#[test]
fn a_thread_with_too_many_entries_is_merged() {
    let mut logs = CtaLogs::new().unwrap();
    logs.reset(1);
    let mut growths = 0;
    loop {
        let (_, end) = logs.open(0);
        logs.close(0, end);
        if !logs.grow(0) {
            break;
        }
        growths += 1;
    }
    assert_eq!(FIRST_SEGMENT_ENTRIES << growths, MAX_THREAD_ENTRIES);
    logs.reset(1024);
    assert!(logs.segments[1023].first + logs.segments[1023].capacity <= BUFFER_ENTRIES);
}
