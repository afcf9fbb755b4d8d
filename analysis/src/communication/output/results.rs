//! Results of a whole run, to which launches are added once the shards have analysed them.

use super::detail::{Found, SiteFlow, site_flows};
use super::kept::Kept;
use super::loads::KeptLoads;
use super::part::LaunchPart;
use super::strides::{LaunchStrides, StrideCounts, add};
use super::volume::{Flow, LaunchVolume, Volume};
use crate::communication::engine::Options;
use crate::communication::input::record::WideAccess;
use crate::communication::state::shards::LaunchResult;
use crate::communication::state::unwritten::Unwritten;
use crate::counts::Counts;
use crate::error::Result;
use superstep_trace::Launch;

/// A launch that the shards have analysed.
pub(crate) struct Analysed {
    pub(crate) position: u32,
    pub(crate) counts: Counts,
    pub(crate) wide: Vec<WideAccess>,
    pub(crate) result: LaunchResult,
}

pub(crate) struct Results {
    options: Options,
    pub(crate) found: Found,
    pub(crate) unwritten: Unwritten,
    pub(crate) launches: Vec<LaunchVolume>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) site_flows: Vec<SiteFlow>,
    pub(crate) strides: Vec<LaunchStrides>,
}

impl Results {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            found: Found::default(),
            unwritten: Unwritten::default(),
            launches: Vec::new(),
            flows: Vec::new(),
            site_flows: Vec::new(),
            strides: Vec::new(),
        }
    }

    /// Adds a row for a launch that has not been analysed yet.
    pub(crate) fn begin(&mut self, launch: &Launch) {
        self.launches.push(LaunchVolume {
            stream: launch.stream,
            superstep: launch.launch,
            kernel: launch.kernel.clone(),
            volume: Volume::default(),
        });
        if self.options.strides {
            self.strides.push(LaunchStrides::default());
        }
    }

    /// Adds the results of launches that were analysed together; `loads` contains their communicating loads.
    pub(crate) fn add(
        &mut self,
        launches: Vec<Analysed>,
        loads: KeptLoads,
        kernels: &[u32],
        kept: &Kept,
    ) -> Result<()> {
        for launch in launches {
            let (mut part, mut sources) = launch.result;
            // An access that crosses a page boundary counts once per source, no matter how many of its pages contain
            // bytes from that source.
            for (_, number, _) in &mut sources {
                *number = launch.wide[*number as usize].first;
            }
            sources.sort_unstable();
            sources.dedup();
            let mut transfers = Vec::new();
            for (receiver_cta, _, source) in sources {
                transfers.extend(part.wide(launch.position, receiver_cta, source));
            }
            if self.options.transfers {
                kept.transfers.append(transfers)?;
            }
            part.add_counts(&launch.counts);
            self.add_launch(launch.position, kernels[launch.position as usize], part);
        }
        let strides = &mut self.strides;
        loads.distances(|launch, counts| add(&mut strides[launch as usize].loads, counts))
    }

    /// Adds the results of the launch at `position`.
    pub(crate) fn add_launch(&mut self, position: u32, kernel: u32, part: LaunchPart) {
        if self.options.details {
            self.found.footprints.push(part.footprint);
        }
        if self.options.strides {
            add(&mut self.strides[position as usize].loads, &part.loads);
        }
        self.unwritten.launch(position, kernel, part.unwritten);
        self.site_flows
            .extend(site_flows(position, part.site_flows));
        let volume = &mut self.launches[position as usize].volume;
        *volume += part.volume;
        for (source_launch, amount) in part.flows {
            volume.received_bytes += amount.bytes;
            volume.received_count += amount.count;
            self.flows.push(Flow {
                source_launch,
                receiver_launch: position,
                bytes: amount.bytes,
                count: amount.count,
            });
        }
    }

    pub(crate) fn add_stores(&mut self, launch: u32, counts: &StrideCounts) {
        add(&mut self.strides[launch as usize].stores, counts);
    }
}
