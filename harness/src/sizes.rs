//! Sizes in bytes as people write them.

/// Bytes of `2GB`, `512MiB`, `1.5G` or `4096`: powers of 1000, and of 1024 with an `i`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size like 2GB, 512MiB or 4096, found {text:?}");
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    if bytes >= 1e18 {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn sizes_are_read_and_nonsense_is_refused() {
        assert_eq!(parse_bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_bytes("1.5 mib"), Ok(3 << 19));
        assert_eq!(parse_bytes("17"), Ok(17));
        for text in ["", "GB", "2 parsecs", "-1", "1e30", "9999999TB"] {
            assert!(
                parse_bytes(text).unwrap_err().contains("like 2GB"),
                "{text}"
            );
        }
    }
}
