//! Tests of workers without a GPU. The test acts as the device, which announces pieces and counts launches.

use super::layout::Shape;
use super::rings::HostRing;
use super::settings::Settings;
use super::shared::SharedRing;
use super::wire_tests::record;
use super::workers::{Team, Worker};
use crate::recorder::drain::queue::{Queue, Ticket};
use crate::recorder::thesis::consumer::{Ending, Sink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use superstep_abi::RecordSink;
use superstep_runtime_core::ActiveLaunch;
use superstep_trace::{
    AccessGroup, Backend, Capture, CaptureWriter, ChunkBuilder, Event, Header, Launch, LaunchId,
    Outcome, SiteId, StreamId, StreamWriter,
};

#[derive(Clone, Default)]
struct Seen {
    endings: Arc<Mutex<Vec<(u32, Ending)>>>,
    /// The launch whose chunks make the sink panic.
    trap: Option<u32>,
    /// The file to which chunks are written.
    file: Option<StreamWriter>,
}

impl Sink for Seen {
    fn write(&mut self, ticket: &Ticket, chunk: &mut ChunkBuilder) {
        let launch = ticket.active.launch.launch;
        assert_eq!(chunk.launch(), launch);
        if self.trap == Some(launch.0) {
            self.trap = None;
            panic!("injected panic");
        }
        if let Some(file) = &self.file {
            file.flush(chunk).expect("the file can be written");
        }
        chunk.restart(launch);
    }

    fn end(&mut self, ticket: &Arc<Ticket>, ending: Ending) {
        let mut endings = self.endings.lock().expect("no thread panicked");
        endings.push((ticket.active.launch.launch.0, ending));
    }
}

struct Device {
    shape: Shape,
    words: &'static [AtomicU64],
    next_piece: Vec<u32>,
    ended: u64,
    queue: Arc<Queue>,
    seen: Seen,
    workers: Vec<JoinHandle<u32>>,
}

impl Device {
    fn new(rings: usize, workers: usize, seen: Seen, pause: Duration) -> Self {
        Device::with_shape(Shape::rounded(rings, 32, 2, 2), workers, seen, pause)
    }

    fn with_shape(shape: Shape, workers: usize, seen: Seen, pause: Duration) -> Self {
        let zeroes = (0..shape.host_bytes() / 8).map(|_| AtomicU64::new(0));
        let words: &'static [AtomicU64] = Box::leak(zeroes.collect());
        // SAFETY: the memory has the required size, is zeroed and leaked; page alignment is not needed.
        let (all, ended) = unsafe { HostRing::all(shape, words.as_ptr().cast()) };
        let queue = Arc::new(Queue::counted(ended));
        let team = Team::new(workers);
        let shared = SharedRing::all(all);
        let settings = Settings {
            shape,
            workers,
            sink: RecordSink::Disk,
            pause,
        };
        let start = |number| {
            let (queue, team, rings) = (queue.clone(), team.clone(), shared.clone());
            let mut worker = Worker::new(queue, team, number, rings, settings, seen.clone());
            std::thread::spawn(move || {
                let mut panics = 0;
                while catch_unwind(AssertUnwindSafe(|| worker.run())).is_err() {
                    panics += 1;
                }
                panics
            })
        };
        Device {
            workers: (0..workers).map(start).collect(),
            shape,
            words,
            next_piece: vec![0; shape.rings],
            ended: 0,
            queue,
            seen,
        }
    }

    fn push(&self, launch: u32) -> Arc<Ticket> {
        let launch = Launch {
            sequence: 0,
            stream: StreamId(0),
            launch: LaunchId(launch),
            kernel: "k".to_owned(),
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared_bytes: 0,
            static_shared_bytes: 0,
            parent: None,
            device: 0,
        };
        let active = ActiveLaunch {
            launch,
            number: 0,
            writer: None,
            recorded: superstep_trace::Recorded::All,
        };
        self.queue.push(active, [None; 2], None)
    }

    /// Fills a piece of a ring with `records` records from the running kernel and announces it when the host has room.
    fn piece(&mut self, ring: usize, records: usize) {
        let (shape, piece) = (self.shape, self.next_piece[ring]);
        let taken = &self.words[shape.taken_word() + ring * super::layout::TAKEN_STRIDE_WORDS];
        let since = Instant::now();
        while u64::from(piece) >= taken.load(Ordering::Acquire) + shape.host_slots as u64 {
            assert!(
                since.elapsed() < Duration::from_secs(20),
                "the kernel hangs"
            );
            std::thread::yield_now();
        }
        let group = AccessGroup {
            site: SiteId(0),
            cta: 0,
            warp: 0,
            sm: ring as u32,
            mask: u32::MAX,
            addresses: std::array::from_fn(|lane| 4096 * u64::from(piece) + 4 * lane as u64),
            width_bytes: 4,
        };
        let bytes = record(&group, piece).repeat(records);
        let slot = ring * shape.host_slots + piece as usize % shape.host_slots;
        let data = (shape.host_control_bytes() + slot * shape.piece_bytes()) / 8;
        for (word, bytes) in self.words[data..].iter().zip(bytes.chunks_exact(8)) {
            let bytes = bytes.try_into().expect("eight bytes");
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        let ready = &self.words[2 * slot..2 * slot + 2];
        ready[1].store(self.ended, Ordering::Relaxed);
        let units = bytes.len() as u64 / 16;
        ready[0].store(units << 32 | u64::from(piece + 1), Ordering::Release);
        self.next_piece[ring] += 1;
    }

    fn end(&mut self) {
        self.ended += 1;
        self.words[self.shape.ended_word()].store(self.ended, Ordering::Release);
    }

    /// Waits for the workers; returns the launches with their endings, and the number of panics in each worker.
    fn close(self) -> (Vec<(u32, Ending)>, Vec<u32>) {
        assert!(self.queue.wait_until_empty(Duration::from_secs(20)));
        self.queue.close();
        let joined = self.workers.into_iter().map(|worker| worker.join());
        let panics = joined.map(|panics| panics.expect("workers catch their panics"));
        let panics = panics.collect();
        let endings = self
            .seen
            .endings
            .lock()
            .expect("no thread panicked")
            .clone();
        (endings, panics)
    }
}

#[test]
fn pieces_are_counted_for_the_right_launch_among_many_in_flight() {
    for pause in [Duration::ZERO, Duration::from_micros(300)] {
        let mut device = Device::new(5, 3, Seen::default(), pause);
        let mut expected = Vec::new();
        // The program is far ahead of the device, and the device does not wait for the host.
        for launch in 0..60 {
            device.push(launch);
        }
        for launch in 0..60u32 {
            let mut accesses = 0;
            for ring in 0..5 {
                for piece in 0..(launch as usize * 7 + ring * 3) % 4 {
                    let records = 1 + (launch as usize + piece) % 32;
                    device.piece(ring, records);
                    accesses += 32 * records as u64;
                }
            }
            device.end();
            let ending = Ending {
                thread_accesses: accesses,
                ..Ending::default()
            };
            expected.push((launch, ending));
        }
        let (endings, panics) = device.close();
        assert_eq!(endings, expected);
        assert_eq!(panics, [0; 3]);
    }
}

#[test]
fn a_ring_that_multiple_workers_read_keeps_its_order() {
    const PIECES: u64 = 200;
    let folder = tempfile::tempdir().expect("there is room");
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cuda))
        .expect("the folder can be written");
    let seen = Seen {
        file: Some(
            capture
                .stream(StreamId(0))
                .expect("the file can be created"),
        ),
        ..Seen::default()
    };
    // The pieces are so large that chunks become full while the kernel runs, and only two rings have pieces.
    let shape = Shape::rounded(8, 2048, 2, 4);
    let mut device = Device::with_shape(shape, 4, seen, Duration::ZERO);
    for launch in 0..2 {
        let ticket = device.push(launch);
        let event = Event::Launch(ticket.active.launch.clone());
        capture.event(&event).expect("the file can be written");
        for _ in 0..PIECES {
            device.piece(4, 2048);
            device.piece(0, 2048);
        }
        device.end();
    }
    let (endings, _) = device.close();
    assert_eq!(endings.len(), 2);
    capture
        .finish(&Outcome::Finished)
        .expect("it can be written");
    let capture = Capture::open(folder.path()).expect("it is a capture");
    let mut next = [0u64; 8];
    let groups = capture.groups(|record, group| {
        let ring = group.sm as usize;
        assert_eq!(
            u64::from(record.launch.launch.0),
            next[ring] / (PIECES * 2048)
        );
        assert_eq!(group.addresses[0] / 4096, next[ring] / 2048);
        next[ring] += 1;
    });
    groups.expect("it can be read");
    assert_eq!(next[0], 2 * PIECES * 2048);
    assert_eq!(next[4], next[0]);
}

