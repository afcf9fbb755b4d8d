//! Compares the capture with the counting run: the same sites must execute the same number of times, launch by launch.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use superstep_analysis::run_summary::{Check, Reproducibility};
use superstep_trace::{LaunchId, Op, Site, SiteId, StreamId};

use super::{failed, passed, warned};
use superstep_analysis::scan::{CaptureScan, LaunchScan, launch_name, site_name};
use superstep_build::run::{LaunchCounts, Summary};

const NAME: &str = "counts-equal";
pub(super) const WITHOUT_WAITS: &str =
    "operations that repeat while threads wait for each other are excluded";

/// The order in which different runs number streams and launches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, thiserror::Error)]
pub enum Order {
    #[default]
    #[error("their order is the same in each run")]
    Fixed,
    #[error("{0} host threads launch kernels, in a different order in each run")]
    Threads(u32),
    #[error("processes divide the launches differently in each run")]
    Processes,
}

impl Order {
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Self {
        match runs.into_iter().map(|run| run.host_threads).max() {
            None | Some(0 | 1) => Order::Fixed,
            Some(threads) => Order::Threads(threads),
        }
    }
}

/// Differences between counting runs of a program; comparisons ignore them.
#[derive(Debug, Default)]
pub struct CountVariation {
    order: Order,
    /// Mangled names of kernels whose counts vary.
    pub(super) kernels: BTreeSet<String>,
    pub(super) launches: bool,
}

impl CountVariation {
    pub fn new(order: Order) -> Self {
        Self {
            order,
            ..Self::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty() && !self.launches
    }

    pub fn add(&mut self, first: &[LaunchCounts], second: &[LaunchCounts]) {
        let sites =
            |launch: &LaunchCounts| -> BTreeMap<_, _> { launch.sites.iter().copied().collect() };
        if self.order != Order::Fixed {
            let mut balance: HashMap<_, i64> = HashMap::new();
            let mut launches: HashMap<_, i64> = HashMap::new();
            for (run, sign) in [(first, 1), (second, -1)] {
                for launch in run {
                    *balance.entry((&launch.kernel, sites(launch))).or_default() += sign;
                    *launches.entry(&launch.kernel).or_default() += sign;
                }
            }
            let differ = balance.into_iter().filter(|(_, sum)| *sum != 0);
            self.kernels
                .extend(differ.map(|((kernel, _), _)| kernel.clone()));
            self.launches |= launches.values().any(|&sum| sum != 0);
            return;
        }
        let key = |launch: &LaunchCounts| (launch.stream, launch.launch);
        let mut rest: HashMap<_, &LaunchCounts> = first.iter().map(|it| (key(it), it)).collect();
        for launch in second {
            match rest.remove(&key(launch)) {
                Some(other) if other.kernel == launch.kernel => {
                    if sites(other) != sites(launch) {
                        self.kernels.insert(launch.kernel.clone());
                    }
                }
                _ => self.launches = true,
            }
        }
        self.launches |= !rest.is_empty();
    }

    /// Compares every launch of `scan` with the counting run's `counts`, ignoring the known variation.
    /// `reproducibility` determines what is compared: [`Reproducibility::CountsEachLaunch`] excludes launches of only
    /// one run, and [`Reproducibility::Launches`] excludes all counts.
    pub fn counts_equal(
        &self,
        scan: &CaptureScan,
        counts: Option<&[LaunchCounts]>,
        reproducibility: Reproducibility,
    ) -> Check {
        // A program without kernels has no counts.
        let Some(counts) = counts.or(scan.launches.is_empty().then_some(&[])) else {
            return failed(NAME, "the counting run wrote no counts");
        };
        let reproducibility = match self.launches {
            true => reproducibility.min(Reproducibility::CountsEachLaunch),
            false => reproducibility,
        };
        let comparison = Comparison {
            scan,
            reproducibility,
            varying: self,
        };
        let (mut order, mut compared) = (Order::Fixed, comparison.in_order(counts));
        if compared.is_err() && self.order != Order::Fixed && comparison.needs_all_launches() {
            (order, compared) = (self.order, comparison.in_any_order(counts));
        }
        let compared = match compared {
            Ok(compared) => compared,
            Err(difference) => return failed(NAME, difference.to_string()),
        };
        let (traced, counted) = (scan.launches.len(), counts.len());
        if !self.is_empty() {
            let kernels = self.kernels.iter();
            let names = kernels.map(|name| scan.sites.display_name(name));
            let launches = self.launches.then_some("the launches");
            let what: Vec<&str> = launches.into_iter().chain(names).collect();
            let what = what.join(", ");
            return warned(
                NAME,
                format!(
                    "{compared} thread accesses, without {what}, in which two counting runs differ"
                ),
            );
        }
        let mut detail = match reproducibility {
            Reproducibility::Digests | Reproducibility::Counts => {
                format!("{compared} thread accesses in {traced} launches")
            }
            Reproducibility::Launches => format!(
                "{traced} launches traced, {counted} counted; accesses differ from run to run and are not compared"
            ),
            Reproducibility::CountsEachLaunch => format!(
                "{compared} thread accesses in the launches that both runs have, {traced} traced, {counted} counted"
            ),
        };
        if scan.has_waits() && reproducibility >= Reproducibility::Counts {
            detail.push_str("; ");
            detail.push_str(WITHOUT_WAITS);
        }
        if order != Order::Fixed {
            detail.push_str(&format!("; {order}"));
        }
        passed(NAME, detail)
    }
}

#[derive(Debug, thiserror::Error)]
enum Difference {
    #[error("{0} was counted, but is in no module's table")]
    UnknownSite(SiteId),
    #[error("{traced} launches traced, {counted} counted")]
    LaunchCount { traced: usize, counted: usize },
    #[error("{launch}: traced, but not counted")]
    NotCounted { launch: String },
    #[error("{launch}: the counting run launched {other} instead")]
    OtherKernel { launch: String, other: String },
    #[error("{launch}: no launch in the counting run has the same counts; {order}")]
    NoneEqual { launch: String, order: Order },
    #[error("{0}: {2} thread {1} added up, {3} counted")]
    Kind(String, &'static str, u64, u64),
    #[error("{0}, {1}: {2} thread accesses traced, {3} counted")]
    Site(String, String, u64, u64),
}

/// Number of executions of each site or, in situ, of each kind of access; entries are never 0.
type Counts = BTreeMap<u32, u64>;

struct Comparison<'a> {
    scan: &'a CaptureScan<'a>,
    reproducibility: Reproducibility,
    varying: &'a CountVariation,
}

impl Comparison<'_> {
    fn needs_all_launches(&self) -> bool {
        self.reproducibility >= Reproducibility::Counts
    }

