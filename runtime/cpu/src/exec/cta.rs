//! A CTA's barriers and warp operations. `scheduler` switches between the threads.

use superstep_abi::cpu::WARP_LANES;

/// Number of barriers: those that PTX can name, and one for clusters.
pub const BARRIERS: usize = 17;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    Barrier(u8),
    /// Waiting for the other lanes of a mask.
    Gather(u32),
    /// Waiting to learn which lanes are at this site in the code.
    ActiveMask(usize),
    Exited,
}

#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Number of threads that must arrive; 0 means all live threads.
    expected: u32,
    arrived: u32,
    /// Number of arrivals whose predicate is true.
    positive: u32,
    waiting: Vec<u32>,
}

/// Purpose of an exchange between lanes; lanes with different purposes do not exchange values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Values,
    /// Address of each lane's matrix fragment.
    Matrices,
}

/// An incomplete exchange between lanes.
#[derive(Clone, Debug)]
struct Gather {
    mask: u32,
    purpose: Purpose,
    arrived: u32,
    values: [u64; WARP_LANES as usize],
    /// Destination of the values for each lane.
    places: [*mut [u64; WARP_LANES as usize]; WARP_LANES as usize],
}

/// The waiting threads of a CTA.
#[derive(Debug, Default)]
pub struct Cta {
    states: Vec<State>,
    /// Results for threads that waited: a lane mask, or a barrier reduction (arrivals in the upper half, positive ones
    /// in the lower).
    answers: Vec<u64>,
    barriers: [Barrier; BARRIERS],
    gathers: Vec<Vec<Gather>>,
    /// Lanes of each warp that have not exited.
    present: Vec<u32>,
    /// Number of threads that have not exited.
    pub alive: u32,
    /// Whether all threads have passed a barrier, so that all log entries precede it. The scheduler resets the flag.
    pub merge_due: bool,
    /// Whether an exchange between lanes has completed. The scheduler resets the flag.
    pub exchanged: bool,
}

impl Cta {
    pub fn reset(&mut self, threads: u32) {
        self.states.clear();
        self.states.resize(threads as usize, State::Ready);
        self.answers.clear();
        self.answers.resize(threads as usize, 0);
        for barrier in &mut self.barriers {
            barrier.waiting.clear();
            (barrier.expected, barrier.arrived, barrier.positive) = (0, 0, 0);
        }
        let warps = threads.div_ceil(WARP_LANES);
        self.gathers.resize_with(warps as usize, Vec::new);
        self.gathers.iter_mut().for_each(Vec::clear);
        self.present.clear();
        self.present.resize(warps as usize, u32::MAX);
        if let (Some(last), 1..) = (self.present.last_mut(), threads % WARP_LANES) {
            *last = (1 << (threads % WARP_LANES)) - 1;
        }
        self.alive = threads;
        self.merge_due = false;
        self.exchanged = false;
    }

    pub fn state(&self, thread: u32) -> State {
        self.states[thread as usize]
    }

    /// Returns the result for a thread that waited.
    pub fn answer(&self, thread: u32) -> u64 {
        self.answers[thread as usize]
    }

    /// Makes a thread arrive at a barrier, and wait there if `wait` is set. An `expected` of 0 means all threads.
    /// Returns `true` if the thread does not have to wait.
    pub fn arrive(
        &mut self,
        thread: u32,
        id: u32,
        expected: u32,
        predicate: bool,
        wait: bool,
    ) -> bool {
        let Some(barrier) = self.barriers.get_mut(id as usize) else {
            return true;
        };
        barrier.expected = expected;
        barrier.arrived += 1;
        barrier.positive += u32::from(predicate);
        if wait {
            barrier.waiting.push(thread);
            self.states[thread as usize] = State::Barrier(id as u8);
        }
        self.release_if_complete(id as usize);
        self.states[thread as usize] == State::Ready
    }

    fn needed(&self, id: usize) -> u32 {
        match self.barriers[id].expected {
            0 => self.alive,
            expected => expected,
        }
    }

    fn release_if_complete(&mut self, id: usize) {
        let arrived = self.barriers[id].arrived;
        if arrived > 0 && arrived >= self.needed(id) {
            self.release(id);
        }
    }

    fn release(&mut self, id: usize) {
        let barrier = &mut self.barriers[id];
        let answer = u64::from(barrier.arrived) << 32 | u64::from(barrier.positive);
        self.merge_due |= barrier.waiting.len() == self.alive as usize;
        for thread in barrier.waiting.drain(..) {
            self.states[thread as usize] = State::Ready;
            self.answers[thread as usize] = answer;
        }
        (barrier.expected, barrier.arrived, barrier.positive) = (0, 0, 0);
    }

    /// Makes a thread exit, after which other threads no longer wait for it.
    pub fn exit(&mut self, thread: u32) {
        self.states[thread as usize] = State::Exited;
        self.present[(thread / WARP_LANES) as usize] &= !(1 << (thread % WARP_LANES));
        self.alive -= 1;
        for id in 0..BARRIERS {
            if self.barriers[id].expected == 0 {
                self.release_if_complete(id);
            }
        }
        self.complete_gathers(thread / WARP_LANES);
    }

