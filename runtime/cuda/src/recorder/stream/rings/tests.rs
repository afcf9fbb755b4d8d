//! Tests for `rings`.

use super::*;

#[test]
fn pieces_arrive_in_order_and_their_slots_are_freed() {
    let shape = Shape::rounded(2, 32, 2, 2);
    let words = vec![0u64; shape.host_bytes() / 8 + 512];
    let words: &'static [AtomicU64] = Box::leak(words.into_iter().map(AtomicU64::new).collect());
    // SAFETY: the memory has the required size, is zeroed and leaked; page alignment is not needed.
    let (mut rings, ended) = unsafe { HostRing::all(shape, words.as_ptr().cast()) };
    let ring = &mut rings[1];
    assert_eq!(ring.take(0, |_, _| ()), None);
    let (ready, taken) = (2 * 2, 2 * 2 * 2 + TAKEN_STRIDE_WORDS);
    let data = (shape.host_control_bytes() + 2 * shape.piece_bytes()) / 8;
    // The second piece arrives before the first and has to wait.
    words[ready + 2].store(7 << 32 | 2, Ordering::Release);
    words[ready + 3].store(1, Ordering::Relaxed);
    assert_eq!(ring.take(0, |_, _| ()), None);
    words[data].store(5, Ordering::Relaxed);
    words[ready].store(32 << 32 | 1, Ordering::Release);
    let read = ring.take(0, |number, bytes| assert_eq!((number, bytes[0]), (0, 5)));
    assert_eq!(read, Some(512));
    assert_eq!(words[taken].load(Ordering::Relaxed), 1);
    // The second piece belongs to the next launch.
    assert_eq!(ring.take(0, |_, _| ()), None);
    assert_eq!(ring.take(1, |number, _| assert_eq!(number, 1)), Some(112));
    // The words of the previous lap are not mistaken for new ones.
    assert_eq!(ring.take(1, |_, _| ()), None);
    assert_eq!(words[taken].load(Ordering::Relaxed), 2);
    assert_eq!(ended.launches(), 0);
    words[shape.ended_word()].store(3, Ordering::Release);
    assert_eq!(ended.launches(), 3);
}
