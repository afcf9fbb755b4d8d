//! `superstep-bench codec`: how small and how fast captures can be stored, codec by codec, on real captures and one core.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_harness::{ByteSize, capture_failure};
use superstep_trace::{
    AccessGroup, Backend, Capture, CaptureWriter, ChunkBuilder, Event, GroupBuffer, Header,
    LaunchId, Outcome, TraceError, testing,
};

use crate::output::{JsonArgs, scratch};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Captures, as runs leave them in `benchmarks/<name>/capture`.
    #[arg(value_name = "CAPTURE", required = true)]
    captures: Vec<PathBuf>,
    /// Use at most this much of the encoded groups of each capture.
    #[arg(long, value_name = "SIZE", default_value = "32MiB")]
    sample_size: ByteSize,
    /// Repeat each measurement for at least this long; the fastest round counts.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.3)]
    seconds: f64,
    #[command(flatten)]
    json: JsonArgs,
}

/// What is tried on the encoded groups of a chunk.
#[derive(Debug, Clone, Copy)]
enum Codec {
    None,
    Lz4,
    Zstd(i32),
}

const CODECS: [Codec; 8] = [
    Codec::None,
    Codec::Lz4,
    Codec::Zstd(-5),
    Codec::Zstd(-1),
    Codec::Zstd(1),
    Codec::Zstd(3),
    Codec::Zstd(6),
    Codec::Zstd(9),
];

#[derive(Debug, Serialize)]
struct Row {
    capture: String,
    codec: String,
    accesses: u64,
    encoded_bytes: u64,
    stored_bytes: u64,
    bytes_per_access: f64,
    /// Encoding of groups, in accesses a second.
    encode_accesses_per_second: f64,
    /// Encoded bytes that are compressed in a second.
    compress_bytes_per_second: f64,
    /// Encoded bytes that are regained in a second.
    decompress_bytes_per_second: f64,
    /// Encoding and compression together, in accesses a second.
    accesses_per_second: f64,
    /// From a file to groups, where that was measured.
    read_accesses_per_second: Option<f64>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let mut rows = Vec::new();
    println!(
        "{:24} {:8} {:>12} {:>9} {:>9} {:>13} {:>13} {:>11} {:>11}",
        "capture",
        "codec",
        "accesses",
        "B/access",
        "of encoded",
        "compress MB/s",
        "regain MB/s",
        "M acc/s",
        "read M/s"
    );
    for path in &args.captures {
        let sample = Sample::read(path, args.sample_size.bytes).map_err(capture_failure)?;
        let least = Duration::from_secs_f64(args.seconds);
        let (encode, chunks) = fastest(least, || sample.encode());
        let encoded_bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let stored = sample.as_stored(encoded_bytes).map_err(capture_failure)?;
        let others = CODECS.map(|codec| sample.measure(codec, &chunks, encode, least));
        for row in [Ok(stored)].into_iter().chain(others) {
            let row = row?;
            println!(
                "{:24} {:8} {:>12} {:>9.4} {:>9.1}% {:>13.0} {:>13.0} {:>11.1} {:>11.1}",
                row.capture,
                row.codec,
                row.accesses,
                row.bytes_per_access,
                100.0 * row.stored_bytes as f64 / row.encoded_bytes as f64,
                row.compress_bytes_per_second / 1e6,
                row.decompress_bytes_per_second / 1e6,
                row.accesses_per_second / 1e6,
                row.read_accesses_per_second
                    .map_or(f64::NAN, |rate| rate / 1e6),
            );
            rows.push(row);
        }
    }
    args.json.write(&rows)?;
    Ok(exit_code::OK)
}

/// The time of the fastest of several rounds, and its result.
fn fastest<T>(least: Duration, mut round: impl FnMut() -> T) -> (Duration, T) {
    let begin = Instant::now();
    let mut measured = || {
        let start = Instant::now();
        let result = round();
        (start.elapsed(), result)
    };
    let mut best = measured();
    while begin.elapsed() < least {
        let again = measured();
        if again.0 < best.0 {
            best = again;
        }
    }
    best
}

/// Groups of a capture, chunk by chunk.
struct Sample {
    name: String,
    chunks: Vec<Vec<AccessGroup>>,
    accesses: u64,
}

impl Sample {
    /// The first groups, up to `most_bytes` encoded bytes in all.
    fn read(path: &std::path::Path, most_bytes: u64) -> Result<Self, TraceError> {
        let capture = Capture::open(path)?;
        let mut buffer = GroupBuffer::default();
        let (mut chunks, mut bytes, mut accesses) = (Vec::new(), 0, 0);
        for record in capture.launches() {
            for chunk in record.chunks {
                if bytes >= most_bytes {
                    break;
                }
                let mut groups = Vec::new();
                let mut builder = ChunkBuilder::new(chunk.launch);
                capture.read_chunk(chunk, &mut buffer, |group| {
                    builder.push(group);
                    groups.push(*group);
                })?;
                let (head, tail) = builder.encoded();
                bytes += (head.len() + tail.len()) as u64;
                accesses += chunk.thread_accesses;
                chunks.push(groups);
            }
        }
        // `<benchmark>/capture` is named after the benchmark.
        let folder = capture.folder();
        let named = match folder.file_name() {
            Some(name) if name == "capture" => folder.parent().unwrap_or(folder),
            _ => folder,
        };
        let name = named.file_name().unwrap_or(named.as_os_str());
        Ok(Sample {
            name: name.to_string_lossy().into_owned(),
            chunks,
            accesses,
        })
    }

