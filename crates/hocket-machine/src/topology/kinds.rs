//! Which cores are of one kind.
//!
//! hwloc, and the kernel below it, report rows of CPUs that look alike in what was measured: clocks, capacity, names.
//! That is close to the truth and not the truth: two rows may be one type of core (a favoured core that may clock
//! higher, a capacity that was measured twice), one row may hold two types (low-power cores that the vendor calls by the
//! same name), and some machines report no row at all. The rules, in the order in which they apply:
//!
//! - `names-decide`: where every row has a vendor's name (CoreType, CPUPart), rows of one name are one kind and nothing
//!   else is looked at.
//! - `close-is-equal`: without names, rows are one kind whose highest clocks differ by at most 12 %, whose base clocks
//!   do not differ, and whose capacity at equal clock differs by at most 5 %. A favoured core clocks up to a tenth higher
//!   than its peers; the nearest two real types on one chip known to us are further apart in at least one of the three.
//! - `same-packages`: rows that do not divide any package, on packages of one model, are one kind.
//! - `rest-follows`: CPUs in no row belong to the only kind there is, or to the kind of their core, else they are a kind
//!   of their own, because nobody said what they are.
//! - `island`: cores of a slower Intel kind that lie outside the last-level cache which the fastest cores share, while
//!   others of that kind lie inside, are low-power cores and a kind of their own.
//! - `dense`: on an AMD package (Zen 4 and later) with one kind and several L3 caches, the cores of an L3 that is smaller,
//!   and yet has more cores, are dense cores. Stacked caches (more than 32 MiB) make L3 sizes meaningless, so there the
//!   rule is silent; equal core counts keep it silent too.
//!
//! No row and no rule: one kind.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::cpuset::CpuSet;

use super::draft::{CacheDraft, Draft};
use super::{CacheType, KindOrigin};

/// CPUs that the system reports as alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KindRow {
    pub cpus: CpuSet,
    /// The system's own ranking; larger is faster.
    pub efficiency: Option<i64>,
    /// The vendor's name of the core type.
    pub core_type: Option<String>,
    /// Implementer and part number of an Arm core.
    pub part: Option<(Option<String>, String)>,
    /// The kernel's capacity, 1024 for the fastest.
    pub capacity: Option<u32>,
    /// The highest clock in MHz.
    pub max_mhz: Option<u32>,
    /// The guaranteed clock in MHz.
    pub base_mhz: Option<u32>,
    /// The place in the system's list; hwloc writes its kinds slowest first where it can tell.
    pub order: usize,
}

/// A kind, still in CPU numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindDraft {
    pub cpus: CpuSet,
    pub name: String,
    pub efficiency: Option<i64>,
    pub max_mhz: Option<u32>,
    pub how: KindOrigin,
    pub reason: String,
}

/// Rows that were found to be one kind.
#[derive(Debug, Clone)]
struct Cluster {
    rows: Vec<KindRow>,
    cpus: CpuSet,
    how: KindOrigin,
    reason: String,
    /// A name that a rule gave, which goes before what the rows say.
    named: Option<&'static str>,
}

const LOW_POWER: &str = "IntelLowPower";
const EFFICIENT: &str = "IntelAtom";
const PERFORMANCE: &str = "IntelCore";

/// The kinds of a machine, slowest first; at least one. Contradictions become notes in `draft`.
pub(crate) fn classify(draft: &mut Draft) -> Vec<KindDraft> {
    let rows = usable_rows(draft);
    let mut clusters = merge_same_packages(draft, group(rows));
    add_rest(draft, &mut clusters);
    rank(&mut clusters);
    split_islands(draft, &mut clusters);
    split_dense(draft, &mut clusters);
    name(draft, &clusters)
}

