//! The machine that a run was started on.

use superstep_analysis::run_summary::Host;

pub fn host() -> Host {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        line.strip_prefix("model name")?
            .split_once(':')
            .map(|(_, name)| name.trim().to_owned())
    });
    let cores = std::thread::available_parallelism()
        .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    Host {
        cpu: model.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores,
    }
}
