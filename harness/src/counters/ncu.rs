//! Reads what Nsight Compute prints with `--csv`: a line a metric, or with `--page raw` a column a metric. Around the table
//! there may be messages of its own and output of the program.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    /// There is no table, or one without launches; with what Nsight Compute logged.
    #[error(
        "failed to find counters: no line begins with \"ID\"{log}; collect them with ncu --csv as a user who may read the GPU's counters (root, or with the driver's NVreg_RestrictProfilingToAdminUsers=0)"
    )]
    NoTable { log: String },
    #[error(
        "failed to find counters: the table has no column \"Kernel Name\"; collect it with the arguments that `superstep verify --counters --dry-run` prints"
    )]
    NoKernelName,
    /// A line of the table, numbered from 1.
    #[error("failed to read line {line} of the counters: {error}")]
    Line { line: usize, error: LineError },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("expected {expected} fields, found {found}; the file is cut off or was edited")]
    Fields { expected: usize, found: usize },
    #[error(
        "launch {launch} belongs to {first} and to {second}: the file holds several profiles; give one"
    )]
    TwoKernels {
        launch: u64,
        first: String,
        second: String,
    },
    #[error("the unit {0} is rounded; collect the counters with --print-units base")]
    RoundedUnit(String),
    #[error("{0:?} is not a count; expected digits")]
    NotACount(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiled {
    /// Its number in the profile, in the order of the host's calls.
    pub id: u64,
    pub kernel: String,
    /// Its counters; `None` where the GPU or this version of Nsight Compute has no such counter.
    pub metrics: BTreeMap<String, Option<u64>>,
}

/// Columns that describe the launch; in a raw page all others are metrics.
const DESCRIPTION: [&str; 12] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
    "Section Name",
];

pub fn read_csv(text: &str) -> Result<Vec<Profiled>, CountersError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.find(|(_, line)| line.starts_with("\"ID\",")) else {
        return Err(CountersError::NoTable { log: log(text) });
    };
    let header = fields(header);
    let column = |name: &str| header.iter().position(|field| field == name);
    let (Some(id), Some(kernel)) = (column("ID"), column("Kernel Name")) else {
        return Err(CountersError::NoKernelName);
    };
    let by_line = column("Metric Name").zip(column("Metric Value"));
    let unit = column("Metric Unit");
    let mut units: Vec<String> = Vec::new();
    let mut launches: BTreeMap<u64, Profiled> = BTreeMap::new();
    for (index, text) in lines {
        let line = index + 1;
        let fail = |error| CountersError::Line { line, error };
        if !text.starts_with('"') {
            continue;
        }
        let row = fields(text);
        if by_line.is_none() && row.len() == header.len() && row[id].is_empty() {
            // The raw page has a line of units below its header.
            units = row;
            continue;
        }
        let Ok(number) = row[id].parse::<u64>() else {
            continue;
        };
        if row.len() != header.len() {
            let (found, expected) = (row.len(), header.len());
            return Err(fail(LineError::Fields { expected, found }));
        }
        let launch = launches.entry(number).or_insert_with(|| Profiled {
            id: number,
            kernel: row[kernel].clone(),
            metrics: BTreeMap::new(),
        });
        if launch.kernel != row[kernel] {
            return Err(fail(LineError::TwoKernels {
                launch: number,
                first: launch.kernel.clone(),
                second: row[kernel].clone(),
            }));
        }
        match by_line {
            Some((name, value)) => {
                let unit = unit.map_or("", |unit| row[unit].as_str());
                let value = count(&row[value], unit).map_err(fail)?;
                launch.metrics.insert(row[name].clone(), value);
            }
            None => {
                for (place, name) in header.iter().enumerate() {
                    if !DESCRIPTION.contains(&name.as_str()) {
                        let unit = units.get(place).map_or("", String::as_str);
                        let value = count(&row[place], unit).map_err(fail)?;
                        launch.metrics.insert(name.clone(), value);
                    }
                }
            }
        }
    }
    if launches.is_empty() {
        return Err(CountersError::NoTable { log: log(text) });
    }
    Ok(launches.into_values().collect())
}

/// The lines that Nsight Compute itself logged as errors and warnings, for people to read.
fn log(text: &str) -> String {
    let lines = text.lines();
    let logged = lines.filter(|line| {
        ["==ERROR==", "==WARNING=="]
            .iter()
            .any(|it| line.starts_with(it))
    });
    logged.map(|line| format!("\n  {line}")).collect()
}

/// The fields of a line; every field is quoted, and a quote in it is doubled.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(character),
        }
    }
    fields.push(field);
    fields
}

/// A counter's value: thousands may be set apart, and what the GPU does not have is "n/a".
fn count(text: &str, unit: &str) -> Result<Option<u64>, LineError> {
    const LARGER: [&str; 4] = ["K", "M", "G", "T"];
    if text.is_empty() || text == "n/a" {
        return Ok(None);
    }
    if LARGER.iter().any(|larger| unit.starts_with(larger)) {
        return Err(LineError::RoundedUnit(unit.to_owned()));
    }
    let digits: String = text.chars().filter(|&character| character != ',').collect();
    let number = digits.strip_suffix(".00").unwrap_or(&digits).parse();
    number
        .map(Some)
        .map_err(|_| LineError::NotACount(text.to_owned()))
}

#[cfg(test)]
mod tests;
