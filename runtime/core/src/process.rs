//! What /proc says about the program itself.

use std::time::{SystemTime, UNIX_EPOCH};
use superstep_trace::{Backend, DeviceInfo, Header};

/// A capture header for this process.
pub(crate) fn header(backend: Backend, device: DeviceInfo, start_unix_ns: u64) -> Header {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let command_line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    Header {
        program: program.to_string_lossy().into_owned(),
        arguments: arguments(&command_line),
        device,
        start_unix_ns,
        ..Header::new(backend)
    }
}

/// The arguments in a `/proc/<pid>/cmdline`, without the program's name.
fn arguments(command_line: &[u8]) -> Vec<String> {
    let ended = command_line.strip_suffix(b"\0").unwrap_or(command_line);
    ended
        .split(|&byte| byte == 0)
        .skip(1)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

/// Nanoseconds since 1970-01-01 UTC.
pub(crate) fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_may_be_empty_and_many() {
        assert_eq!(arguments(b"program\0a\0\0b c\0"), ["a", "", "b c"]);
        assert!(arguments(b"program\0").is_empty());
        assert!(arguments(b"").is_empty());
    }

    #[test]
    fn the_header_names_this_program() {
        let header = header(Backend::Cpu, DeviceInfo::default(), unix_ns());
        assert_eq!(
            header.program,
            std::env::current_exe().unwrap().to_string_lossy()
        );
        assert_eq!(
            header.arguments,
            std::env::args().skip(1).collect::<Vec<_>>()
        );
        assert!(header.start_unix_ns > 1_600_000_000_000_000_000);
    }
}
