//! Reads the sums of a launch and the table of transfers.

use super::layout::{
    BYTES, CLASSES, COPIES, CTA_MASK, CTA_SHIFT, INPUT_CLASS, LAUNCH_SHIFT, MISSING, NEW_ROWS,
    NOT_SPLIT, ODD_BYTES, ODD_THREADS, OF_LAUNCHES, PERHAPS_AGAIN, PERHAPS_LOCAL, RACING,
    SEVERAL_WRITERS, SUMS, THREADS, Transfer, UNSHADOWED_LOADED, UNSHADOWED_STORED, WIDTHS,
    WITHIN_LAUNCH,
};
use superstep_trace::{FirstRead, Launch, LaunchSums, Parts, Received, Tally};

pub struct Summed {
    pub sums: LaunchSums,
    pub new_rows: u64,
    /// Number of words that did not get a separate entry for each byte.
    pub unsplit_words: u64,
}

/// Adds up the copies of a launch's sums.
pub fn of_launch(launch: &Launch, copies: &[u64]) -> Summed {
    let mut all = [0u64; SUMS];
    for copy in copies.chunks_exact(SUMS).take(COPIES) {
        for (sum, value) in all.iter_mut().zip(copy) {
            *sum += value;
        }
    }
    let mut sums = LaunchSums::new(launch.stream, launch.launch);
    let mut classes = [0u64; CLASSES];
    classes[..7].copy_from_slice(&all[BYTES..BYTES + 7]);
    let tallies = [&mut sums.loads, &mut sums.stores, &mut sums.atomics];
    for (operation, tally) in tallies.into_iter().enumerate() {
        *tally = Tally {
            threads: all[ODD_THREADS + operation],
            bytes: all[ODD_BYTES + operation],
            warps: 0,
        };
        for width in 0..WIDTHS {
            let first = THREADS + (operation * WIDTHS + width) * CLASSES;
            let mut by_class = [0; CLASSES];
            by_class.copy_from_slice(&all[first..first + CLASSES]);
            // This counter includes the loads or atomic operations of all classes.
            let counted = std::mem::take(&mut by_class[INPUT_CLASS]);
            by_class[INPUT_CLASS] = counted.saturating_sub(by_class.iter().sum());
            for (class, threads) in by_class.into_iter().enumerate() {
                tally.threads += threads;
                tally.bytes += threads << width;
                if class + 1 < CLASSES {
                    classes[class] += threads << width;
                }
            }
        }
        tally.warps = (tally.threads + all[MISSING + operation]) / 32;
    }
    [
        sums.loaded.communicated,
        sums.loaded.own,
        sums.loaded.input,
        sums.loaded.uninitialised,
        sums.loaded.unknown,
        sums.loaded.local,
        ..,
    ] = classes;
    sums.loaded.perhaps_local = all[PERHAPS_LOCAL];
    sums.several_writers_bytes = all[SEVERAL_WRITERS];
    sums.racing_bytes = all[RACING];
    sums.within_launch_loaded_bytes = all[WITHIN_LAUNCH];
    sums.unshadowed_loaded_bytes = all[UNSHADOWED_LOADED];
    sums.unshadowed_stored_bytes = all[UNSHADOWED_STORED];
    Summed {
        sums,
        new_rows: all[NEW_ROWS],
        unsplit_words: all[NOT_SPLIT],
    }
}

/// Returns the transfers in rows of the table, skipping free ones.
pub fn parts(rows: &[Transfer]) -> Parts {
    let mut parts = Parts::default();
    for row in rows.iter().filter(|row| row.source != 0) {
        let launch = |packed: u64| ((packed >> LAUNCH_SHIFT) - 1) as u32;
        let cta = |packed: u64| packed >> CTA_SHIFT & CTA_MASK;
        let (source_launch, receiver_launch) = (launch(row.source), launch(row.receiver));
        let may_repeat = cta(row.receiver) == PERHAPS_AGAIN;
        let is_launch_pair = may_repeat || cta(row.receiver) == OF_LAUNCHES;
        let first_read = FirstRead {
            source_launch,
            receiver_launch,
            stored_bytes: row.stored,
            several_bytes: if is_launch_pair { row.count } else { 0 },
            perhaps_again_bytes: if may_repeat { row.bytes } else { 0 },
        };
        if is_launch_pair || row.stored > 0 {
            parts.first_read.push(first_read);
        }
        if !is_launch_pair && row.bytes > 0 {
            parts.received.push(Received {
                source_launch,
                source_cta: cta(row.source) as u32,
                receiver_launch,
                receiver_cta: cta(row.receiver) as u32,
                bytes: row.bytes,
                count: row.count,
            });
        }
    }
    parts
}

#[cfg(test)]
mod tests;