/// The rows cut down to CPUs that exist and that no earlier row has.
fn usable_rows(draft: &mut Draft) -> Vec<KindRow> {
    let mut free = draft.cpus();
    let mut rows = Vec::new();
    let mut overlap = CpuSet::new();
    for row in std::mem::take(&mut draft.kind_rows) {
        let cpus = row.cpus.intersection(&free);
        overlap.extend(row.cpus.difference(&cpus).iter());
        free = free.difference(&cpus);
        if !cpus.is_empty() {
            rows.push(KindRow { cpus, order: rows.len(), ..row });
        }
    }
    let overlap = overlap.intersection(&draft.cpus());
    if !overlap.is_empty() {
        draft.notes.push(format!(
            "CPUs {overlap} are reported in more than one kind; the first one counts"
        ));
    }
    rows
}

/// Rules `names-decide` and `close-is-equal`.
fn group(rows: Vec<KindRow>) -> Vec<Cluster> {
    if !rows.is_empty() && rows.iter().all(|row| row.identity().is_some()) {
        return group_by_name(rows);
    }
    group_by_speed(rows)
}

impl KindRow {
    /// What the vendor calls this type of core, as a key.
    fn identity(&self) -> Option<String> {
        let part = || {
            self.part
                .as_ref()
                .map(|(maker, part)| format!("{}:{part}", maker.as_deref().unwrap_or("")))
        };
        self.core_type.clone().or_else(part)
    }

    /// Rule `close-is-equal`, against the fastest row of a cluster.
    fn is_close_to(&self, top: &Self) -> bool {
        if self.identity() != top.identity() {
            return false;
        }
        let clock = within(self.max_mhz, top.max_mhz, 0.12);
        let base = within(self.base_mhz, top.base_mhz, 0.03);
        let capacity = within(self.capacity_per_clock(top), top.capacity_per_clock(self), 0.05);
        let known = [clock, base, capacity];
        known.contains(&Some(true)) && !known.contains(&Some(false))
    }

    /// The capacity divided by the clock where both rows know their clock, else the bare capacity; scaled to integers.
    fn capacity_per_clock(&self, other: &Self) -> Option<u32> {
        let capacity = self.capacity?;
        match (self.max_mhz, other.max_mhz) {
            (Some(mhz), Some(_)) => {
                Some((u64::from(capacity) * 1_000_000 / u64::from(mhz)).min(u64::from(u32::MAX))
                    as u32)
            }
            _ => Some(capacity),
        }
    }
}

/// Whether two values differ by at most `share` of the larger one; none if either is unknown.
fn within(a: Option<u32>, b: Option<u32>, share: f64) -> Option<bool> {
    let (a, b) = (f64::from(a?), f64::from(b?));
    Some((a - b).abs() <= share * a.max(b))
}

fn group_by_name(rows: Vec<KindRow>) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    for row in rows {
        match clusters.iter_mut().find(|c| c.rows[0].identity() == row.identity()) {
            Some(cluster) => cluster.add(row, "rows of the same core type"),
            None => clusters.push(Cluster::reported(row)),
        }
    }
    clusters
}

fn group_by_speed(mut rows: Vec<KindRow>) -> Vec<Cluster> {
    rows.sort_by_key(|row| Reverse((row.max_mhz, row.capacity, row.base_mhz)));
    let mut clusters: Vec<Cluster> = Vec::new();
    for row in rows {
        match clusters.iter_mut().find(|c| row.is_close_to(&c.rows[0])) {
            Some(cluster) => cluster
                .add(row, "rows whose clocks and capacity differ too little for two types of core"),
            None => clusters.push(Cluster::reported(row)),
        }
    }
    clusters
}

impl Cluster {
    fn reported(row: KindRow) -> Self {
        let reason = "the system reports these CPUs as one kind".to_string();
        Self {
            cpus: row.cpus.clone(),
            rows: vec![row],
            how: KindOrigin::Reported,
            reason,
            named: None,
        }
    }

    fn add(&mut self, row: KindRow, why: &str) {
        self.cpus = self.cpus.union(&row.cpus);
        self.rows.push(row);
        self.how = KindOrigin::Inferred;
        self.reason = format!("{} {why}", self.rows.len());
    }