    fn has_counts(&self, kernel: &str) -> bool {
        self.reproducibility != Reproducibility::Launches && !self.varying.kernels.contains(kernel)
    }

    fn traced(&self, launch: &LaunchScan<'_>) -> Counts {
        if !self.has_counts(&launch.launch.kernel) {
            return Counts::new();
        }
        match launch.sums {
            Some(sums) => {
                let sums = [&sums.loads, &sums.stores, &sums.atomics];
                let sums = (0..).zip(sums.map(|tally| tally.threads));
                let waits = self.waiting_kinds(&launch.launch.kernel);
                sums.filter(|(kind, threads)| *threads > 0 && !waits.contains(kind))
                    .collect()
            }
            None => {
                let sites = launch.sites.iter();
                let steady = sites
                    .filter(|(site, _)| self.scan.sites.get(*site).is_none_or(Site::is_steady));
                steady
                    .map(|(site, count)| (site.0, count.accesses))
                    .collect()
            }
        }
    }

    fn counted(&self, launch: &LaunchCounts) -> Result<Counts, Difference> {
        if !self.has_counts(&launch.kernel) {
            return Ok(Counts::new());
        }
        let mut counts = Counts::new();
        let waits = self.waiting_kinds(&launch.kernel);
        for &(number, accesses) in &launch.sites {
            let site = self.scan.sites.get(SiteId(number));
            if !site.is_none_or(Site::is_steady) {
                continue;
            }
            let key = match (self.scan.is_in_situ(), site) {
                (false, _) => number,
                (true, Some(site)) if waits.contains(&kind_of(site.op)) => continue,
                (true, Some(site)) => kind_of(site.op),
                (true, None) => return Err(Difference::UnknownSite(SiteId(number))),
            };
            *counts.entry(key).or_default() += accesses;
        }
        Ok(counts)
    }

