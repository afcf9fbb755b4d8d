//! Tests for `memory`.

use super::*;

#[test]
fn memory_returns_to_the_pool_when_its_last_owner_is_dropped() {
    let pool = Arc::<Pool<u32>>::default();
    let mut first = pool.column();
    first.values.fill(7);
    let address = first.values.as_ptr();
    let buffer = first.finish(BATCH_ROWS);
    let part = buffer.slice(5, 10);
    drop(buffer);

    let mut second = pool.column();
    assert_ne!(second.values.as_ptr(), address);
    second.values.fill(9);
    assert_eq!(&*part, [7; 10]);

    drop(part);
    let third = pool.column();
    assert_eq!(third.values.as_ptr(), address);
    // If there are only a few rows, `finish` copies them, so the column is free immediately.
    let few = third.finish(3);
    let fourth = pool.column();
    assert_eq!((fourth.values.as_ptr(), &*few), (address, &[7; 3][..]));

    let last = fourth.finish(BATCH_ROWS);
    drop(pool);
    assert_eq!(last[BATCH_ROWS - 1], 7);
}
