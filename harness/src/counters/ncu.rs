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
mod tests {
    use super::*;

    /// What ncu 2025.3 wrote for the program hs2d of the suite thesis, size small, on an H200.
    const RECORDED: &str = include_str!("testdata/hs2d-small.csv");

    #[test]
    fn a_recorded_profile_is_read() {
        let launches = read_csv(RECORDED).unwrap();
        assert_eq!(launches.len(), 3);
        assert_eq!(launches[0].id, 0);
        assert!(launches[0].kernel.starts_with("_ZN12_GLOBAL__N_17hotspot"));
        let metric = |name: &str| launches[0].metrics[name];
        let request = |op| {
            metric(&format!(
                "l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"
            ))
        };
        assert_eq!([request("ld"), request("ldgsts")], [Some(7480), None]);
        assert_eq!(metric("smsp__inst_executed_op_global_ld.sum"), Some(7744));
    }

    #[test]
    fn a_raw_page_says_the_same() {
        let text = "==PROF== Connected\nhello\n\"ID\",\"Process ID\",\"Kernel Name\",\"Device\",\"a.sum\",\"b.sum\"\n\
                    \"\",\"\",\"\",\"\",\"inst\",\"\"\n\"0\",\"7\",\"_Zk\",\"0\",\"1,234\",\"n/a\"\n\"1\",\"7\",\"_Zk\",\"0\",\"5\",\"6\"\nbye\n";
        let launches = read_csv(text).unwrap();
        assert_eq!(launches[0].metrics["a.sum"], Some(1234));
        assert_eq!(launches[0].metrics["b.sum"], None);
        assert_eq!(launches[1].metrics["b.sum"], Some(6));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let header = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
        let table = |rest: &str| header.to_owned() + rest;
        for (text, expected) in [
            ("", "failed to find counters: there is no line"),
            (
                "==ERROR== ERR_NVGPUCTRPERM - The user does not",
                "may not read the GPU's counters",
            ),
            (
                "==WARNING== No kernels were profiled.\n",
                "Nsight Compute says",
            ),
            (
                &table("\"0\",\"k\",\"m\",\"Kinst\",\"1.5\"\n"),
                "failed to read line 2 of the counters: the unit Kinst is rounded",
            ),
            (
                &table("\"0\",\"k\",\"m\",\"inst\",\"many\"\n"),
                "\"many\" is not a count",
            ),
            (&table("\"0\",\"k\",\"m\"\n"), "expected 5 fields, found 3"),
            (
                &table("\"0\",\"k\",\"m\",\"\",\"1\"\n\"0\",\"l\",\"m\",\"\",\"1\"\n"),
                "failed to read line 3",
            ),
            (&table(""), "failed to find counters"),
        ] {
            let error = read_csv(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn quotes_and_commas_in_names() {
        let found = fields("\"a,\"\"b\"\"\",\"(1, 2, 3)\"");
        assert_eq!(found, ["a,\"b\"", "(1, 2, 3)"]);
    }
}
