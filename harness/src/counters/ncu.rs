//! Reads Nsight Compute's `--csv` output: one line per launch and metric, mixed with messages and the program's output.

use std::collections::BTreeMap;

#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// `log` contains Nsight Compute's errors and warnings, each after a line break.
    #[error(
        "failed to find counters: no line begins with \"ID\"{log}; collect them with ncu --csv as a user who may read the GPU's \
         counters (root, or with the driver's NVreg_RestrictProfilingToAdminUsers=0)"
    )]
    NoTable { log: String },
    #[error(
        "failed to find counters: the table has no column \"{0}\"; collect it with the options that `superstep verify --ncu-options` prints"
    )]
    NoColumn(String),
    #[error("failed to read line {line} of the counters: {reason}")]
    Line { line: usize, reason: String },
}

fn no_table(text: &str) -> CountersError {
    let logged = (text.lines())
        .filter(|line| line.starts_with("==ERROR==") || line.starts_with("==WARNING=="));
    let log = logged.map(|line| format!("\n  {line}")).collect();
    CountersError::NoTable { log }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiled {
    pub id: u64,
    pub kernel: String,
    /// Counters by metric; `None` if the GPU or this version of Nsight Compute does not have the metric.
    pub metrics: BTreeMap<String, Option<u64>>,
}

pub fn read_csv(text: &str) -> Result<Vec<Profiled>, CountersError> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.find(|(_, line)| line.starts_with("\"ID\",")) else {
        return Err(no_table(text));
    };
    let header = fields(header);
    let column = |name: &str| {
        let found = header.iter().position(|field| field == name);
        found.ok_or_else(|| CountersError::NoColumn(name.to_owned()))
    };
    let (id, kernel) = (column("ID")?, column("Kernel Name")?);
    let (name, value) = (column("Metric Name")?, column("Metric Value")?);
    let unit = column("Metric Unit")?;
    let mut launches: BTreeMap<u64, Profiled> = BTreeMap::new();
    for (index, text) in lines {
        let fail = |reason: String| {
            let line = index + 1;
            Err(CountersError::Line { line, reason })
        };
        if !text.starts_with('"') {
            continue;
        }
        let row = fields(text);
        let Ok(number) = row[id].parse::<u64>() else {
            continue;
        };
        if row.len() != header.len() {
            return fail(format!(
                "expected {} fields, found {}; the file is truncated or was edited",
                header.len(),
                row.len()
            ));
        }
        let launch = launches.entry(number).or_insert_with(|| Profiled {
            id: number,
            kernel: row[kernel].clone(),
            metrics: BTreeMap::new(),
        });
        if launch.kernel != row[kernel] {
            return fail(format!(
                "launch {number} runs both {} and {}: the file contains multiple profiles; give a file with only one",
                launch.kernel, row[kernel]
            ));
        }
        let (value, unit) = (&row[value], &row[unit]);
        if unit.starts_with(['K', 'M', 'G', 'T']) {
            return fail(format!(
                "counts in the unit {unit} are rounded; collect the counters with --print-units base"
            ));
        }
        // Numbers may have thousands separators.
        let digits = value.replace(',', "");
        let count = match value.as_str() {
            "" | "n/a" => None,
            _ => match digits.strip_suffix(".00").unwrap_or(&digits).parse() {
                Ok(count) => Some(count),
                Err(_) => return fail(format!("{value:?} is not a count; expected digits")),
            },
        };
        launch.metrics.insert(row[name].clone(), count);
    }
    if launches.is_empty() {
        return Err(no_table(text));
    }
    Ok(launches.into_values().collect())
}

fn fields(line: &str) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).from_reader(line.as_bytes());
    let record = reader.into_records().next().and_then(Result::ok);
    (record.iter().flatten()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
