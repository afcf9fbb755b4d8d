//! Tests that record batches, and the table written from them, contain exactly the accesses of the capture.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use common::{BASE, LOAD, STORE, group};
use superstep_export::ExportError;
use superstep_export::accesses::{Choice, read};
use superstep_export::tables::{Format, TableName, write};
use superstep_table::arrow_array::RecordBatch;
use superstep_table::{Format as TableFormat, Writer};
use superstep_trace::{AccessGroup, Capture, CtaRange, GroupBuffer};

/// Writes a capture with more accesses than fit in a batch: groups of 1 to 32 lanes with gaps, inside and outside the
/// allocation.
fn capture(folder: &Path) -> Arc<Capture> {
    let groups = |first: u32, count: u32| -> Vec<AccessGroup> {
        (first..first + count)
            .map(|number| {
                let mask = number.wrapping_mul(0x9e37_79b9) | 1;
                let site = if number % 3 == 0 { LOAD } else { STORE };
                let mut group = group(site, number % 7, number % 4, &[]);
                group.mask = match number % 5 {
                    0 => u32::MAX,
                    1 => mask & 0x0001_0f01,
                    _ => mask,
                };
                group.warp = number % 9;
                for lane in 0..group.lanes() {
                    let outside = number % 11 == 0 && lane % 2 == 1;
                    let word = u64::from(number % 2) + lane as u64;
                    group.addresses[lane] = if outside { word } else { BASE + 4 * word };
                }
                group
            })
            .collect()
    };
    let launches = [
        ("write", groups(0, 9_000)),
        ("read", groups(3, 700)),
        ("write", Vec::new()),
        ("read", groups(5, 90)),
    ];
    common::capture(folder, &launches)
}

fn csv(batches: &[RecordBatch], path: &Path) -> String {
    let schema = superstep_export::accesses::schema();
    let mut writer = Writer::create(TableFormat::Csv, path, &schema).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    std::fs::read_to_string(writer.finish().unwrap()).unwrap()
}

fn batches(capture: &Arc<Capture>, choice: &Choice) -> Vec<RecordBatch> {
    let reader = read(Arc::clone(capture), choice).unwrap();
    reader.collect::<Result<_, _>>().unwrap()
}

/// Returns the expected table as CSV.
fn rows(capture: &Capture) -> String {
    let mut text =
        "launch,site,op,cta,warp,lane,sm,width_bytes,address,allocation,offset\n".to_owned();
    let mut buffer = GroupBuffer::default();
    for record in capture.launches() {
        let mut group = |group: &AccessGroup| {
            let op = capture.sites().get(group.site).unwrap().op.name();
            let AccessGroup {
                site,
                cta,
                warp,
                sm,
                width_bytes,
                ..
            } = group;
            for (thread, address) in group.threads() {
                let place = match record.allocations.find(address) {
                    Some(found) => format!("{},{}", found.id.0, address - found.address),
                    None => ",".to_owned(),
                };
                let (launch, lane) = (record.number, thread % 32);
                text += &format!(
                    "{launch},{},{op},{cta},{warp},{lane},{sm},{width_bytes},{address},{place}\n",
                    site.0
                );
            }
        };
        for chunk in record.chunks {
            let read = capture.read_chunk(chunk, &mut buffer, &mut group);
            read.unwrap();
        }
    }
    text
}

#[test]
fn batches_equal_the_rows_with_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(&folder.path().join("capture"));
    let written = write(&capture, TableName::Accesses, Format::Csv, folder.path()).unwrap();
    let rows = rows(&capture);
    assert!(std::fs::read_to_string(written).unwrap() == rows);
    for threads in [1, 2, 5] {
        let choice = Choice {
            threads: std::num::NonZero::new(threads),
            ..Choice::default()
        };
        let batches = batches(&capture, &choice);
        assert!(
            batches.len() > 3,
            "the first launch fills more than one batch"
        );
        assert!(
            csv(&batches, &folder.path().join("batches.csv")) == rows,
            "{threads} threads"
        );
    }
}

