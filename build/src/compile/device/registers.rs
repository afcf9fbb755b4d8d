//! Limits the registers of kernels with a probe, so that their CTAs can be as large as without it.
//!
//! A kernel without `__launch_bounds__` can be launched with as many threads as its registers allow. A probe needs
//! additional registers, so launches that work in the untraced program might fail. The binaries with and without the
//! probe are compared; if a kernel needs too many registers with it, the kernel is assembled again with a limit. Other
//! kernels get no limit, since ptxas uses all registers that a limit allows, even 64 where 48 are enough. If a program
//! divides its work by the number of resident CTAs, the limit allows as many of them as without the probe.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolIndex};

use crate::compile::{BuildError, Result};

pub(crate) type Registers = BTreeMap<String, u32>;

/// Registers per lane in each of an SM's four partitions. An SM has 65,536 registers (compute capability 7.0+).
const PARTITION_REGISTERS: u32 = 65_536 / 4 / 32;
const ALLOCATION_UNIT: u32 = 8;
/// Maximum number of warps per partition: for one CTA (1,024 threads), and for all resident CTAs (2,048 threads).
const MAX_WARPS: [u32; 2] = [1024 / 32 / 4, 2048 / 32 / 4];
const MAX_REGISTERS: u32 = 255;

/// `EIATTR_REGCOUNT` in the section `.nv.info`: a symbol index, and the number of registers used by the function that
/// the symbol names.
const REGISTER_COUNT: [u8; 4] = [4, 0x2f, 8, 0];

/// Returns `ptx` with limits for the kernels that use too many registers in one of the `probed` binaries, compared with
/// the `native` binary for the same architecture. With `as_resident`, the limits allow as many resident CTAs as without
/// the probe. Returns `None` if there are no such kernels.
pub(crate) fn limited(
    ptx: &str,
    native: &[Registers],
    probed: &[Registers],
    as_resident: bool,
) -> Option<String> {
    let kernels = kernels(ptx);
    let functions_wait = kernels.iter().any(|k| k.name.is_none() && k.waits_for_grid);
    let mut limits = Vec::new();
    for kernel in &kernels {
        let Some(name) = kernel.name.filter(|_| !kernel.has_own_limit) else {
            continue;
        };
        let all_resident = as_resident || kernel.waits_for_grid || functions_wait;
        if kernel.has_own_size && !all_resident {
            continue;
        }
        let (mut limit, mut is_over) = (MAX_REGISTERS, false);
        for (native, probed) in native.iter().zip(probed) {
            if let (Some(native), Some(used)) = (native.get(name), probed.get(name)) {
                let allowed = limit_of(*native, all_resident);
                limit = limit.min(allowed);
                is_over |= *used > allowed;
            }
        }
        if is_over {
            limits.push((kernel.body, limit));
        }
    }
    if limits.is_empty() {
        return None;
    }
    let mut text = ptx.to_owned();
    // From the end, so that the positions of the others stay valid.
    for (body, limit) in limits.into_iter().rev() {
        text.insert_str(body, &format!(".maxnreg {limit}\n"));
    }
    Some(text)
}

/// Returns the maximum number of registers that allows CTAs as large as with `native` registers or, if
/// `all_resident` is set, as many resident CTAs. Warps are spread evenly over the partitions of an SM.
fn limit_of(native: u32, all_resident: bool) -> u32 {
    let warps = PARTITION_REGISTERS / native.max(1).next_multiple_of(ALLOCATION_UNIT);
    let warps = warps.clamp(1, MAX_WARPS[usize::from(all_resident)]);
    (PARTITION_REGISTERS / warps / ALLOCATION_UNIT * ALLOCATION_UNIT).min(MAX_REGISTERS)
}

/// A kernel or device function in PTX from `llc`; `name` is set only for kernels.
#[derive(Default)]
struct Kernel<'a> {
    name: Option<&'a str>,
    body: usize,
    has_own_size: bool,
    has_own_limit: bool,
    /// Whether it reads an `%envreg` register. Such registers contain the address of the words that a cooperative
    /// launch uses to synchronise the grid.
    waits_for_grid: bool,
}

fn kernels(ptx: &str) -> Vec<Kernel<'_>> {
    let mut found: Vec<Kernel<'_>> = Vec::new();
    // Inline PTX in a body can contain blocks.
    let (mut position, mut depth) = (0, 0);
    for line in ptx.split_inclusive('\n') {
        let entry = line
            .split_once(".entry ")
            .and_then(|(_, rest)| rest.split('(').next());
        if depth == 0 && (entry.is_some() || line.contains(".func ")) {
            found.push(Kernel {
                name: entry,
                ..Kernel::default()
            });
        }
        if let Some(kernel) = found.last_mut() {
            let braces = |brace| line.matches(brace).count();
            if depth == 0 && line.starts_with('{') {
                kernel.body = position;
            }
            if depth > 0 || line.starts_with('{') {
                kernel.waits_for_grid |= line.contains("%envreg");
                depth = (depth + braces('{')).saturating_sub(braces('}'));
            } else {
                let has = |words: [&str; 2]| words.iter().any(|word| line.starts_with(word));
                kernel.has_own_size |= has([".maxntid ", ".reqntid "]);
                kernel.has_own_limit |= has([".maxnreg ", ".minnctapersm "]);
            }
        }
        position += line.len();
    }
    found
}

pub(crate) fn read_all(binaries: &[PathBuf]) -> Result<Vec<Registers>> {
    binaries.iter().map(|path| read_binary(path)).collect()
}

pub(crate) fn read_binary(binary: &Path) -> Result<Registers> {
    let bytes = std::fs::read(binary).map_err(BuildError::io("read", binary))?;
    read(&bytes).map_err(|reason| {
        BuildError::installation(
            format!("the register counts of the kernels in {}", binary.display()),
            format!("{reason}; run `superstep doctor` to see which ptxas wrote it"),
        )
    })
}

fn read(bytes: &[u8]) -> Result<Registers, Box<dyn std::error::Error>> {
    let binary = object::File::parse(bytes)?;
    // A module without kernels can lack this section.
    let Some(section) = binary.section_by_name(".nv.info") else {
        return Ok(Registers::new());
    };
    let mut rest = section.data()?;
    let mut registers = Registers::new();
    while let [format, _, low, high, values @ ..] = rest {
        // Format 4 has a size here, followed by that many bytes; the other formats have a value.
        let size = match format {
            4 => usize::from(u16::from_le_bytes([*low, *high])),
            _ => 0,
        };
        let truncated = "its section .nv.info ends in the middle of an entry";
        let (value, remainder) = values.split_at_checked(size).ok_or(truncated)?;
        if let (true, &[a, b, c, d, e, f, g, h]) = (rest.starts_with(&REGISTER_COUNT), value) {
            let symbol = SymbolIndex(u32::from_le_bytes([a, b, c, d]) as usize);
            let symbol = binary.symbol_by_index(symbol).and_then(|s| s.name());
            let name = symbol?.to_owned();
            registers.insert(name, u32::from_le_bytes([e, f, g, h]));
        }
        rest = remainder;
    }
    Ok(registers)
}

#[cfg(test)]
mod tests;
