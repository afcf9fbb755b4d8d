//! Reads the output of Nsight Compute with `--csv`: a line for each metric of a launch, between messages of its own and output of the
//! program.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    /// No table, or one without launches; with the log of Nsight Compute.
    #[error(
        "failed to find counters: no line begins with \"ID\"{log}; collect them with ncu --csv as a user who may read the GPU's counters (root, or with the driver's NVreg_RestrictProfilingToAdminUsers=0)"
    )]
    NoTable { log: String },
    #[error(
        "failed to find counters: the table has no column \"{name}\"; collect it with the options that `superstep verify --ncu-options` prints"
    )]
    NoColumn { name: &'static str },
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
    pub id: u64,
    pub kernel: String,
    /// Its counters; `None` where the GPU or this version of Nsight Compute has no such counter.
    pub metrics: BTreeMap<String, Option<u64>>,
}

pub fn read_csv(text: &str) -> Result<Vec<Profiled>, CountersError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.find(|(_, line)| line.starts_with("\"ID\",")) else {
        return Err(CountersError::NoTable { log: log(text) });
    };
    let header = fields(header);
    let column = |name: &str| header.iter().position(|field| field == name);
    let column = |name| column(name).ok_or(CountersError::NoColumn { name });
    let (id, kernel) = (column("ID")?, column("Kernel Name")?);
    let (name, value) = (column("Metric Name")?, column("Metric Value")?);
    let unit = column("Metric Unit")?;
    let mut launches: BTreeMap<u64, Profiled> = BTreeMap::new();
    for (index, text) in lines {
        let line = index + 1;
        let fail = |error| CountersError::Line { line, error };
        if !text.starts_with('"') {
            continue;
        }
        let row = fields(text);
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
        let value = count(&row[value], &row[unit]).map_err(fail)?;
        launch.metrics.insert(row[name].clone(), value);
    }
    if launches.is_empty() {
        return Err(CountersError::NoTable { log: log(text) });
    }
    Ok(launches.into_values().collect())
}

/// Errors and warnings that Nsight Compute logged.
fn log(text: &str) -> String {
    let lines = text.lines();
    let logged = lines.filter(|line| {
        ["==ERROR==", "==WARNING=="]
            .iter()
            .any(|it| line.starts_with(it))
    });
    logged.map(|line| format!("\n  {line}")).collect()
}

/// The fields of a line; each is quoted, and a quote in it is doubled.
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

/// A counter's value: thousands may be separated, and an unsupported counter is "n/a".
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
