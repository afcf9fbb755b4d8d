//! `superstep dump`: lists the accesses of a capture, one access group per line.

use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::arguments::value::{InvalidValue, invalid};
use crate::capture::failure;
use serde_json::json;
use superstep_analysis::needs_accesses;
use superstep_build::failure::Failure;
use superstep_trace::{
    AccessGroup, AllocationMap, Capture, GroupBuffer, LaunchRecord, Pattern, SiteTable, TraceError,
};

use crate::{capture, terminal};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Capture: its folder, any file in it, or the folder of a run.
    path: PathBuf,
    /// Only launches of kernels whose names match this pattern: a glob, or `regex:EXPR`.
    #[arg(long, value_name = "PATTERN")]
    kernel: Option<Pattern>,
    /// Only this launch, or launches A to B (inclusive), numbered from 0 in each stream.
    #[arg(long, value_name = "N|A..B", value_parser = parse_range)]
    launch: Option<RangeInclusive<u32>>,
    /// Only the CTA with this linear index.
    #[arg(long, value_name = "N")]
    cta: Option<u32>,
    /// Only accesses from this source line.
    #[arg(long, value_name = "FILE:LINE", value_parser = parse_place)]
    line: Option<(PathBuf, u32)>,
    /// Only groups that access this address, written as in the listing: #0+0x10.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,
    /// Stop after this many access groups.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print a JSON array with one access group per line.
    #[arg(long)]
    json: bool,
}

fn parse_place(text: &str) -> Result<(PathBuf, u32), InvalidValue> {
    let place = text.rsplit_once(':');
    place
        .and_then(|(file, line)| Some((file.into(), line.parse().ok()?)))
        .ok_or_else(|| invalid("FILE:LINE, such as pc.cu:12", text))
}

impl Args {
    fn selects(&self, group: &AccessGroup, sites: &SiteTable, map: &AllocationMap) -> bool {
        let is_on_line = |(file, line): &(PathBuf, u32)| {
            let site = sites.get(group.site);
            site.is_some_and(|site| site.line == *line && Path::new(&site.file).ends_with(file))
        };
        let mut addresses = group.active_addresses().iter();
        self.cta.is_none_or(|cta| cta == group.cta)
            && self.line.as_ref().is_none_or(is_on_line)
            && (self.address.as_ref())
                .is_none_or(|wanted| addresses.any(|&address| label(address, map) == *wanted))
    }
}

fn parse_range(text: &str) -> Result<RangeInclusive<u32>, InvalidValue> {
    let invalid = || invalid("a launch N, or A..B with A <= B", text);
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| invalid());
    let range = match text.split_once("..") {
        None => number(text).map(|launch| launch..=launch)?,
        Some((from, to)) => number(from)?..=number(to.trim_start_matches('='))?,
    };
    if range.is_empty() {
        return Err(invalid());
    }
    Ok(range)
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let capture = capture::open(&args.path)?;
    needs_accesses(&capture, "accesses to list").map_err(failure)?;
    let mut problem = None;
    terminal::print(|out| {
        let (start, end) = if args.json { ("[", "\n]\n") } else { ("", "") };
        write!(out, "{start}")?;
        problem = list(out, &capture, args)?;
        write!(out, "{end}")
    })?;
    match problem {
        Some(error) => Err(failure(error)),
        None => Ok(capture::conclude(&capture)),
    }
}

/// Prints the selected accesses up to the first damaged chunk, and returns its error.
fn list(out: &mut dyn Write, capture: &Capture, args: &Args) -> io::Result<Option<TraceError>> {
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut remaining = limit;
    let mut buffer = GroupBuffer::default();
    for record in capture.launches() {
        let launch = record.launch;
        let name = capture.sites().display_name(&launch.kernel);
        let kernel = args.kernel.as_ref();
        let range = args.launch.as_ref();
        let is_selected = kernel.is_none_or(|kernel| kernel.matches_function(&launch.kernel, name))
            && range.is_none_or(|range| range.contains(&launch.launch.0));
        if !is_selected || remaining == 0 {
            continue;
        }
        if !args.json {
            let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
            writeln!(
                out,
                "launch {} stream {} {name} grid {gx}x{gy}x{gz} block {bx}x{by}x{bz}",
                launch.launch, launch.stream
            )?;
        }
        for chunk in record.chunks {
            if remaining == 0 {
                break;
            }
            let mut result = Ok(());
            let read = capture.read_chunk(chunk, &mut buffer, |group| {
                let map = &record.allocations;
                if remaining > 0 && result.is_ok() && args.selects(group, capture.sites(), map) {
                    let separator = match (args.json, remaining == limit) {
                        (false, _) => "",
                        (_, true) => "\n",
                        (_, false) => ",\n",
                    };
                    remaining -= 1;
                    result = write!(out, "{separator}")
                        .and_then(|()| line(out, args.json, &record, name, group, capture.sites()));
                }
            });
            result?;
            if let Err(error) = read {
                return Ok(Some(error));
            }
        }
    }
    Ok(None)
}

fn line(
    out: &mut dyn Write,
    json: bool,
    record: &LaunchRecord,
    kernel: &str,
    group: &AccessGroup,
    sites: &SiteTable,
) -> io::Result<()> {
    let (launch, map) = (record.launch, &record.allocations);
    let site = sites.get(group.site);
    let (op, file, source_line) = site.map_or(("unknown", "", 0), |site| {
        (site.op.name(), site.file.as_str(), site.line)
    });
    if json {
        let addresses: Vec<_> = group
            .active_addresses()
            .iter()
            .map(|&address| match map.find(address) {
                Some(found) => json!({ "allocation": found.key.to_string(), "offset": address - found.address }),
                None => json!({ "address": address }),
            })
            .collect();
        let object = json!({
            "stream": launch.stream, "launch": launch.launch, "kernel": kernel, "cta": launch.cta_coordinates(group.cta), "warp": group.warp,
            "sm": group.sm, "mask": group.mask, "site": group.site, "op": op, "width_bytes": group.width_bytes, "file": file,
            "line": source_line, "addresses": addresses,
        });
        return write!(out, "{object}");
    }
    let [x, y, z] = launch.cta_coordinates(group.cta);
    writeln!(
        out,
        "  cta {x},{y},{z} warp {} sm {} {op} {} B mask {:08x} {file}:{source_line} {}",
        group.warp,
        group.sm,
        group.width_bytes,
        group.mask,
        addresses(group, map)
    )
}

fn label(address: u64, map: &AllocationMap) -> String {
    match map.find(address) {
        Some(found) => format!("{}+{:#x}", found.key, address - found.address),
        None => format!("{address:#x}"),
    }
}

/// Formats the addresses of a group: as start and stride if they are evenly spaced in one allocation, otherwise one by
/// one.
fn addresses(group: &AccessGroup, map: &AllocationMap) -> String {
    let active = group.active_addresses();
    if let [first, second, .., last] | [first, second @ last] = active {
        let step = second.wrapping_sub(*first) as i64;
        let mut pairs = active.windows(2);
        let is_even = pairs.all(|pair| pair[1].wrapping_sub(pair[0]) as i64 == step);
        let allocation = |address| map.find(address).map(|allocation| allocation.id);
        if is_even && allocation(*first) == allocation(*last) {
            return format!("{} step {step} x{}", label(*first, map), active.len());
        }
    }
    let all: Vec<String> = active.iter().map(|&address| label(address, map)).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests;