    fn encode(&self) -> Vec<Vec<u8>> {
        let encode = |groups: &Vec<AccessGroup>| {
            let mut builder = ChunkBuilder::new(LaunchId(0));
            groups.iter().for_each(|group| builder.push(group));
            let (head, tail) = builder.encoded();
            [head, tail].concat()
        };
        self.chunks.iter().map(encode).collect()
    }

    /// Into a capture and back: the part of a chunk that hardly gets smaller is tried, and left as it is.
    fn as_stored(&self, encoded_bytes: u64) -> Result<Row, TraceError> {
        let scratch = scratch().map_err(|error| TraceError::NotACapture {
            path: std::env::temp_dir(),
            reason: error.to_string(),
        })?;
        let launch = testing::launch("kernel", 1, 32);
        let capture = CaptureWriter::create(scratch.path(), &Header::new(Backend::Cpu))?;
        capture.event(&Event::Launch(launch.clone()))?;
        let stream = capture.stream(launch.stream)?;
        let mut builder = ChunkBuilder::new(launch.launch);
        let start = Instant::now();
        for groups in &self.chunks {
            groups.iter().for_each(|group| builder.push(group));
            stream.flush(&mut builder)?;
        }
        let write = start.elapsed().as_secs_f64();
        capture.finish(&Outcome::Finished)?;
        let capture = Capture::open(scratch.path())?;
        let stored_bytes = capture.access_bytes();
        let mut buffer = GroupBuffer::default();
        let start = Instant::now();
        for chunk in capture.launches().flat_map(|record| record.chunks) {
            capture.read_chunk(chunk, &mut buffer, |group| {
                std::hint::black_box(group);
            })?;
        }
        let read = start.elapsed().as_secs_f64();
        let accesses = self.accesses as f64;
        Ok(Row {
            capture: self.name.clone(),
            codec: "capture".to_owned(),
            accesses: self.accesses,
            encoded_bytes,
            stored_bytes,
            bytes_per_access: stored_bytes as f64 / accesses,
            encode_accesses_per_second: f64::NAN,
            compress_bytes_per_second: encoded_bytes as f64 / write,
            decompress_bytes_per_second: encoded_bytes as f64 / read,
            accesses_per_second: accesses / write,
            read_accesses_per_second: Some(accesses / read),
        })
    }

    fn measure(
        &self,
        codec: Codec,
        chunks: &[Vec<u8>],
        encode: Duration,
        least: Duration,
    ) -> Result<Row, Failure> {
        let failed = |error: std::io::Error| Failure::internal("compress a chunk", error);
        let (compress, stored) = fastest(least, || {
            let stored = chunks.iter().map(|chunk| codec.compress(chunk));
            stored.collect::<Result<Vec<_>, _>>()
        });
        let stored = stored.map_err(failed)?;
        let (decompress, regained) = fastest(least, || {
            let pairs = stored.iter().zip(chunks);
            let chunks = pairs.map(|(stored, chunk)| codec.decompress(stored, chunk.len()));
            chunks.collect::<Result<Vec<_>, _>>()
        });
        if regained.map_err(failed)? != chunks {
            let message = format!("{codec:?} does not reproduce its input");
            return Err(Failure::new(FailureKind::Internal, message));
        }
        let bytes = |chunks: &[Vec<u8>]| chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
        let (encoded_bytes, stored_bytes) = (bytes(chunks), bytes(&stored));
        let (encode, compress) = (encode.as_secs_f64(), compress.as_secs_f64());
        let accesses = self.accesses as f64;
        Ok(Row {
            capture: self.name.clone(),
            codec: codec.name(),
            accesses: self.accesses,
            encoded_bytes,
            stored_bytes,
            bytes_per_access: stored_bytes as f64 / accesses,
            encode_accesses_per_second: accesses / encode,
            compress_bytes_per_second: encoded_bytes as f64 / compress,
            decompress_bytes_per_second: encoded_bytes as f64 / decompress.as_secs_f64(),
            accesses_per_second: accesses / (encode + compress),
            read_accesses_per_second: None,
        })
    }
}

impl Codec {
    fn name(self) -> String {
        match self {
            Codec::None => "none".to_owned(),
            Codec::Lz4 => "lz4".to_owned(),
            Codec::Zstd(level) => format!("zstd {level}"),
        }
    }

    fn compress(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Codec::None => Ok(bytes.to_vec()),
            Codec::Lz4 => Ok(lz4_flex::block::compress(bytes)),
            Codec::Zstd(level) => zstd::bulk::compress(bytes, level),
        }
    }

    fn decompress(self, bytes: &[u8], length: usize) -> std::io::Result<Vec<u8>> {
        match self {
            Codec::None => Ok(bytes.to_vec()),
            Codec::Lz4 => lz4_flex::block::decompress(bytes, length).map_err(std::io::Error::other),
            Codec::Zstd(_) => zstd::bulk::decompress(bytes, length),
        }
    }
}
