//! The kernels of all launches, for concurrent readers.

use super::MAX_LAUNCHES;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const CHUNK: usize = 1 << 14;

pub struct Kernels {
    numbers: Mutex<FxHashMap<String, u32>>,
    /// The kernel of each launch, in chunks that are allocated on demand.
    by_launch: Box<[OnceLock<Box<[AtomicU32]>>]>,
}

impl Default for Kernels {
    fn default() -> Self {
        let chunks = MAX_LAUNCHES as usize / CHUNK + 1;
        Kernels {
            numbers: Mutex::default(),
            by_launch: (0..chunks).map(|_| OnceLock::new()).collect(),
        }
    }
}

impl Kernels {
    pub fn number(&self, name: &str) -> u32 {
        let mut numbers = self.numbers.lock();
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        let number = numbers.len() as u32;
        numbers.insert(name.to_owned(), number);
        number
    }

    /// Sets the kernel of a launch; ignores launches whose number is too large.
    pub fn set(&self, launch: u32, kernel: u32) {
        if let Some(chunk) = self.by_launch.get(launch as usize / CHUNK) {
            let chunk =
                chunk.get_or_init(|| (0..CHUNK).map(|_| AtomicU32::new(u32::MAX)).collect());
            chunk[launch as usize % CHUNK].store(kernel, Ordering::Relaxed);
        }
    }

    pub fn get(&self, launch: u32) -> Option<u32> {
        let chunk = self.by_launch.get(launch as usize / CHUNK)?.get()?;
        Some(chunk[launch as usize % CHUNK].load(Ordering::Relaxed))
    }
}
