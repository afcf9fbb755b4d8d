//! Tests of `reporter`.

use super::*;
use superstep_testing as testing;
use superstep_trace::{Backend, CaptureWriter, Event, Header, LaunchId, LaunchSums, StreamId};

#[test]
fn a_program_that_still_runs_is_told_by_its_capture() {
    let folder = tempfile::tempdir().unwrap();
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    let shown = Shown {
        reporter: Reporter::new(MessageFormat::Json),
        what: "traced run".to_owned(),
        started: Instant::now() - Duration::from_secs(2),
        shows: Shows::Growing(folder.path().join("nothing yet")),
    };
    assert_eq!(shown.text(), "traced run");
    for number in 0..2 {
        let mut launch = testing::launch("_Zk", 8, 32);
        (launch.sequence, launch.launch.0) = (number, number as u32);
        let mut sums = LaunchSums::new(StreamId(0), LaunchId(number as u32));
        (sums.loads.threads, sums.stores.threads) = (3_000_000, 1_000_000);
        (sums.loaded.communicated, sums.loaded.input) = (3, 1);
        capture.event(&Event::Launch(launch)).unwrap();
        capture.event(&Event::Sums(sums)).unwrap();
    }
    let shown = Shown {
        shows: Shows::Growing(folder.path().to_owned()),
        ..shown
    };
    let text = shown.text();
    let text: Vec<&str> = text.split(" (").collect();
    assert_eq!(text[0], "traced run: 2 launches, 8,000,000 accesses");
    assert!(
        text[1].ends_with("million a second), 75 % of the loaded bytes communicated"),
        "{text:?}"
    );
}
