//! Formats numbers for people: bytes with a unit, shares in percent.

/// Formats a number of bytes with three digits and a unit, a power of 1024.
pub fn bytes(mut value: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut power = 0;
    while value >= 1023.5 && power + 1 < UNITS.len() {
        value /= 1024.0;
        power += 1;
    }
    match (power, value) {
        (0, _) | (_, 99.95..) => format!("{value:.0} {}", UNITS[power]),
        (_, 9.995..) => trimmed(format!("{value:.1}"), UNITS[power]),
        _ => trimmed(format!("{value:.2}"), UNITS[power]),
    }
}

/// Formats a count with three digits and k, M, G and so on.
pub fn count(value: f64) -> String {
    in_units(value, ["", "k", "M", "G", "T", "P"])
}

/// Formats a time with three digits and ns, µs, ms or s.
pub fn duration(ns: f64) -> String {
    match ns {
        1e12.. => format!("{:.0} s", ns / 1e9),
        _ => in_units(ns, ["ns", "µs", "ms", "s", "s", "s"]),
    }
}

fn in_units(mut value: f64, [one, thousands @ .., last]: [&str; 6]) -> String {
    if value < 999.5 {
        return match one {
            "" => trimmed(format!("{value:.2}"), one),
            one => format!("{value:.0} {one}"),
        };
    }
    for unit in thousands {
        value /= 1000.0;
        // Values that would round to 1000 get the next unit.
        if value < 999.5 {
            return match value {
                99.95.. => format!("{value:.0} {unit}"),
                9.995.. => trimmed(format!("{value:.1}"), unit),
                _ => trimmed(format!("{value:.2}"), unit),
            };
        }
    }
    format!("{:.0} {last}", value / 1000.0)
}

fn trimmed(number: String, unit: &str) -> String {
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {unit}").trim_end().to_owned()
}

/// Formats a share in percent. Only exactly 0 is shown as 0 %, and only exactly 1 as 100 %.
pub fn percent(share: f64) -> String {
    match share {
        _ if share > 0.0 && share < 0.0005 => "< 0.1 %".to_owned(),
        0.9995..1.0 => "> 99.9 %".to_owned(),
        share => format!("{:.1} %", share * 100.0),
    }
}

#[cfg(test)]
mod tests;
