//! Formats numbers for human readers: bytes with a unit, shares in percent.

/// Formats a number of bytes with three digits and a unit that is a power of 1024.
pub fn bytes(value: f64) -> String {
    in_units(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// Formats a count with three digits and k, M, G and so on.
pub fn count(value: f64) -> String {
    in_units(value, 1000.0, &["", "k", "M", "G", "T", "P"])
}

/// Formats a time with three digits and ns, µs, ms or s.
pub fn duration(ns: f64) -> String {
    in_units(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

fn in_units(mut value: f64, base: f64, units: &[&str]) -> String {
    let mut power = 0;
    // Values that would round to the base get the next unit.
    while value >= base - 0.5 && power + 1 < units.len() {
        value /= base;
        power += 1;
    }
    let decimals = match value {
        _ if power == 0 && !units[0].is_empty() => 0,
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    let mut number = format!("{value:.decimals$}");
    if decimals > 0 {
        number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
    }
    format!("{number} {}", units[power]).trim_end().to_owned()
}

/// Formats a share in percent. Only exactly 0 is shown as 0 %, and only exactly 1 as 100 %.
pub fn percent(share: f64) -> String {
    match share {
        _ if share > 0.0 && share < 0.0005 => "< 0.1 %".to_owned(),
        0.9995..1.0 => "> 99.9 %".to_owned(),
        share => format!("{:.1} %", share * 100.0),
    }
}

pub fn geometric_mean(ratios: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.into_iter().map(f64::ln).collect();
    let sum: f64 = logarithms.iter().sum();
    (!logarithms.is_empty()).then(|| (sum / logarithms.len() as f64).exp())
}

#[cfg(test)]
mod tests;