    fn max_mhz(&self) -> Option<u32> {
        self.rows.iter().filter_map(|r| r.max_mhz).max()
    }

    fn capacity(&self) -> Option<u32> {
        self.rows.iter().filter_map(|r| r.capacity).max()
    }

    fn base_mhz(&self) -> Option<u32> {
        self.rows.iter().filter_map(|r| r.base_mhz).max()
    }

    /// The lowest ranking of the rows, if all have one.
    fn efficiency(&self) -> Option<i64> {
        let known: Option<Vec<i64>> = self.rows.iter().map(|r| r.efficiency).collect();
        known?.into_iter().min()
    }

    fn core_type(&self) -> Option<&str> {
        self.rows.first().and_then(|r| r.core_type.as_deref())
    }

    fn is_named(&self) -> bool {
        self.rows.iter().any(|r| r.identity().is_some())
    }
}

/// Rule `same-packages`.
fn merge_same_packages(draft: &Draft, clusters: Vec<Cluster>) -> Vec<Cluster> {
    let divides = |cpus: &[u32]| {
        let cpus: CpuSet = cpus.iter().copied().collect();
        clusters.iter().filter(|c| c.cpus.intersects(&cpus)).count() > 1
    };
    let full = || draft.packages.iter().filter(|p| !p.cpus.is_empty());
    let model = full().next().and_then(|p| p.model.clone());
    let one_model = model.is_some() && full().all(|p| p.model == model);
    let named = clusters.iter().any(Cluster::is_named);
    if clusters.len() < 2 || named || !one_model || full().any(|p| divides(&p.cpus)) {
        return clusters;
    }
    let mut rest = clusters.into_iter();
    let mut all = rest.next().expect("two clusters at least");
    for cluster in rest {
        cluster
            .rows
            .into_iter()
            .for_each(|row| all.add(row, "rows that divide no package, on packages of one model"));
    }
    vec![all]
}

/// Rule `rest-follows`.
fn add_rest(draft: &mut Draft, clusters: &mut Vec<Cluster>) {
    let covered = clusters.iter().fold(CpuSet::new(), |all, c| all.union(&c.cpus));
    let mut rest = draft.cpus().difference(&covered);
    if rest.is_empty() {
        return;
    }
    if let [only] = clusters.as_mut_slice() {
        only.cpus = only.cpus.union(&rest);
        only.reason = format!("{}; nothing was reported for CPUs {rest}", only.reason);
        return;
    }
    if clusters.is_empty() {
        clusters.push(unreported(rest, "the system reports no kinds of core"));
        return;
    }
    follow_cores(draft, clusters, &mut rest);
    if !rest.is_empty() {
        draft.notes.push(format!(
            "no kind is reported for CPUs {rest}; they count as a kind of their own"
        ));
        clusters.push(Cluster {
            named: Some("unclassified"),
            ..unreported(rest, "no kind was reported for these CPUs")
        });
    }
}

fn unreported(cpus: CpuSet, reason: &str) -> Cluster {
    Cluster {
        rows: Vec::new(),
        cpus,
        how: KindOrigin::Inferred,
        reason: reason.into(),
        named: None,
    }
}

fn follow_cores(draft: &Draft, clusters: &mut [Cluster], rest: &mut CpuSet) {
    for core in &draft.cores {
        let cpus: CpuSet = core.cpus.iter().copied().collect();
        let lost = cpus.intersection(rest);
        let Some(cluster) = clusters.iter_mut().find(|c| c.cpus.intersects(&cpus)) else {
            continue;
        };
        cluster.cpus = cluster.cpus.union(&lost);
        *rest = rest.difference(&lost);
    }
}

