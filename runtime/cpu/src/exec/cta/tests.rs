//! Tests for `cta`.

use super::*;

fn cta(threads: u32) -> Cta {
    let mut cta = Cta::default();
    cta.reset(threads);
    cta
}

#[test]
fn a_barrier_completes_when_the_last_thread_arrives() {
    let mut cta = cta(3);
    assert!(!cta.arrive(0, 0, 0, true, true));
    assert!(!cta.arrive(1, 0, 0, false, true));
    assert!(!std::mem::take(&mut cta.merge_due));
    assert!(cta.arrive(2, 0, 0, true, true));
    assert!(std::mem::take(&mut cta.merge_due));
    for thread in 0..3 {
        assert_eq!(
            (cta.state(thread), cta.answer(thread)),
            (State::Ready, 3 << 32 | 2)
        );
    }
    assert!(
        !cta.arrive(0, 0, 0, true, true),
        "the next phase starts from zero"
    );
}

#[test]
fn exited_threads_count_as_arrived() {
    let mut cta = cta(3);
    cta.exit(1);
    assert!(!cta.arrive(0, 0, 0, false, true));
    cta.exit(2);
    assert_eq!(cta.state(0), State::Ready);
}

#[test]
fn a_counted_barrier_accepts_arrivals_without_waiting() {
    let mut cta = cta(64);
    assert!(cta.arrive(5, 1, 2, false, false), "no waiting");
    assert!(
        cta.arrive(6, 1, 2, false, true),
        "the earlier arrival counts"
    );
    assert!(
        !std::mem::take(&mut cta.merge_due),
        "the other threads have not passed"
    );
    assert!(!cta.arrive(7, 2, 64, false, true));
    (0..64)
        .filter(|&thread| thread != 7)
        .for_each(|thread| cta.exit(thread));
    assert!(cta.release_for_exited());
    assert_eq!(cta.state(7), State::Ready);
}

#[test]
fn lanes_exchange_values() {
    let mut cta = cta(40);
    let mut places = [[9u64; 32]; 3];
    let [first, second, third] = &mut places;
    assert!(!cta.gather(32, 0b111, Purpose::Values, 10, first));
    assert!(!cta.gather(33, 0b111, Purpose::Values, 11, second));
    assert!(cta.gather(34, 0b111, Purpose::Values, 12, third));
    assert_eq!(cta.answer(32), 0b111);
    for place in places {
        assert_eq!(place[..4], [10, 11, 12, 0]);
    }
}

#[test]
fn a_gather_does_not_wait_for_exited_or_missing_lanes() {
    let mut cta = cta(34);
    let mut place = [0u64; 32];
    assert!(!cta.gather(32, u32::MAX, Purpose::Values, 5, &mut place));
    cta.exit(33);
    assert_eq!((cta.state(32), cta.answer(32)), (State::Ready, 1));
    assert_eq!(place[..2], [5, 0]);
    assert!(
        cta.gather(0, 0b10, Purpose::Values, 7, &mut place),
        "a lane outside its own mask exchanges only with itself"
    );
    assert_eq!(place[0], 7);
}

#[test]
fn lanes_with_different_purposes_do_not_exchange_values() {
    let mut cta = cta(2);
    let mut place = [0; 32];
    assert!(!cta.gather(0, 0b11, Purpose::Values, 5, &mut place));
    assert!(!cta.gather(1, 0b11, Purpose::Matrices, 7, &mut [0; 32]));
    assert_eq!(place, [0; 32]);
}

#[test]
fn the_active_mask_covers_one_site() {
    let mut cta = cta(4);
    cta.wait_for_active_mask(0, 100);
    cta.wait_for_active_mask(1, 200);
    cta.wait_for_active_mask(2, 100);
    assert!(cta.release_active_mask(0));
    assert_eq!(
        (cta.answer(0), cta.answer(2), cta.state(1)),
        (0b101, 0b101, State::ActiveMask(200))
    );
    assert!(cta.release_active_mask(0));
    assert_eq!(cta.answer(1), 0b10);
    assert!(!cta.release_active_mask(0));
}

#[test]
fn a_deadlock_is_described() {
    let mut cta = cta(4);
    cta.arrive(0, 0, 0, false, true);
    cta.arrive(1, 0, 0, false, true);
    cta.arrive(2, 3, 0, false, true);
    cta.gather(3, 0xf, Purpose::Values, 0, &mut [0; 32]);
    assert_eq!(
        cta.describe_deadlock(),
        "threads 0-1 wait at barrier 0 (2 of 4 arrived), thread 2 waits at barrier 3 (1 of 4 arrived), \
         thread 3 waits for the lanes of warp mask 0x0000000f"
    );
}
