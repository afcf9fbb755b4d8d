//! Tests for `entry`.

use super::*;

const A: ThreadId = ThreadId::new(1, 5, 3);
const B: ThreadId = ThreadId::new(1, 6, 3);
const C: ThreadId = ThreadId::new(2, 6, 1023);

#[test]
fn special_entries_name_their_writer() {
    for (entry, source) in [
        (Entry::HOST, Source::Host),
        (Entry::UNWRITTEN, Source::Unwritten),
        (Entry::UNKNOWN, Source::Unknown),
    ] {
        assert_eq!((entry.source(A), entry.local(A)), (source, Local::No));
        assert_eq!(entry.split_place(), None);
        let mut written = entry;
        written.write(A, true);
        assert_eq!(written.source(A), source, "the state before its own launch");
        assert_eq!(written.split_place(), None);
    }
    assert_eq!(Entry::split(7).split_place(), Some(7));
}

#[test]
fn a_launch_sees_earlier_writes_and_the_next_launch_sees_its_writes() {
    let mut entry = Entry::HOST;
    entry.write(A, true);
    assert_eq!((entry.local(A), entry.local(B)), (Local::Yes, Local::No));
    assert!(!entry.has_multiple_writers(A));
    entry.write(B, false);
    assert_eq!(
        (entry.local(A), entry.local(B)),
        (Local::Yes, Local::Perhaps)
    );
    assert!(entry.has_multiple_writers(A) && entry.is_racing(B));
    let source = |has_more_writers| Source::Launch {
        launch: 1,
        cta: 5,
        has_more_writers,
    };
    assert_eq!(
        (entry.source(A), entry.source(C)),
        (Source::Host, source(true))
    );
    assert_eq!(entry.local(C), Local::No);
    assert_eq!(
        (entry.mark(C, 0b0110), entry.mark(C, 0b0011)),
        (0b0110, 0b0001)
    );
    // Marks move to `before`.
    entry.write(C, true);
    assert_eq!(
        (entry.source(C), entry.mark(C, 0b1111)),
        (source(true), 0b1000)
    );
    assert!(!entry.has_multiple_writers(C));
    entry.write(ThreadId::new(3, 0, 0), true);
    let entry_of_c = Source::Launch {
        launch: 2,
        cta: 6,
        has_more_writers: false,
    };
    assert_eq!(entry.source(ThreadId::new(3, 0, 0)), entry_of_c);
    assert_eq!(entry.mark(ThreadId::new(3, 0, 0), 0b1111), 0b1111);
}

#[test]
fn atomics_from_multiple_ctas_do_not_race() {
    let mut entry = Entry::UNKNOWN;
    entry.write(A, false);
    entry.write(B, false);
    assert!(entry.has_multiple_writers(A) && !entry.is_racing(A));
    entry.write(B, true);
    assert!(entry.is_racing(A));
}

#[test]
fn the_largest_numbers_fit() {
    let (launch, cta) = ((1 << (LAUNCH_BITS - 1)) - 1, (1 << CTA_BITS) - 1);
    let last = ThreadId::new(launch, cta, (1 << THREAD_BITS) - 1);
    let mut entry = Entry::UNWRITTEN;
    entry.write(last, true);
    assert_eq!((entry.local(last), last.cta()), (Local::Yes, cta));
    let has_more_writers = false;
    assert_eq!(
        entry.source(A),
        Source::Launch {
            launch,
            cta,
            has_more_writers
        }
    );
}