/// Sorts slowest first by the first measure that all clusters have and that tells them apart.
fn rank(clusters: &mut [Cluster]) {
    let measures: [fn(&Cluster) -> Option<i64>; 5] = [
        Cluster::efficiency,
        |c| type_rank(c.core_type()?),
        |c| c.capacity().map(i64::from),
        |c| c.max_mhz().map(i64::from),
        |c| c.base_mhz().map(i64::from),
    ];
    let reported = |c: &&Cluster| !c.rows.is_empty();
    let tells = |measure: &&fn(&Cluster) -> Option<i64>| {
        let values: Option<Vec<i64>> = clusters.iter().filter(reported).map(*measure).collect();
        values.is_some_and(|v| v.windows(2).any(|w| w[0] != w[1]))
    };
    // Clusters nobody reported on have no measure; they come first, as if slowest: nothing should be built on them.
    match measures.iter().find(tells) {
        Some(measure) => clusters.sort_by_key(|c| (measure(c).unwrap_or(-1), c.cpus.first())),
        None => clusters.sort_by_key(|c| c.rows.iter().map(|r| r.order + 1).min().unwrap_or(0)),
    }
}

/// The order of the vendors' names.
fn type_rank(name: &str) -> Option<i64> {
    match name {
        LOW_POWER => Some(0),
        EFFICIENT | "AMDEfficiency" => Some(1),
        PERFORMANCE | "AMDPerformance" => Some(2),
        _ => None,
    }
}

/// Rule `island`.
fn split_islands(draft: &Draft, clusters: &mut Vec<Cluster>) {
    let is_candidate = clusters.len() > 1 && is_vendor(draft, clusters, "Intel");
    let Some(fastest) = clusters.last().filter(|_| is_candidate) else { return };
    let Some(island) = outside_last_level(draft, &fastest.cpus) else { return };
    let last = clusters.len() - 1;
    let split = |(place, cluster): (usize, Cluster)| match place < last {
        true => split_island(cluster, &island),
        false => vec![cluster],
    };
    *clusters = std::mem::take(clusters).into_iter().enumerate().flat_map(split).collect();
}

/// The cluster in two, if it lies partly on the island; the island's cores are the slower part.
fn split_island(cluster: Cluster, island: &CpuSet) -> Vec<Cluster> {
    let outside = cluster.cpus.intersection(island);
    let is_slow_type =
        cluster.named.is_none() && cluster.core_type().is_none_or(|t| t == EFFICIENT);
    if !is_slow_type || outside.is_empty() || outside == cluster.cpus {
        return vec![cluster];
    }
    let low = Cluster {
        cpus: outside.clone(),
        how: KindOrigin::Inferred,
        reason: "outside the last-level cache that the other cores of their type share".into(),
        named: Some(LOW_POWER),
        // The clock of the common row is that of the faster part.
        rows: cluster.rows.iter().map(|r| KindRow { max_mhz: None, ..r.clone() }).collect(),
    };
    vec![low, Cluster { cpus: cluster.cpus.difference(&outside), ..cluster }]
}

/// The CPUs with no level-3 cache, or a smaller one, on a single package whose fastest CPUs all have one.
fn outside_last_level(draft: &Draft, fastest: &CpuSet) -> Option<CpuSet> {
    let one_package = draft.packages.iter().filter(|p| !p.cpus.is_empty()).count() <= 1;
    let size_of = |cpu: u32| {
        level3(draft)
            .filter(|c| c.cpus.contains(&cpu))
            .map(|c| c.size_bytes.unwrap_or(u64::MAX))
            .max()
    };
    let least: Option<Vec<u64>> = fastest.iter().map(size_of).collect();
    let least = least.filter(|_| one_package)?.into_iter().min()?;
    Some(draft.cpus().iter().filter(|&cpu| size_of(cpu).is_none_or(|size| size < least)).collect())
}

fn level3(draft: &Draft) -> impl Iterator<Item = &CacheDraft> {
    draft
        .caches
        .iter()
        .filter(|c| c.level == 3 && c.cache_type != CacheType::Instruction && !c.cpus.is_empty())
}

fn is_vendor(draft: &Draft, clusters: &[Cluster], vendor: &str) -> bool {
    let by_package =
        draft.packages.iter().any(|p| p.vendor.as_deref().is_some_and(|v| v.contains(vendor)));
    let by_type = clusters.iter().any(|c| c.core_type().is_some_and(|t| t.starts_with(vendor)));
    by_package || by_type
}