#[test]
fn a_fault_ends_the_running_launch_and_no_earlier_one() {
    let mut device = Device::new(2, 2, Seen::default(), Duration::ZERO);
    for launch in 0..4 {
        device.push(launch);
    }
    device.piece(0, 2);
    device.end();
    device.piece(1, 5);
    device.queue.fault("injected fault");
    let (endings, _) = device.close();
    let outcomes: Vec<_> = endings
        .iter()
        .map(|(launch, ending)| (*launch, ending.thread_accesses, ending.failure.as_deref()))
        .collect();
    assert_eq!(
        outcomes,
        [
            (0, 64, None),
            (1, 160, Some("injected fault")),
            (2, 0, Some("did not run: injected fault")),
            (3, 0, Some("did not run: injected fault")),
        ]
    );
}

#[test]
fn a_panic_is_reported_and_blocks_no_kernel() {
    let seen = Seen {
        trap: Some(1),
        ..Seen::default()
    };
    let mut device = Device::new(2, 1, seen, Duration::ZERO);
    for launch in 0..3 {
        device.push(launch);
        for _ in 0..10 {
            device.piece(0, 32);
            device.piece(1, 32);
        }
        device.end();
    }
    let (endings, panics) = device.close();
    assert_eq!(panics, [1]);
    assert_eq!(endings.len(), 3);
    assert_eq!(endings[0].1.thread_accesses, 20 * 32 * 32);
    assert_eq!((endings[2].1.thread_accesses, endings[2].1.broken), (0, 20));
}