#[test]
fn a_choice_selects_rows_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(&folder.path().join("capture"));
    let all = batches(&capture, &Choice::default());
    let path = folder.path().join("batches.csv");
    let (first, last) = (2, 4);
    let choice = Choice {
        launches: Some(BTreeSet::from([0, 1, 3])),
        kernel: Some("read".parse().unwrap()),
        ctas: vec![CtaRange { first, last }],
        ..Choice::default()
    };
    let chosen = csv(&batches(&capture, &choice), &path);
    let all = csv(&all, &path);
    let is_chosen = |line: &&str| {
        let cells: Vec<_> = line.split(',').collect();
        let cta: Result<u32, _> = cells[3].parse();
        cta.is_ok_and(|cta| ["1", "3"].contains(&cells[0]) && (first..=last).contains(&cta))
    };
    let expected: Vec<_> = all.lines().filter(is_chosen).collect();
    assert!(expected.len() > 1000);
    assert_eq!(chosen.lines().skip(1).collect::<Vec<_>>(), expected);

    // Each column is the same whether read alone or with the others.
    let whole = batches(&capture, &Choice::default());
    for (position, field) in superstep_export::accesses::schema()
        .fields()
        .iter()
        .enumerate()
    {
        let choice = Choice {
            columns: Some(vec![field.name().clone()]),
            ..Choice::default()
        };
        let alone = batches(&capture, &choice);
        let is_equal =
            |(alone, all): (&RecordBatch, &RecordBatch)| alone.column(0) == all.column(position);
        assert!(alone.iter().zip(&whole).all(is_equal), "{field}");
        assert_eq!(alone.len(), whole.len());
    }
}

#[test]
fn unknown_launches_kernels_and_columns_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path());
    let choices = [
        Choice {
            launches: Some(BTreeSet::from([4])),
            ..Choice::default()
        },
        Choice {
            kernel: Some("nothing".parse().unwrap()),
            ..Choice::default()
        },
        Choice {
            columns: Some(vec!["adress".to_owned()]),
            ..Choice::default()
        },
    ];
    for choice in choices {
        let error = read(Arc::clone(&capture), &choice).err();
        assert!(
            matches!(error, Some(ExportError::Choice { .. })),
            "{choice:?}"
        );
    }
}

#[test]
fn dropping_the_reader_stops_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path());
    let mut reader = read(Arc::clone(&capture), &Choice::default()).unwrap();
    assert!(reader.next().unwrap().unwrap().num_rows() > 0);
    drop(reader);
    // Wait until the threads drop the capture.
    let mut waits = 0..10_000;
    while Arc::strong_count(&capture) > 1 && waits.next().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(Arc::strong_count(&capture), 1);
}

#[test]
fn threads_wait_for_a_slow_reader() {
    let folder = tempfile::tempdir().unwrap();
    let launch = |number| ("write", vec![group(STORE, number, 0, &[BASE, BASE + 4])]);
    let launches: Vec<_> = (0..200).map(launch).collect();
    let capture = common::capture(folder.path(), &launches);
    let choice = Choice {
        threads: std::num::NonZero::new(2),
        ..Choice::default()
    };
    let mut reader = read(Arc::clone(&capture), &choice).unwrap();
    let mut rows = reader.next().unwrap().unwrap().num_rows();
    // Wait until the threads are idle.
    let mut previous = 0;
    while previous < capture.progress.read_bytes() {
        previous = capture.progress.read_bytes();
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let (read, all) = (capture.progress.read_bytes(), capture.access_bytes());
    assert!(read < all / 10, "{read} of {all} bytes were read ahead");
    rows += reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!(rows, 400);
}

#[test]
fn a_damaged_chunk_is_an_error_after_the_batches_before_it() {
    let folder = tempfile::tempdir().unwrap();
    drop(capture(folder.path()));
    let path = folder.path().join("stream-0.sst");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let capture = Arc::new(Capture::open(folder.path()).unwrap());
    let results: Vec<_> = read(capture, &Choice::default()).unwrap().collect();
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
    assert!(results.last().unwrap().is_err());
}