    /// For an in-situ run, returns the kinds of accesses that a kernel's threads repeat while they wait.
    fn waiting_kinds(&self, kernel: &str) -> BTreeSet<u32> {
        let sites = self.scan.sites;
        let can_execute =
            |it: &&Site| it.function == kernel || sites.kernel(&it.function).is_none();
        let waits = sites.iter().filter(|it| it.waits && self.scan.is_in_situ());
        waits.filter(can_execute).map(|it| kind_of(it.op)).collect()
    }

    /// Compares launches with equal numbers; returns the number of thread accesses.
    fn in_order(&self, counts: &[LaunchCounts]) -> Result<u64, Difference> {
        let sites = self.scan.sites;
        let mut rest: HashMap<(StreamId, LaunchId), &LaunchCounts> = (counts.iter())
            .map(|counts| ((StreamId(counts.stream), LaunchId(counts.launch)), counts))
            .collect();
        self.check_launch_count(rest.len())?;
        let mut compared = 0;
        for traced in &self.scan.launches {
            let launch = &traced.launch;
            let name = || launch_name(sites, launch);
            let counted = match rest.remove(&(launch.stream, launch.launch)) {
                Some(counted) if counted.kernel == launch.kernel => counted,
                _ if !self.needs_all_launches() => continue,
                None => return Err(Difference::NotCounted { launch: name() }),
                Some(counted) => {
                    let (launch, other) = (name(), sites.display_name(&counted.kernel));
                    let other = other.to_owned();
                    return Err(Difference::OtherKernel { launch, other });
                }
            };
            compared += self.compare(traced, counted)?;
        }
        Ok(compared)
    }

    /// Like [`Self::in_order`], but with the launches of a kernel in any order.
    fn in_any_order(&self, counts: &[LaunchCounts]) -> Result<u64, Difference> {
        self.check_launch_count(counts.len())?;
        let mut rest: HashMap<(&str, Counts), usize> = HashMap::new();
        for launch in counts {
            let key = (launch.kernel.as_str(), self.counted(launch)?);
            *rest.entry(key).or_default() += 1;
        }
        let mut compared = 0;
        for traced in &self.scan.launches {
            let counts = self.traced(traced);
            compared += counts.values().sum::<u64>();
            match rest.get_mut(&(traced.launch.kernel.as_str(), counts)) {
                Some(left) if *left > 0 => *left -= 1,
                _ => {
                    let launch = launch_name(self.scan.sites, traced.launch);
                    let order = self.varying.order;
                    return Err(Difference::NoneEqual { launch, order });
                }
            }
        }
        Ok(compared)
    }

    fn check_launch_count(&self, counted: usize) -> Result<(), Difference> {
        let traced = self.scan.launches.len();
        match self.needs_all_launches() && traced != counted {
            true => Err(Difference::LaunchCount { traced, counted }),
            false => Ok(()),
        }
    }

    /// Compares a launch with its counts; returns the number of thread accesses.
    fn compare(&self, scan: &LaunchScan<'_>, counts: &LaunchCounts) -> Result<u64, Difference> {
        let (in_trace, in_count) = (self.traced(scan), self.counted(counts)?);
        let keys: BTreeSet<u32> = in_trace.keys().chain(in_count.keys()).copied().collect();
        let count = |counts: &Counts, key| counts.get(&key).copied().unwrap_or(0);
        let pair = |key| (key, count(&in_trace, key), count(&in_count, key));
        let mut pairs = keys.into_iter().map(pair);
        let differing = pairs.find(|(_, traced, counted)| traced != counted);
        let Some((key, traced, counted)) = differing else {
            return Ok(in_trace.values().sum());
        };
        let launch = launch_name(self.scan.sites, scan.launch);
        Err(match self.scan.is_in_situ() {
            true => Difference::Kind(launch, KINDS[key as usize], traced, counted),
            false => {
                let site = site_name(self.scan.sites, SiteId(key));
                Difference::Site(launch, site, traced, counted)
            }
        })
    }
}

const KINDS: [&str; 3] = ["loads", "stores", "atomics"];

/// Returns the index of an operation in [`KINDS`].
pub fn kind_of(op: Op) -> u32 {
    match op {
        Op::Load => 0,
        Op::Store => 1,
        _ => 2,
    }
}
