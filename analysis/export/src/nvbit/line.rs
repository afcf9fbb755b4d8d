//! Lines of the output of NVBit's `mem_trace`.

use std::str::FromStr;

#[derive(Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives only for one line, and nearly every line is an access"
)]
pub enum Line<'a> {
    Launch(LaunchLine<'a>),
    Access(AccessLine<'a>),
}

#[derive(Debug, PartialEq, Eq)]
pub struct LaunchLine<'a> {
    /// NVBit's ID of the launch.
    pub id: u64,
    /// Name of the kernel, usually demangled with parameters.
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory per CTA, in bytes.
    pub shared_bytes: u64,
    /// CUDA's ID of the stream.
    pub stream: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub struct AccessLine<'a> {
    pub launch: u64,
    pub cta: [u32; 3],
    pub warp: u32,
    pub opcode: &'a str,
    /// Address that each lane accesses; 0 if the lane is inactive.
    pub addresses: [u64; 32],
}

/// The error explains why a line is not valid `mem_trace` output.
type Result<T, E = String> = std::result::Result<T, E>;

/// Parses a line; returns `None` for one without the prefix `MEMTRACE:`.
pub fn parse(line: &str) -> Result<Option<Line<'_>>> {
    let Some(text) = line.strip_prefix("MEMTRACE: ") else {
        return Ok(None);
    };
    if let Some((_, launch)) = text.split_once(" - LAUNCH - ") {
        return Ok(Some(Line::Launch(launch_line(launch)?)));
    }
    if let Some((_, access)) = text.split_once(" - grid_launch_id ") {
        return Ok(Some(Line::Access(access_line(access)?)));
    }
    Err(
        "expected `- LAUNCH -` or `- grid_launch_id`; this is not the output of NVBit's mem_trace"
            .to_owned(),
    )
}

fn launch_line(text: &str) -> Result<LaunchLine<'_>> {
    let (kernel, rest) = between(text, "Kernel name ", " - grid launch id ")?;
    let (id, rest) = between(rest, "", " - ")?;
    let field = |before: &str| {
        let mut parts = rest.split(" - ");
        let field = parts.find_map(|part| part.trim().strip_prefix(before));
        field.map(str::trim).ok_or_else(|| missing(before, ""))
    };
    Ok(LaunchLine {
        id: number(id, "a launch id")?,
        kernel,
        grid: triple(field("grid size ")?, "a grid size as x,y,z")?,
        block: triple(field("block size ")?, "a block size as x,y,z")?,
        shared_bytes: number(field("shmem ")?, "a shared-memory size in bytes")?,
        stream: number(field("cuda stream id ")?, "a stream id")?,
    })
}

fn access_line(text: &str) -> Result<AccessLine<'_>> {
    let mut parts = text.splitn(5, " - ");
    let mut next = |expected| {
        let part = parts.next().map(str::trim);
        part.ok_or_else(|| {
            format!("expected {expected}, found the end of the line; the text was cut off")
        })
    };
    let launch = number(next("a launch id")?, "a launch id")?;
    let after = |word: &str, text, expected| {
        let rest = str::strip_prefix(text, word);
        rest.ok_or_else(|| unexpected(expected, text))
    };
    let cta = after("CTA ", next("`CTA x,y,z`")?, "`CTA x,y,z`")?;
    let cta = triple(cta, "a CTA as x,y,z")?;
    let warp = after("warp ", next("`warp n`")?, "`warp n`")?;
    let warp = number(warp, "a warp number below 2^32")?;
    let opcode = next("an opcode")?;
    let mut addresses = [0; 32];
    let mut words = next("32 addresses")?.split_ascii_whitespace();
    for (found, address) in addresses.iter_mut().enumerate() {
        let word = words
            .next()
            .ok_or_else(|| format!("expected 32 addresses, found {found}; the text was cut off"))?;
        let digits = word.strip_prefix("0x");
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        *address =
            number.ok_or_else(|| unexpected("an address such as 0x00007f0000000000", word))?;
    }
    Ok(AccessLine {
        launch,
        cta,
        warp,
        opcode,
        addresses,
    })
}

/// Returns the text between `before` and `after`, and the rest.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Result<(&'a str, &'a str)> {
    text.split_once(before)
        .and_then(|(_, rest)| rest.split_once(after))
        .ok_or_else(|| missing(before, after))
}

fn missing(before: &str, after: &str) -> String {
    format!("expected `{before}…{after}` in a launch line")
}

fn unexpected(expected: &str, found: &str) -> String {
    format!("expected {expected}, found `{found}`")
}

fn number<N: FromStr>(text: &str, expected: &str) -> Result<N> {
    let number = text.trim().parse();
    number.map_err(|_| unexpected(expected, text))
}

fn triple(text: &str, expected: &str) -> Result<[u32; 3]> {
    let numbers = text.split(',').map(|part| part.trim().parse().ok());
    let numbers = numbers.collect::<Option<Vec<u32>>>();
    let triple = numbers.and_then(|numbers| numbers.try_into().ok());
    triple.ok_or_else(|| unexpected(expected, text))
}
