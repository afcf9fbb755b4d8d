//! `superstep cache`: shows and prunes the user's cache.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::arguments::value::ByteSize;
use crate::results::{bytes_below, counted, human_bytes};
use crate::terminal::{print, print_json};
use superstep_build::compile::{PruneLimits, StepCache};
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_build::fetch::default_cache_dir;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Remove the least recently used build steps until the rest fits within --max-size. `superstep suite` does this
    /// automatically, with the default limits.
    #[arg(long)]
    prune: bool,
    /// Size limit for cached build steps.
    #[arg(long, value_name = "SIZE", default_value = "20GiB", requires = "prune")]
    max_size: ByteSize,
    /// Keep build steps used within this many hours, regardless of their size.
    #[arg(long, value_name = "HOURS", default_value_t = 24, requires = "prune")]
    unused_for: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let folder = default_cache_dir()?;
    let limits = PruneLimits {
        bytes: args.max_size.bytes,
        unused_for: Duration::from_secs(args.unused_for.saturating_mul(3600)),
    };
    let cache = StepCache::new(folder.join("build"));
    let pruned = args.prune.then(|| cache.prune(limits)).transpose()?;
    let parts = parts(&folder);
    let total: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
    if args.json {
        let parts: BTreeMap<_, _> = parts.into_iter().collect();
        print_json(&serde_json::json!({
            "schema_version": 1, "folder": folder, "bytes": parts, "pruned": pruned,
        }))?;
        return Ok(exit_code::OK);
    }
    print(|out| {
        if let Some(pruned) = pruned {
            let steps = |number, bytes| (counted(number, "build step"), human_bytes(bytes));
            let (removed, removed_size) = steps(pruned.removed, pruned.removed_bytes);
            let (kept, kept_size) = steps(pruned.kept, pruned.kept_bytes);
            writeln!(
                out,
                "removed {removed} ({removed_size}), kept {kept} ({kept_size})"
            )?;
        }
        writeln!(out, "{}: {}", folder.display(), human_bytes(total))?;
        parts
            .iter()
            .try_for_each(|(name, bytes)| writeln!(out, "  {name:<24} {}", human_bytes(*bytes)))
    })?;
    Ok(exit_code::OK)
}

fn parts(folder: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let part = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, bytes_below(&entry.path()))
    };
    let mut parts: Vec<_> = entries.map(part).collect();
    parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    parts
}
