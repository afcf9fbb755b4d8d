//! NVLink's data counters, from `nvidia-smi`.

use std::process::Command;

use superstep_build::bail;
use superstep_build::failure::{Failure, FailureKind};

const PROGRAM: &str = "nvidia-smi";
const ARGUMENTS: [&str; 3] = ["nvlink", "-gt", "d"];

/// Payload bytes that the GPUs have sent and received over all their links.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

impl Traffic {
    pub fn since(self, before: Self) -> Self {
        Self {
            sent_bytes: self.sent_bytes.saturating_sub(before.sent_bytes),
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
        }
    }
}

/// Reads the counters of all GPUs and adds them up.
pub fn read() -> Result<Traffic, Failure> {
    let output = Command::new(PROGRAM).args(ARGUMENTS).output();
    let output = output.map_err(Failure::io("run", &PROGRAM))?;
    if !output.status.success() {
        bail!(Tool, "{PROGRAM} failed: {}", output.status);
    }
    match parse(&String::from_utf8_lossy(&output.stdout))? {
        Some(traffic) => Ok(traffic),
        None => bail!(Tool, "the driver has no NVLink counters"),
    }
}

/// Parses the output. Returns `None` if there is no link, or if a link has no counter.
fn parse(text: &str) -> Result<Option<Traffic>, Failure> {
    let mut all = Traffic::default();
    let (mut links, mut lacks_counter) = (0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("GPU ") {
            continue;
        }
        let malformed = || {
            let arguments = ARGUMENTS.join(" ");
            let found = format!("found {line:?} in the output of {PROGRAM} {arguments}");
            let message = format!("expected `Link N: Data Tx: N KiB`, {found}");
            Failure::new(FailureKind::Tool, message)
        };
        let (link, rest) = line.split_once(": Data ").ok_or_else(malformed)?;
        let number = link.strip_prefix("Link ").ok_or_else(malformed)?;
        number.parse::<u32>().map_err(|_| malformed())?;
        let (direction, amount) = rest.split_once(": ").ok_or_else(malformed)?;
        if amount == "N/A" {
            lacks_counter = true;
            continue;
        }
        let kib = amount.strip_suffix(" KiB").ok_or_else(malformed)?;
        let bytes = kib.parse::<u64>().map_err(|_| malformed())? << 10;
        match direction {
            "Tx" => all.sent_bytes += bytes,
            "Rx" => all.received_bytes += bytes,
            _ => return Err(malformed()),
        }
        links += 1;
    }
    Ok((links > 0 && !lacks_counter).then_some(all))
}

#[cfg(test)]
mod tests;