    /// Adds a thread's `value` to the exchange between the lanes of `mask`. Returns `true` if the exchange is complete
    /// and `place` is filled; the answer is the mask of the lanes that took part. `place` must stay valid until the
    /// thread runs again.
    pub fn gather(
        &mut self,
        thread: u32,
        mask: u32,
        purpose: Purpose,
        value: u64,
        place: *mut [u64; WARP_LANES as usize],
    ) -> bool {
        let (warp, lane) = (thread / WARP_LANES, (thread % WARP_LANES) as usize);
        // A lane outside its own mask exchanges values only with itself; CUDA leaves the result undefined.
        let mask = match mask >> lane & 1 {
            1 => mask,
            _ => 1 << lane,
        };
        let pending = &mut self.gathers[warp as usize];
        let is_same = |gather: &Gather| gather.mask == mask && gather.purpose == purpose;
        let existing = pending.iter().position(is_same);
        let index = existing.unwrap_or_else(|| {
            pending.push(Gather {
                mask,
                purpose,
                arrived: 0,
                values: [0; WARP_LANES as usize],
                places: [std::ptr::null_mut(); WARP_LANES as usize],
            });
            pending.len() - 1
        });
        let gather = &mut pending[index];
        gather.arrived |= 1 << lane;
        gather.values[lane] = value;
        gather.places[lane] = place;
        self.states[thread as usize] = State::Gather(mask);
        self.complete_gathers(warp);
        self.states[thread as usize] == State::Ready
    }

    fn complete_gathers(&mut self, warp: u32) {
        let (pending, present) = (warp as usize, self.present[warp as usize]);
        let complete = |gather: &Gather| gather.mask & present & !gather.arrived == 0;
        while let Some(index) = self.gathers[pending].iter().position(complete) {
            let gather = self.gathers[pending].swap_remove(index);
            self.deliver(warp, &gather);
        }
    }

    fn deliver(&mut self, warp: u32, gather: &Gather) {
        let first = warp * WARP_LANES;
        for lane in (0..WARP_LANES).filter(|lane| gather.arrived >> lane & 1 == 1) {
            let (thread, place) = ((first + lane) as usize, gather.places[lane as usize]);
            if self.states[thread] == State::Gather(gather.mask) {
                // SAFETY: the lane is waiting inside `gather`, so the array that it passed is alive on its stack.
                unsafe { place.write(gather.values) };
                self.answers[thread] = u64::from(gather.arrived);
                self.states[thread] = State::Ready;
                self.exchanged = true;
            }
        }
    }

    /// Makes a thread wait at `site` until no lane of its warp can run, to find out which lanes have reached the same
    /// site.
    pub fn wait_for_active_mask(&mut self, thread: u32, site: usize) {
        self.states[thread as usize] = State::ActiveMask(site);
    }

    /// Releases the lanes that wait for the active mask at one site. Must be called only when no lane of the warp can
    /// run. Returns `true` if any lane was released.
    pub fn release_active_mask(&mut self, warp: u32) -> bool {
        let first = (warp * WARP_LANES) as usize;
        let last = self.states.len().min(first + WARP_LANES as usize);
        let states = self.states[first..last].iter();
        let sites = states.filter_map(|state| match state {
            State::ActiveMask(site) => Some(*site),
            _ => None,
        });
        let Some(site) = sites.min() else {
            return false;
        };
        let at_site = |state: &State| *state == State::ActiveMask(site);
        let mask = (first..last)
            .filter(|&thread| at_site(&self.states[thread]))
            .fold(0u64, |mask, thread| mask | 1 << (thread - first));
        for thread in first..last {
            if at_site(&self.states[thread]) {
                self.states[thread] = State::Ready;
                self.answers[thread] = mask;
            }
        }
        true
    }

    /// Completes barriers that have a thread count if the missing threads have exited. Must be called only when no
    /// thread can run. Returns `true` if any barrier was completed.
    pub fn release_for_exited(&mut self) -> bool {
        let exited = self.states.len() as u32 - self.alive;
        let complete = |barrier: &Barrier| {
            !barrier.waiting.is_empty() && barrier.arrived + exited >= barrier.expected
        };
        let mut has_opened = false;
        for id in 0..BARRIERS {
            if complete(&self.barriers[id]) {
                self.release(id);
                has_opened = true;
            }
        }
        has_opened
    }

    /// Lists the waiting threads: "threads 0-31 wait at barrier 0 (32 of 64 arrived), …".
    pub fn describe_deadlock(&self) -> String {
        let mut parts = Vec::new();
        let mut thread = 0;
        for run in self.states.chunk_by(PartialEq::eq) {
            let threads = match run.len() {
                1 => format!("thread {thread} waits"),
                length => format!("threads {thread}-{} wait", thread + length - 1),
            };
            match run[0] {
                State::Barrier(id) => {
                    let (at, needed) = (usize::from(id), self.needed(id.into()));
                    let arrived = self.barriers[at].arrived;
                    parts.push(format!(
                        "{threads} at barrier {id} ({arrived} of {needed} arrived)"
                    ));
                }
                State::Gather(mask) => {
                    parts.push(format!("{threads} for the lanes of warp mask {mask:#010x}"))
                }
                State::Ready | State::ActiveMask(_) | State::Exited => {}
            }
            thread += run.len();
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;
