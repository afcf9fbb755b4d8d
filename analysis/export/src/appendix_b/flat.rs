//! The three structures as tables: one row for each of their innermost entries.

use std::path::{Path, PathBuf};

use superstep_trace::Capture;

use super::structures::{LoadStore, Transfers};
use super::{Accesses, Matched, Operations};
use crate::error::Result;
use superstep_table::{Format, Rows, table, write_rows};

table! {
    /// One innermost entry of `volumes`.
    struct VolumeRow = "volumes" {
        volume: &'static str = "KCV, KDV, CCV, CDV, SCV or SDV; K: by kernel, C: by CTA, S: by SM; C: communicating, D: all";
        kernel: String = "its name as in the nested form";
        superstep: u32 = "number of the launch within its stream";
        part: Option<u64> = "CTA or SM; empty by kernel";
        load_bytes: u64 ["bytes"] = "bytes loaded";
        store_bytes: u64 ["bytes"] = "bytes stored";
    }
}

table! {
    /// One innermost entry of `transfers`.
    struct TransferRow = "transfers" {
        source_kernel: String = "kernel that stored";
        source_cta: u32 = "its CTA, linear";
        source_superstep: u32 = "number of the launch within its stream";
        receiver_kernel: String = "kernel that loaded";
        receiver_cta: u32 = "its CTA, linear";
        receiver_superstep: u32 = "number of the launch within its stream";
        bytes: u64 ["bytes"] = "each address once, with its width";
        count: u64 = "addresses";
    }
}

table! {
    /// One innermost entry of `operations`.
    struct OperationRow = "operations" {
        address: u64 = "an address that communicates";
        kernel: String = "its name as in the nested form";
        superstep: u32 = "number of the launch within its stream";
        cta: u32 = "linear CTA number";
        sm: u32 = "multiprocessor; on the CPU a worker";
        width_bytes: u32 ["bytes"] = "bytes of the access";
        r#type: u32 = "as in table 5.1 of the thesis";
    }
}

/// Writes `volumes`, `transfers` and `operations` of a capture into `folder` as tables and returns the files.
pub fn write_tables(capture: &Capture, format: Format, folder: &Path) -> Result<Vec<PathBuf>> {
    let accesses = Accesses::new(capture)?;
    let matched = Matched::new(&accesses);

    let mut volumes = Rows::create(format, folder)?;
    let row = |volume, kernel: &str, superstep, part: Option<u32>, bytes: &LoadStore| VolumeRow {
        volume,
        kernel: kernel.to_owned(),
        superstep,
        part: part.map(u64::from),
        load_bytes: bytes.load,
        store_bytes: bytes.store,
    };
    let all = &matched.volumes;
    for (name, by_kernel) in [
        ("KCV", &all.kernel_communication),
        ("KDV", &all.kernel_data),
    ] {
        for (kernel, supersteps) in by_kernel {
            for (&superstep, volume) in supersteps {
                volumes.push(row(name, kernel, superstep, None, volume))?;
            }
        }
    }
    for (name, by_part) in [
        ("CCV", &all.cta_communication),
        ("CDV", &all.cta_data),
        ("SCV", &all.sm_communication),
        ("SDV", &all.sm_data),
    ] {
        for (kernel, supersteps) in by_part {
            for (&superstep, parts) in supersteps {
                for (&part, volume) in parts {
                    volumes.push(row(name, kernel, superstep, Some(part), volume))?;
                }
            }
        }
    }

    let mut transfers = Rows::create(format, folder)?;
    each_transfer(&mut transfers, &matched.transfers)?;

    let operations = Operations::new(&accesses, &matched.addresses);
    let operations = operations.each().map(|(step, record)| OperationRow {
        address: record.address,
        kernel: step.kernel.clone(),
        superstep: step.superstep,
        cta: record.cta,
        sm: u32::from(record.sm),
        width_bytes: record.width_bytes,
        r#type: u32::from(record.op.code()),
    });
    Ok(vec![
        volumes.finish()?,
        transfers.finish()?,
        write_rows(format, folder, operations)?,
    ])
}

fn each_transfer(rows: &mut Rows<TransferRow>, transfers: &Transfers) -> Result<()> {
    for (source_kernel, ctas) in transfers {
        for (&source_cta, supersteps) in ctas {
            for (&source_superstep, receivers) in supersteps {
                for (receiver_kernel, ctas) in receivers {
                    for (&receiver_cta, supersteps) in ctas {
                        for (&receiver_superstep, amount) in supersteps {
                            rows.push(TransferRow {
                                source_kernel: source_kernel.clone(),
                                source_cta,
                                source_superstep,
                                receiver_kernel: receiver_kernel.clone(),
                                receiver_cta,
                                receiver_superstep,
                                bytes: amount.size,
                                count: amount.count,
                            })?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
