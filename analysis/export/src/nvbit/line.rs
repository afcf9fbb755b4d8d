//! Lines of NVBit's `mem_trace`.

#[derive(Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives for one line only, and nearly every line is an access"
)]
pub enum Line<'a> {
    Launch(LaunchLine<'a>),
    Access(AccessLine<'a>),
}

#[derive(Debug, PartialEq, Eq)]
pub struct LaunchLine<'a> {
    /// NVBit's number.
    pub id: u64,
    /// Name of the kernel, usually demangled with parameters.
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory of a CTA.
    pub shared_bytes: u64,
    /// CUDA's number of the stream.
    pub stream: u64,
}

/// An access of a warp.
#[derive(Debug, PartialEq, Eq)]
pub struct AccessLine<'a> {
    /// NVBit's number of the launch.
    pub launch: u64,
    pub cta: [u32; 3],
    /// NVBit's number of the warp.
    pub warp: u32,
    /// Opcode with its modifiers.
    pub opcode: &'a str,
    /// One for each lane; 0 for those that are inactive.
    pub addresses: [u64; 32],
}

/// Reads a line; nothing for one that is not `mem_trace`'s.
///
/// # Errors
/// It begins with `MEMTRACE:` but goes on otherwise than expected; the text says how.
pub fn parse(line: &str) -> Result<Option<Line<'_>>, String> {
    let Some(text) = line.strip_prefix("MEMTRACE: ") else {
        return Ok(None);
    };
    if let Some((_, launch)) = text.split_once(" - LAUNCH - ") {
        return Ok(Some(Line::Launch(launch_line(launch)?)));
    }
    if let Some((_, access)) = text.split_once(" - grid_launch_id ") {
        return Ok(Some(Line::Access(access_line(access)?)));
    }
    let expected = "expected `- LAUNCH -` or `- grid_launch_id`";
    Err(format!(
        "{expected}; this is not the text of NVBit's mem_trace"
    ))
}

fn launch_line(text: &str) -> Result<LaunchLine<'_>, String> {
    let (kernel, rest) = between(text, "Kernel name ", " - grid launch id ")?;
    let (id, rest) = rest
        .split_once(" - ")
        .ok_or("expected ` - grid size …` after the launch id")?;
    let field = |name: &str| {
        (rest.split(" - "))
            .find_map(|part| part.trim().strip_prefix(name))
            .map(str::trim)
            .ok_or_else(|| format!("expected `- {name}…` in the line of a launch"))
    };
    Ok(LaunchLine {
        id: number(id, "a launch id")?,
        kernel,
        grid: triple(field("grid size ")?, "a grid size")?,
        block: triple(field("block size ")?, "a block size")?,
        shared_bytes: number(field("shmem ")?, "bytes of shared memory")?,
        stream: number(field("cuda stream id ")?, "a stream id")?,
    })
}

fn access_line(text: &str) -> Result<AccessLine<'_>, String> {
    let mut parts = text.splitn(5, " - ");
    let mut next = |what: &str| {
        parts.next().map(str::trim).ok_or_else(|| {
            format!("expected {what}, found the end of the line; the text was cut off")
        })
    };
    let launch = number(next("a launch id")?, "a launch id")?;
    let after = |word: &str, text, what: &str| {
        let rest = str::strip_prefix(text, word);
        rest.ok_or_else(|| format!("expected {what}, found `{text}`"))
    };
    let cta = after("CTA ", next("`CTA x,y,z`")?, "`CTA x,y,z`")?;
    let cta = triple(cta, "a CTA")?;
    let warp = after("warp ", next("`warp n`")?, "`warp n`")?;
    let warp = number(warp, "a warp")?;
    let opcode = next("an opcode")?;
    let mut addresses = [0; 32];
    let mut words = next("32 addresses")?.split_ascii_whitespace();
    for (lane, address) in addresses.iter_mut().enumerate() {
        let word = words
            .next()
            .ok_or_else(|| format!("expected 32 addresses, found {lane}; the text was cut off"))?;
        let digits = word.strip_prefix("0x");
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        *address = number.ok_or_else(|| {
            format!("expected an address such as 0x00007f0000000000, found `{word}`")
        })?;
    }
    Ok(AccessLine {
        launch,
        cta,
        warp: u32::try_from(warp)
            .map_err(|_| format!("expected a warp below 2^32, found {warp}"))?,
        opcode,
        addresses,
    })
}

/// What lies between two words, and what follows.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Result<(&'a str, &'a str), String> {
    text.split_once(before)
        .and_then(|(_, rest)| rest.split_once(after))
        .ok_or_else(|| format!("expected `{before}…{after}` in the line of a launch"))
}

fn number(text: &str, what: &str) -> Result<u64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("expected {what}, found `{text}`"))
}

fn triple(text: &str, what: &str) -> Result<[u32; 3], String> {
    let numbers = text.split(',').map(|part| part.trim().parse().ok());
    let numbers = numbers.collect::<Option<Vec<u32>>>();
    let triple = numbers.and_then(|numbers| numbers.try_into().ok());
    triple.ok_or_else(|| format!("expected {what} as x,y,z, found `{text}`"))
}
