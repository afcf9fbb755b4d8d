//! An entry in shadow memory, with the rules for loads and stores from `docs/capture/in-situ.md`.

/// Number of bits in a launch number. Numbers of 2^25 and above are special values.
pub const LAUNCH_BITS: u32 = 26;
pub const CTA_BITS: u32 = 27;
pub const THREAD_BITS: u32 = 10;

const LAUNCH_SHIFT: u32 = 38;
const CTA_SHIFT: u32 = 11;
const CTA_MASK: u64 = (1 << CTA_BITS) - 1;
const UNWRITTEN_LAUNCH: u64 = (1 << LAUNCH_BITS) - 1;
/// Value of `before` for a word whose bytes have separate entries.
const SPLIT: u64 = !1;

// Bits of `before`.
const SPECIAL: u64 = 1 << 63;
const MORE_CTAS_BEFORE: u64 = 1 << 10;
const READ_BEFORE_SHIFT: u32 = 6;
const READ_NOW_SHIFT: u32 = 2;
const MORE_CTAS_NOW: u64 = 1 << 1;
const MORE_THREADS: u64 = 1;
/// Bits of `before` that describe `now`.
const NOW_MASK: u64 = 0x3f;

const PLAIN: u64 = 1 << 10;

/// A thread in a launch, encoded as in `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId(pub u64);

impl ThreadId {
    /// `launch` is counted from 1. Each argument must fit in its bit field.
    pub const fn new(launch: u32, cta: u32, thread: u32) -> Self {
        ThreadId((launch as u64) << LAUNCH_SHIFT | (cta as u64) << CTA_SHIFT | thread as u64)
    }

    const fn launch(self) -> u64 {
        self.0 >> LAUNCH_SHIFT
    }

    pub const fn cta(self) -> u32 {
        (self.0 >> CTA_SHIFT & CTA_MASK) as u32
    }
}

/// The last writer of bytes before a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Host,
    Unwritten,
    Unknown,
    Launch {
        launch: u32,
        /// The first writer.
        cta: u32,
        /// Whether other CTAs also wrote.
        has_more_writers: bool,
    },
}

/// Whether the reading thread wrote the bytes in this launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    Yes,
    Perhaps,
    No,
}

/// Writers of a word, or of a byte in a split word.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub before: u64,
    pub now: u64,
}

impl Entry {
    pub const HOST: Entry = Entry::from_byte(0);
    pub const UNWRITTEN: Entry = Entry::from_byte(0xff);
    pub const UNKNOWN: Entry = Entry::from_byte(0xee);

    const fn from_byte(byte: u8) -> Self {
        let half = u64::from_ne_bytes([byte; 8]);
        Entry {
            before: half,
            now: half,
        }
    }

    pub const fn split(place: usize) -> Self {
        Entry {
            before: SPLIT,
            now: place as u64,
        }
    }

    /// Returns the index of the entries of the word's bytes, if the word is split.
    pub const fn split_place(self) -> Option<usize> {
        if self.before == SPLIT {
            Some(self.now as usize)
        } else {
            None
        }
    }

    /// Returns whether `now` names a writer.
    const fn has_now(self) -> bool {
        self.now != 0 && self.now & SPECIAL == 0
    }

    const fn is_from(self, launch: u64) -> bool {
        self.has_now() && self.now >> LAUNCH_SHIFT == launch
    }

    /// Returns the last writer before the launch of `who`, encoded as in `before` but without the bits that describe `now`.
    pub const fn past(self, who: ThreadId) -> u64 {
        if !self.has_now() || self.is_from(who.launch()) {
            return self.before & !NOW_MASK;
        }
        let more_ctas = (self.before & MORE_CTAS_NOW) << 9;
        let read = (self.before >> READ_NOW_SHIFT & 0xf) << READ_BEFORE_SHIFT;
        self.now >> CTA_SHIFT << CTA_SHIFT | more_ctas | read
    }

    pub const fn source(self, who: ThreadId) -> Source {
        let past = self.past(who);
        match past >> LAUNCH_SHIFT {
            0 => Source::Host,
            UNWRITTEN_LAUNCH => Source::Unwritten,
            _ if past & SPECIAL != 0 => Source::Unknown,
            launch => Source::Launch {
                launch: launch as u32,
                cta: (past >> CTA_SHIFT & CTA_MASK) as u32,
                has_more_writers: past & MORE_CTAS_BEFORE != 0,
            },
        }
    }

    pub const fn local(self, who: ThreadId) -> Local {
        if !self.is_from(who.launch()) {
            Local::No
        } else if (self.now ^ who.0) & !PLAIN == 0 {
            Local::Yes
        } else if self.before & MORE_THREADS != 0 {
            Local::Perhaps
        } else {
            Local::No
        }
    }

    /// Marks bytes of the source as read; returns those that were not marked before.
    pub const fn mark(&mut self, who: ThreadId, bytes: u8) -> u8 {
        let shift = if self.has_now() && !self.is_from(who.launch()) {
            READ_NOW_SHIFT
        } else {
            READ_BEFORE_SHIFT
        };
        let new = bytes & !((self.before >> shift) as u8);
        self.before |= (new as u64) << shift;
        new
    }

    pub const fn write(&mut self, who: ThreadId, is_plain: bool) {
        if self.is_from(who.launch()) {
            if (self.now ^ who.0) & !PLAIN != 0 {
                self.before |= MORE_THREADS;
            }
            if self.now >> CTA_SHIFT != who.0 >> CTA_SHIFT {
                self.before |= MORE_CTAS_NOW;
            }
        } else {
            self.before = self.past(who);
            self.now = who.0;
        }
        if is_plain {
            self.now |= PLAIN;
        }
    }

    /// Returns whether a CTA other than `who`'s wrote the bytes in `who`'s launch.
    pub const fn is_from_another_cta(self, who: ThreadId) -> bool {
        self.is_from(who.launch())
            && (self.now >> CTA_SHIFT != who.0 >> CTA_SHIFT || self.before & MORE_CTAS_NOW != 0)
    }

    /// Returns whether multiple CTAs wrote the bytes in `who`'s launch.
    pub const fn has_multiple_writers(self, who: ThreadId) -> bool {
        self.is_from(who.launch()) && self.before & MORE_CTAS_NOW != 0
    }

    /// Returns whether there are multiple writers, at least one of which performed a plain store.
    pub const fn is_racing(self, who: ThreadId) -> bool {
        self.has_multiple_writers(who) && self.now & PLAIN != 0
    }
}

#[cfg(test)]
mod tests;
