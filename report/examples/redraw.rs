//! Redraws the figure of data volume from its CSV file: `redraw data-volume.csv FOLDER`.

use std::path::Path;
use superstep_report::figures::{self, DataVolume};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [csv, folder] = arguments.as_slice() else {
        return Err("usage: redraw DATA_VOLUME_CSV FOLDER".into());
    };
    for file in figures::write(&DataVolume::from_csv(Path::new(csv))?, Path::new(folder))? {
        println!("{}", file.display());
    }
    Ok(())
}
