//! The three structures as tables: one row for each of their innermost entries.

use std::path::{Path, PathBuf};

use superstep_trace::Capture;

use super::structures::{ByKernel, ByPart, LoadStore, Transfers};
use super::{Accesses, Matched, Operations};
use crate::batch::{row, schema};
use crate::error::Result;
use crate::sink::Rows;
use crate::tables::Format;

schema! { VOLUMES "volumes":
    volume      Text        "KCV, KDV, CCV, CDV, SCV or SDV; K: by kernel, C: by CTA, S: by SM; C: communicating, D: all",
    kernel      Text        "its name as in the nested form",
    superstep   U32         "number of the launch within its stream",
    part        OptionalU64 "CTA or SM; empty by kernel",
    load_bytes  U64         "bytes loaded",
    store_bytes U64         "bytes stored",
}

schema! { TRANSFERS "transfers":
    source_kernel      Text "kernel that stored",
    source_cta         U32  "its CTA, linear",
    source_superstep   U32  "number of the launch within its stream",
    receiver_kernel    Text "kernel that loaded",
    receiver_cta       U32  "its CTA, linear",
    receiver_superstep U32  "number of the launch within its stream",
    bytes              U64  "each address once, with its width",
    count              U64  "addresses",
}

schema! { OPERATIONS "operations":
    address     U64  "an address that communicates",
    kernel      Text "its name as in the nested form",
    superstep   U32  "number of the launch within its stream",
    cta         U32  "linear CTA number",
    sm          U32  "multiprocessor; on the CPU a worker",
    width_bytes U32  "bytes of the access",
    type        U32  "as in table 5.1 of the thesis",
}

/// Writes `volumes`, `transfers` and `operations` of a capture into `folder` as tables and returns the files.
///
/// # Errors
/// The capture is damaged, or a file cannot be written.
pub fn write_tables(capture: &Capture, format: Format, folder: &Path) -> Result<Vec<PathBuf>> {
    let accesses = Accesses::new(capture)?;
    let matched = Matched::new(&accesses);

    let mut volumes = Rows::create(format, folder, &VOLUMES)?;
    let all = &matched.volumes;
    for (name, by_kernel) in [
        ("KCV", &all.kernel_communication),
        ("KDV", &all.kernel_data),
    ] {
        kernels(&mut volumes, name, by_kernel)?;
    }
    for (name, by_part) in [
        ("CCV", &all.cta_communication),
        ("CDV", &all.cta_data),
        ("SCV", &all.sm_communication),
        ("SDV", &all.sm_data),
    ] {
        parts(&mut volumes, name, by_part)?;
    }

    let mut transfers = Rows::create(format, folder, &TRANSFERS)?;
    each_transfer(&mut transfers, &matched.transfers)?;

    let mut operations = Rows::create(format, folder, &OPERATIONS)?;
    for (step, record) in Operations::new(&accesses, &matched.addresses).each() {
        operations.push(row![
            record.address,
            step.kernel.clone(),
            step.superstep,
            record.cta,
            u32::from(record.sm),
            record.width_bytes,
            u32::from(record.op.code()),
        ])?;
    }
    Ok(vec![
        volumes.finish()?,
        transfers.finish()?,
        operations.finish()?,
    ])
}

fn kernels(rows: &mut Rows, name: &'static str, volumes: &ByKernel) -> Result<()> {
    for (kernel, supersteps) in volumes {
        for (&superstep, &LoadStore { load, store }) in supersteps {
            let part = None::<u64>;
            rows.push(row![name, kernel.clone(), superstep, part, load, store])?;
        }
    }
    Ok(())
}

fn parts(rows: &mut Rows, name: &'static str, volumes: &ByPart) -> Result<()> {
    for (kernel, supersteps) in volumes {
        for (&superstep, parts) in supersteps {
            for (&part, &LoadStore { load, store }) in parts {
                let part = Some(u64::from(part));
                rows.push(row![name, kernel.clone(), superstep, part, load, store])?;
            }
        }
    }
    Ok(())
}

fn each_transfer(rows: &mut Rows, transfers: &Transfers) -> Result<()> {
    for (source_kernel, ctas) in transfers {
        for (&source_cta, supersteps) in ctas {
            for (&source_superstep, receivers) in supersteps {
                for (receiver_kernel, ctas) in receivers {
                    for (&receiver_cta, supersteps) in ctas {
                        for (&receiver_superstep, amount) in supersteps {
                            rows.push(row![
                                source_kernel.clone(),
                                source_cta,
                                source_superstep,
                                receiver_kernel.clone(),
                                receiver_cta,
                                receiver_superstep,
                                amount.size,
                                amount.count,
                            ])?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
