//! Writes a capture's stream as `memtrace-v1`.

use super::{RECORD_BYTES, Record};
use crate::error::{Result, TraceError};
use crate::{AccessGroup, Capture, GroupBuffer, Launch, LaunchRecord, SiteTable, StreamId};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Returns the name of a stream's file, `MemTrace-pipe-<n>`.
pub fn file_name(stream: StreamId) -> String {
    format!("MemTrace-pipe-{stream}")
}

/// Parses the name of a stream's file, the inverse of [`file_name`].
pub fn parse_file_name(name: &str) -> Option<StreamId> {
    let number = name.strip_prefix("MemTrace-pipe-")?.parse();
    number.ok().map(StreamId)
}

/// Writes the launches of `stream` to `out` in order; returns the number of records. Fails with [`TraceError::Export`]
/// if a launch does not fit the format (CTA y or z of 65536 or more, widths of 2^28 or more, or a kernel name with
/// control characters).
pub fn export(capture: &Capture, stream: StreamId, out: &mut impl Write) -> Result<u64> {
    let write_failed = || TraceError::io("write", format!("the export of stream {stream}"));
    out.write_all(&[RECORD_BYTES as u8, b'\n'])
        .map_err(write_failed())?;
    let (mut buffer, mut bytes, mut records) = (GroupBuffer::default(), Vec::new(), 0);
    for LaunchRecord { launch, chunks, .. } in capture.launches() {
        if launch.stream != stream {
            continue;
        }
        if launch.kernel.is_empty() || launch.kernel.chars().any(char::is_control) {
            let kernel = &launch.kernel;
            let reason = format!("{kernel:?} is not a kernel name that this format can represent");
            return Err(not_exportable(launch, reason));
        }
        out.write_all(launch.kernel.as_bytes())
            .and_then(|()| out.write_all(b"\n"))
            .map_err(write_failed())?;
        for chunk in chunks {
            bytes.clear();
            let mut result = Ok(());
            capture.read_chunk(chunk, &mut buffer, |group| {
                if result.is_ok() {
                    result = append(capture.sites(), launch, group, &mut bytes);
                }
            })?;
            result?;
            records += (bytes.len() / RECORD_BYTES) as u64;
            out.write_all(&bytes).map_err(write_failed())?;
        }
        out.write_all(&[0; RECORD_BYTES]).map_err(write_failed())?;
    }
    out.flush().map_err(write_failed())?;
    Ok(records)
}

/// Exports to a file, like [`export`].
pub fn export_file(capture: &Capture, stream: StreamId, path: &Path) -> Result<u64> {
    let file = File::create(path).map_err(TraceError::io("create", path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    export(capture, stream, &mut out).map_err(|error| match error {
        TraceError::Io { action, source, .. } => TraceError::io(action, path)(source),
        other => other,
    })
}

fn append(
    sites: &SiteTable,
    launch: &Launch,
    group: &AccessGroup,
    out: &mut Vec<u8>,
) -> Result<()> {
    let site = sites
        .get(group.site)
        .ok_or(TraceError::UnknownSite { site: group.site })?;
    let cta = launch.cta_coordinates(group.cta);
    let mut record = Record {
        cta,
        address: 0,
        sm: group.sm,
        op: site.op,
        width_bytes: group.width_bytes,
    };
    for &address in group.active_addresses() {
        record.address = address;
        let bytes = record.to_bytes().ok_or_else(|| {
            let reason = format!(
                "CTA {cta:?} with an access of {} bytes: y and z must be below 65536 and the width below 2^28",
                group.width_bytes
            );
            not_exportable(launch, reason)
        })?;
        out.extend_from_slice(&bytes);
    }
    Ok(())
}

fn not_exportable(launch: &Launch, reason: String) -> TraceError {
    let Launch { launch, stream, .. } = launch;
    TraceError::Export {
        reason: format!("launch {launch} of stream {stream}: {reason}"),
    }
}
