//! Tests of a stream without a GPU. The test's threads act as host functions and kernels.

use crate::recorder::drain::queue::{Queue, Ticket};
use crate::recorder::thesis::bins::{Bins, Shape};
use crate::recorder::thesis::consumer::{Consumer, Ending, Sink};
use crate::recorder::thesis::layout::Bin;
use crate::recorder::thesis::record::Record;
use crate::recorder::thesis::record::tests::Fields;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use superstep_runtime_core::ActiveLaunch;
use superstep_trace::{ChunkBuilder, Launch, LaunchId, StreamId};

#[derive(Clone, Default)]
struct Seen {
    written: Arc<AtomicU64>,
    endings: Arc<Mutex<Vec<(u32, Ending)>>>,
}

impl Sink for Seen {
    fn write(&mut self, ticket: &Ticket, chunk: &mut ChunkBuilder) {
        assert_eq!(chunk.launch(), ticket.active.launch.launch);
        self.written
            .fetch_add(chunk.thread_accesses(), Ordering::Relaxed);
        chunk.restart(chunk.launch());
    }

    fn end(&mut self, ticket: &Arc<Ticket>, ending: Ending) {
        self.endings
            .lock()
            .expect("no thread panicked")
            .push((ticket.active.launch.launch.0, ending));
    }
}

struct Stream {
    queue: Arc<Queue>,
    bin: &'static Bin,
    records: &'static [AtomicU64],
    seen: Seen,
    consumer: JoinHandle<()>,
}

const RECORDS: usize = 64;

impl Stream {
    fn new() -> Self {
        let bin: &'static Bin = Box::leak(Box::default());
        let records: &'static [AtomicU64] =
            Box::leak((0..RECORDS * 3).map(|_| AtomicU64::new(0)).collect());
        let (queue, seen) = (Arc::new(Queue::default()), Seen::default());
        // SAFETY: there is one bin with its records, zeroed and leaked.
        let bins = unsafe { Bins::new(Shape::rounded(1, RECORDS), bin, records.as_ptr().cast()) };
        let mut consumer = Consumer::new(queue.clone(), bins, seen.clone());
        let consumer = std::thread::spawn(move || consumer.run());
        Stream {
            queue,
            bin,
            records,
            seen,
            consumer,
        }
    }

    fn push(&self, launch: u32) -> Arc<Ticket> {
        let launch = Launch {
            sequence: 0,
            stream: StreamId(0),
            launch: LaunchId(launch),
            kernel: "k".to_owned(),
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared_bytes: 0,
            static_shared_bytes: 0,
            parent: None,
            device: 0,
        };
        self.queue.push(
            ActiveLaunch {
                launch,
                number: 0,
                writer: None,
                recorded: superstep_trace::Recorded::All,
            },
            [None; 2],
            None,
        )
    }

    /// Simulates an access by one thread.
    fn access(&self) {
        let position = self.bin.reserved.fetch_add(1, Ordering::Relaxed);
        while self.bin.released.load(Ordering::Acquire) + RECORDS as u64 <= position {
            std::thread::yield_now();
        }
        let odd_lap = (position / RECORDS as u64).is_multiple_of(2);
        let fields = Fields {
            cta: 0,
            site: 0,
            address: position,
            width_bytes: 4,
            thread: 0,
            sm: 0,
            group: 1,
            leader: true,
            odd_lap,
        };
        self.records[position as usize % RECORDS * 3 + 2]
            .store(Record::pack(&fields).detail, Ordering::Release);
        self.bin.acknowledged.fetch_add(1, Ordering::Release);
    }

    fn close(self) -> Vec<(u32, Ending)> {
        self.queue.close();
        self.consumer.join().expect("the consumer panicked");
        let endings = std::mem::take(&mut *self.seen.endings.lock().expect("no thread panicked"));
        let accesses: u64 = endings
            .iter()
            .map(|(_, ending)| ending.thread_accesses)
            .sum();
        assert_eq!(accesses, self.seen.written.load(Ordering::Relaxed));
        endings
    }
}

fn completed(thread_accesses: u64) -> Ending {
    Ending {
        thread_accesses,
        ..Ending::default()
    }
}

#[test]
fn launches_end_in_order_with_their_own_accesses() {
    let stream = Stream::new();
    let tickets: Vec<_> = (0..20).map(|launch| stream.push(launch)).collect();
    for (index, ticket) in tickets.iter().enumerate() {
        stream.queue.started(ticket);
        for _ in 0..index * 37 {
            stream.access();
        }
        stream.queue.finished(ticket);
    }
    assert!(stream.queue.wait_until_empty(Duration::from_secs(10)));
    let endings = stream.close();
    assert_eq!(
        endings,
        (0..20)
            .map(|launch| (launch, completed(u64::from(launch) * 37)))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_fault_ends_running_and_waiting_launches() {
    let stream = Stream::new();
    let tickets: Vec<_> = (0..3).map(|launch| stream.push(launch)).collect();
    stream.queue.started(&tickets[0]);
    for _ in 0..10 {
        stream.access();
    }
    stream.bin.reserved.fetch_add(3, Ordering::Relaxed);
    stream.queue.fault("cudaErrorAssert");
    assert!(stream.queue.wait_until_empty(Duration::from_secs(10)));
    // A late host function does not wait forever.
    stream.queue.finished(&tickets[0]);
    let endings = stream.close();
    let failed = |launch, thread_accesses, lost, text: &str| {
        (
            launch,
            Ending {
                thread_accesses,
                lost,
                broken: 0,
                failure: Some(text.to_owned()),
            },
        )
    };
    let waited = "did not run: cudaErrorAssert";
    assert_eq!(
        endings,
        [
            failed(0, 10, 3, "cudaErrorAssert"),
            failed(1, 0, 0, waited),
            failed(2, 0, 0, waited)
        ]
    );
}

#[test]
fn program_exit_ends_a_running_kernel() {
    let stream = Stream::new();
    let ticket = stream.push(0);
    stream.queue.started(&ticket);
    stream.access();
    assert!(!stream.queue.wait_until_empty(Duration::from_millis(600)));
    let endings = stream.close();
    assert_eq!(endings.len(), 1);
    assert_eq!(endings[0].1.thread_accesses, 1);
    assert_eq!(
        endings[0].1.failure.as_deref(),
        Some("the program ended before the kernel did")
    );
}

#[test]
fn a_cancelled_launch_leaves_no_trace() {
    let stream = Stream::new();
    let (first, second) = (stream.push(0), stream.push(1));
    stream.queue.cancel(&first);
    stream.queue.started(&second);
    stream.access();
    stream.queue.finished(&second);
    assert_eq!(stream.close(), [(1, completed(1))]);
}