/// Rule `dense`.
fn split_dense(draft: &Draft, clusters: &mut Vec<Cluster>) {
    let [only] = clusters.as_slice() else { return };
    let Some(dense) = (!only.is_named()).then(|| dense_cpus(draft)).flatten() else { return };
    let half = |cpus: CpuSet, name, reason: &str| Cluster {
        cpus,
        how: KindOrigin::Inferred,
        reason: reason.into(),
        named: Some(name),
        rows: Vec::new(),
    };
    let full = only.cpus.difference(&dense);
    *clusters = vec![
        half(
            dense,
            "AMDEfficiency",
            "more cores on a smaller L3 than elsewhere in the package: dense cores",
        ),
        half(full, "AMDPerformance", "fewer cores on a larger L3 than elsewhere in the package"),
    ];
}

/// Stacked caches start above this; below, the L3 was cut to the cores.
const LARGEST_PLAIN_L3: u64 = 32 << 20;
/// The families with dense cores start here (Zen 4 shares its number with Zen 3, which has none and equal L3 caches).
const FIRST_DENSE_FAMILY: u32 = 25;

fn dense_cpus(draft: &Draft) -> Option<CpuSet> {
    let [package] = draft.packages.as_slice() else { return None };
    let is_amd = package.vendor.as_deref().is_some_and(|v| v.contains("AMD"));
    if !is_amd || package.family.is_some_and(|f| f < FIRST_DENSE_FAMILY) {
        return None;
    }
    let l3s: Option<Vec<(u64, usize, &CacheDraft)>> =
        level3(draft).map(|c| Some((c.size_bytes?, cores_under(draft, c), c))).collect();
    let l3s = l3s.filter(|l3s| l3s.iter().all(|l| l.0 <= LARGEST_PLAIN_L3))?;
    let largest = l3s.iter().map(|l| l.0).max()?;
    let full_cores = l3s.iter().filter(|l| l.0 == largest).map(|l| l.1).max()?;
    let is_dense = |l: &&(u64, usize, &CacheDraft)| l.0 < largest && l.1 > full_cores;
    let dense: CpuSet =
        l3s.iter().filter(is_dense).flat_map(|l| l.2.cpus.iter().copied()).collect();
    // Every smaller L3 must fit the picture, else there is something here that the rule does not know.
    let fits = l3s.iter().all(|l| l.0 == largest || is_dense(&l));
    (fits && !dense.is_empty()).then_some(dense)
}

fn cores_under(draft: &Draft, cache: &CacheDraft) -> usize {
    let cpus: CpuSet = cache.cpus.iter().copied().collect();
    draft.cores.iter().filter(|c| c.cpus.iter().any(|&cpu| cpus.contains(cpu))).count()
}

/// Names the clusters, which are in their final order.
fn name(draft: &Draft, clusters: &[Cluster]) -> Vec<KindDraft> {
    let guesses = intel_names(draft, clusters);
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let named = clusters.iter().zip(guesses).map(|(cluster, guess)| {
        let mut name = cluster_name(cluster, guess, clusters.len());
        let count = taken.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name} #{count}");
        }
        let guessed = cluster.named.is_none() && guess == Some(name.as_str());
        let remark =
            if guessed { "; the name is concluded from caches and hardware threads" } else { "" };
        KindDraft {
            cpus: cluster.cpus.clone(),
            name,
            efficiency: cluster.efficiency(),
            max_mhz: cluster.max_mhz(),
            how: cluster.how,
            reason: format!("{}{remark}", cluster.reason),
        }
    });
    named.collect()
}

fn cluster_name(cluster: &Cluster, guess: Option<&'static str>, count: usize) -> String {
    let part = || cluster.rows.first()?.part.as_ref().map(|(_, part)| part_name(part));
    let reported = cluster.core_type().map(String::from).or_else(part);
    match (cluster.named, reported) {
        (Some(name), _) => name.into(),
        (None, Some(name)) => name,
        (None, None) if count == 1 => "core".into(),
        (None, None) => guess.map(String::from).unwrap_or_else(|| speed_name(cluster)),
    }
}

