//! Tests for `fiber`.

use super::*;
use corosensei::CoroutineResult;

#[test]
fn stacks_are_reused() {
    let mut pool = StackPool::new(0);
    for round in 0..3 {
        let mut fiber = Fiber::with_stack(pool.take().unwrap(), move |yielder, ()| {
            yielder.suspend(Pause::LogFull);
            End::Returned
        });
        assert!(matches!(
            fiber.resume(()),
            CoroutineResult::Yield(Pause::LogFull)
        ));
        if round == 0 {
            assert!(matches!(
                fiber.resume(()),
                CoroutineResult::Return(End::Returned)
            ));
        }
        // SAFETY: the closure owns nothing that needs to be dropped.
        unsafe { pool.reclaim(fiber) };
    }
    assert_eq!((pool.created, pool.free.len()), (1, 1));
}

#[test]
fn stacks_of_a_slab_do_not_overlap() {
    let mut pool = StackPool::new(0);
    pool.slab = 3;
    let stacks = [(); 3].map(|()| pool.take().unwrap());
    let mut ends = stacks.each_ref().map(|stack| stack.ends);
    ends.sort_unstable();
    assert_eq!((ends[0].1, ends[1].1), (ends[1].0, ends[2].0));
    assert_eq!(ends[0].1 - ends[0].0, (64 << 10) + GUARD_BYTES);
    pool.free.extend(stacks);
    assert_eq!((pool.created, pool.free.len()), (3, 3));
    assert!(can_have_guards(8000, 65530) && !can_have_guards(9000, 65530));
}

#[test]
fn many_threads_limit_the_workers() {
    assert_eq!(workers_for(128, 32, 65530), 128);
    assert_eq!(workers_for(128, 1024, 65530), 7);
    assert_eq!(workers_for(2, 1024, 65530), 2);
    assert_eq!(workers_for(0, 0, 0), 1);
}
