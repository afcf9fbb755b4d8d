//! Memory for columns, reused once their batch is dropped: getting new pages from the system takes longer than decoding
//! into them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice as _};
use bytes::Bytes;

use super::BATCH_ROWS;

/// Maximum amount of free memory in a pool.
const MAX_FREE_BYTES: usize = 16 << 20;

#[derive(Debug, Default)]
pub struct Pool<T> {
    free: Mutex<Vec<Box<[T]>>>,
}

impl<T: ArrowNativeType> Pool<T> {
    /// Returns a column with arbitrary contents.
    pub fn column(self: &Arc<Self>) -> Column<T> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let values = free.pop();
        drop(free);
        Column {
            values: values.unwrap_or_else(|| vec![T::default(); BATCH_ROWS].into()),
            pool: Arc::downgrade(self),
        }
    }
}

/// A column of a batch, which returns its memory to the pool on drop.
pub struct Column<T: ArrowNativeType> {
    pub values: Box<[T]>,
    pool: Weak<Pool<T>>,
}

impl<T: ArrowNativeType> Column<T> {
    pub fn finish(self, rows: usize) -> ScalarBuffer<T> {
        let buffer = match rows < BATCH_ROWS / 4 {
            true => Buffer::from_slice_ref(&self.values[..rows]),
            false => Buffer::from(Bytes::from_owner(self)),
        };
        ScalarBuffer::new(buffer, 0, rows)
    }
}

impl<T: ArrowNativeType> AsRef<[u8]> for Column<T> {
    fn as_ref(&self) -> &[u8] {
        self.values.to_byte_slice()
    }
}

impl<T: ArrowNativeType> Drop for Column<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            let mut free = pool.free.lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < MAX_FREE_BYTES / (BATCH_ROWS * size_of::<T>()) {
                free.push(std::mem::take(&mut self.values));
            }
        }
    }
}

#[cfg(test)]
mod tests;
