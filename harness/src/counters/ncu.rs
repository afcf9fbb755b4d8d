//! Reads what Nsight Compute prints with `--csv`: a line a metric, or with `--page raw` a column a metric. Around the table
//! there may be messages of its own and whatever the program printed.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    #[error("failed to find counters: {0}")]
    NoTable(String),
    /// A line of the table is not what it should be.
    #[error("failed to read line {line} of the counters: {why}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong, and how to mend it.
        why: String,
    },
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

/// Reads the launches of a profile, in order.
pub fn read_csv(text: &str) -> Result<Vec<Profiled>, CountersError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.find(|(_, line)| line.starts_with("\"ID\",")) else {
        return Err(CountersError::NoTable(reason(text)));
    };
    let header = fields(header);
    let column = |name: &str| header.iter().position(|field| field == name);
    let (Some(id), Some(kernel)) = (column("ID"), column("Kernel Name")) else {
        let why = "the table has no column \"Kernel Name\"; collect it with the arguments that `superstep verify --counters --dry-run` prints";
        return Err(CountersError::NoTable(why.to_owned()));
    };
    let by_line = column("Metric Name").zip(column("Metric Value"));
    let unit = column("Metric Unit");
    let mut units: Vec<String> = Vec::new();
    let mut launches: BTreeMap<u64, Profiled> = BTreeMap::new();
    for (index, text) in lines {
        let line = index + 1;
        let fail = |why: String| CountersError::Line { line, why };
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
            return Err(fail(format!(
                "expected {expected} fields, found {found}; the file is cut off or was edited"
            )));
        }
        let launch = launches.entry(number).or_insert_with(|| Profiled {
            id: number,
            kernel: row[kernel].clone(),
            metrics: BTreeMap::new(),
        });
        if launch.kernel != row[kernel] {
            return Err(fail(format!(
                "launch {number} belongs to {} and to {}: the file holds several profiles; give one",
                launch.kernel, row[kernel]
            )));
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
        return Err(CountersError::NoTable(reason(text)));
    }
    Ok(launches.into_values().collect())
}

/// What Nsight Compute says itself when it has no table.
fn reason(text: &str) -> String {
    if text.contains("ERR_NVGPUCTRPERM") {
        return "this user may not read the GPU's counters (ERR_NVGPUCTRPERM); run as root, or load the driver with \
                NVreg_RestrictProfilingToAdminUsers=0"
            .to_owned();
    }
    let mut lines = text.lines();
    let said = lines
        .find(|line| line.starts_with("==ERROR==") || line.contains("No kernels were profiled"));
    match said {
        Some(said) => format!("Nsight Compute says: {said}"),
        None => "there is no line that begins with \"ID\"; collect them with ncu --csv".to_owned(),
    }
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
fn count(text: &str, unit: &str) -> Result<Option<u64>, String> {
    const LARGER: [&str; 4] = ["K", "M", "G", "T"];
    if text.is_empty() || text == "n/a" {
        return Ok(None);
    }
    if LARGER.iter().any(|larger| unit.starts_with(larger)) {
        return Err(format!(
            "the unit {unit} is rounded; collect the counters with --print-units base"
        ));
    }
    let digits: String = text.chars().filter(|&character| character != ',').collect();
    let number = digits.strip_suffix(".00").unwrap_or(&digits).parse();
    number
        .map(Some)
        .map_err(|_| format!("{text:?} is not a count; expected digits"))
}

#[cfg(test)]
mod tests;
