//! Parallel loops, compiled once for all callers, and objects that threads share.

use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls `work` with each index below `count`, on all threads. Returns the results in order.
pub(crate) fn mapped<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let results: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
    each(count, &|number| {
        let result = work(number);
        *results[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let results = results.into_iter();
    results
        .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

/// Objects that threads use in turn.
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub(crate) fn objects(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the objects that are not in use.
    pub(crate) fn clear(&self) {
        self.objects().clear();
    }

    /// Lends a free object to `work`; creates one with `new` if there is none.
    pub(crate) fn with<R>(&self, new: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let free = self.objects().pop();
        let mut object = free.unwrap_or_else(new);
        let result = work(&mut object);
        self.objects().push(object);
        result
    }
}
