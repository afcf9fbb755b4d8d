//! Tests for `thread_locals`.

use super::*;
use std::cell::Cell;

thread_local! {
    static VARIABLE: Cell<u64> = const { Cell::new(1) };
}

#[test]
fn block_of_a_thread_local_variable_is_found() {
    let address = VARIABLE.with(|variable| variable.as_ptr() as u64);
    let (first, last) = around(address);
    assert!((first..last).contains(&address));
    let elsewhere = Box::new(0u64);
    assert_eq!(around(&raw const *elsewhere as u64), (0, 0));
}