fn speed_name(cluster: &Cluster) -> String {
    match (cluster.max_mhz(), cluster.capacity()) {
        (Some(mhz), _) => format!("{mhz} MHz"),
        (None, Some(capacity)) => format!("capacity {capacity}"),
        (None, None) => "unnamed".into(),
    }
}

/// Names for the kinds of an Intel machine that reports none: the fastest is the performance core, a slower kind that
/// lies outside its L3 a low-power core, one without a second hardware thread or with a shared L2 an efficient core.
fn intel_names(draft: &Draft, clusters: &[Cluster]) -> Vec<Option<&'static str>> {
    let unnamed = clusters.iter().all(|c| !c.is_named());
    let is_hybrid = clusters.len() > 1 && unnamed && is_vendor(draft, clusters, "Intel");
    let Some(fastest) = clusters.last().filter(|_| is_hybrid) else {
        return vec![None; clusters.len()];
    };
    let island = outside_last_level(draft, &fastest.cpus).unwrap_or_default();
    let outside = |c: &Cluster| c.cpus.is_subset(&island);
    let mut names: Vec<Option<&str>> = Vec::new();
    for cluster in &clusters[..clusters.len() - 1] {
        let is_small = shares_l2(draft, &cluster.cpus) && !has_threads(draft, &cluster.cpus);
        let is_island = cluster.named == Some(LOW_POWER)
            || (is_small && names.is_empty() && clusters.len() > 2 && outside(cluster));
        names.push(if is_island { Some(LOW_POWER) } else { is_small.then_some(EFFICIENT) });
    }
    let all_small = names.iter().all(Option::is_some);
    names.push(all_small.then_some(PERFORMANCE));
    names
}

fn has_threads(draft: &Draft, cpus: &CpuSet) -> bool {
    draft.cores.iter().any(|c| c.cpus.len() > 1 && c.cpus.iter().any(|&cpu| cpus.contains(cpu)))
}

/// Whether some level-2 cache with one of `cpus` serves more than one core.
fn shares_l2(draft: &Draft, cpus: &CpuSet) -> bool {
    let l2 = draft.caches.iter().filter(|c| c.level == 2 && c.cache_type != CacheType::Instruction);
    l2.filter(|c| c.cpus.iter().any(|&cpu| cpus.contains(cpu))).any(|c| cores_under(draft, c) > 1)
}

/// The name of an Arm core by its part number, as Arm's reference manuals list them.
fn part_name(part: &str) -> String {
    let name = match part {
        "0xd03" => "Cortex-A53",
        "0xd04" => "Cortex-A35",
        "0xd05" => "Cortex-A55",
        "0xd07" => "Cortex-A57",
        "0xd08" => "Cortex-A72",
        "0xd09" => "Cortex-A73",
        "0xd0a" => "Cortex-A75",
        "0xd0b" => "Cortex-A76",
        "0xd0c" => "Neoverse-N1",
        "0xd0d" => "Cortex-A77",
        "0xd40" => "Neoverse-V1",
        "0xd41" => "Cortex-A78",
        "0xd44" => "Cortex-X1",
        "0xd46" => "Cortex-A510",
        "0xd47" => "Cortex-A710",
        "0xd48" => "Cortex-X2",
        "0xd49" => "Neoverse-N2",
        "0xd4b" => "Cortex-A78C",
        "0xd4d" => "Cortex-A715",
        "0xd4e" => "Cortex-X3",
        "0xd4f" => "Neoverse-V2",
        "0xd80" => "Cortex-A520",
        "0xd81" => "Cortex-A720",
        "0xd82" => "Cortex-X4",
        "0xd85" => "Cortex-X925",
        "0xd87" => "Cortex-A725",
        other => return format!("part {other}"),
    };
    name.into()
}
