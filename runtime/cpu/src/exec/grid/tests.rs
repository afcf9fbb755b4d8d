//! Tests for `grid`.

use super::*;

#[test]
fn the_barrier_completes_when_its_highest_bit_changes() {
    let grid = Grid::default();
    let (first, end) = grid.range();
    assert_eq!((first % 4, end - first), (0, 8));
    assert!(!grid.announce());
    grid.workspace.barrier.store(7, Ordering::Release);
    assert!(!grid.announce());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            while grid.workspace.barrier.load(Ordering::Acquire) >> 31 == 0 {
                grid.wait();
            }
        });
        grid.workspace.barrier.fetch_or(1 << 31, Ordering::Release);
        grid.announce();
        waiting.join().unwrap();
    });
    assert!(!grid.announce(), "each completion is announced only once");
}
