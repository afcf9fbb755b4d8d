//! NVLink's counters of data, as `nvidia-smi` tells them.

use std::ops::Sub;
use std::process::Command;

use serde::Serialize;
use superstep_build::failure::{Failure, FailureKind};

const PROGRAM: &str = "nvidia-smi";
const ARGUMENTS: [&str; 3] = ["nvlink", "-gt", "d"];

/// What a GPU has sent and received over all of its links, without what the protocol adds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traffic {
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            sent_bytes: self.sent_bytes.saturating_sub(before.sent_bytes),
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
        }
    }
}

/// Counters that are there.
#[derive(Debug)]
pub struct Counters(());

impl Counters {
    /// The text says why there are none.
    pub fn find() -> Result<Self, String> {
        let output = Command::new(PROGRAM).args(ARGUMENTS).output();
        let output = output.map_err(|error| format!("{PROGRAM} does not start: {error}"))?;
        if !output.status.success() {
            return Err(format!("{PROGRAM} ended with {}", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        match parse(&text) {
            Ok(Some(_)) => Ok(Self(())),
            Ok(None) => Err("the driver gives none of NVLink's".to_owned()),
            Err(line) => Err(unknown(&line)),
        }
    }

    /// By GPU.
    pub fn read(&self) -> Result<Vec<Traffic>, Failure> {
        let output = (Command::new(PROGRAM).args(ARGUMENTS).output())
            .map_err(Failure::io("run", &PROGRAM))?;
        match parse(&String::from_utf8_lossy(&output.stdout)) {
            Ok(Some(all)) => Ok(all),
            Ok(None) => Err(Failure::new(
                FailureKind::Run,
                "NVLink's counters are gone".to_owned(),
            )),
            Err(line) => Err(Failure::new(FailureKind::Run, unknown(&line))),
        }
    }
}

fn unknown(line: &str) -> String {
    format!(
        "{PROGRAM} {} says {line:?}, where `Link N: Data Tx: N KiB` was expected",
        ARGUMENTS.join(" ")
    )
}

/// By GPU; `None` where there is no link, or one without a counter.
///
/// # Errors
/// The first line that means nothing.
fn parse(text: &str) -> Result<Option<Vec<Traffic>>, String> {
    let mut all = Vec::new();
    let (mut links, mut is_absent) = (0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with("GPU ") {
            all.push(Traffic::default());
            continue;
        }
        let wrong = || line.to_owned();
        let (link, rest) = line.split_once(": Data ").ok_or_else(wrong)?;
        let number = link.strip_prefix("Link ").ok_or_else(wrong)?;
        number.parse::<u32>().map_err(|_| wrong())?;
        let (direction, amount) = rest.split_once(": ").ok_or_else(wrong)?;
        if amount == "N/A" {
            is_absent = true;
            continue;
        }
        let kib = amount.strip_suffix(" KiB").ok_or_else(wrong)?;
        let bytes = kib.parse::<u64>().map_err(|_| wrong())? << 10;
        let of = all.last_mut().ok_or_else(wrong)?;
        match direction {
            "Tx" => of.sent_bytes += bytes,
            "Rx" => of.received_bytes += bytes,
            _ => return Err(wrong()),
        }
        links += 1;
    }
    Ok((links > 0 && !is_absent).then_some(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_added_over_links() {
        let text = "GPU 0: NVIDIA (UUID: GPU-1)\n\t Link 0: Data Tx: 3 KiB\n\t Link 0: Data Rx: 1 KiB\n\t Link 1: Data Tx: 4 KiB\n\t Link 1: Data Rx: 0 KiB\nGPU 1: NVIDIA (UUID: GPU-2)\n\t Link 0: Data Tx: 1 KiB\n\t Link 0: Data Rx: 7 KiB\n";
        let all = parse(text).unwrap().unwrap();
        let kib = |sent: u64, received: u64| Traffic {
            sent_bytes: sent << 10,
            received_bytes: received << 10,
        };
        assert_eq!(all, [kib(7, 1), kib(1, 7)]);
        assert_eq!(all[0] - kib(5, 1), kib(2, 0));
    }

    #[test]
    fn what_is_not_counted_is_absent_and_what_means_nothing_is_named() {
        let gpu = "GPU 0: NVIDIA (UUID: GPU-1)\n";
        assert_eq!(parse(gpu), Ok(None));
        let absent = format!("{gpu}\t Link 0: Data Tx: N/A\n\t Link 0: Data Rx: N/A\n");
        assert_eq!(parse(&absent), Ok(None));
        for wrong in [
            "Link 0: Data Tx: 3 MiB",
            "Link x: Data Tx: 3 KiB",
            "Link 0: 26.5 GB/s",
        ] {
            assert_eq!(parse(&format!("{gpu}\t {wrong}\n")), Err(wrong.to_owned()));
        }
    }
}
