//! What `fileserver` and `tcpstream` have in common: variants, figures and sentences of clients that are served.

use std::path::Path;

use super::script::TRACE_1999;
use super::{FileServer, Kind, Load, Mix, TcpStream, Turn};
use crate::harness::timed::per_op;
use crate::harness::{
    Axis, Bar, Design, Fault, NamedRatio, NotMeasurable, Plot, Results, Rounds, Sample, Sentence,
    Size, Variant, ratios_sentence,
};
use crate::numbers::{self, quantity};

/// Lives of documents of each client in a turn; in a full run those of a whole trace of 1999.
pub(in crate::experiments) const DOCUMENTS: [u32; 2] = [25, TRACE_1999];
/// Clients at once.
pub(in crate::experiments) const CLIENTS: [&[usize]; 2] = [&[1, 4], &[1, 4, 16]];
/// Megabytes that dbench 1 counts for each client and trace, whatever was moved.
pub(in crate::experiments) const TRACE_MB: f64 = 132.0;

/// By what clients are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::experiments) enum Served {
    /// By the file system.
    Files,
    /// By a thread at the other end of a connection.
    Stream,
}

impl Served {
    /// Both mixes, with more and more clients; `factors` stand with every variant.
    pub(in crate::experiments) fn design(self, size: Size, factors: &[(&str, &str)]) -> Design {
        let rounds = size.pick(Rounds::usual(size), Rounds::few(size)).warmed_up();
        let mut design = Design::facts(Vec::new(), rounds);
        for mix in Mix::ALL {
            let of = |clients: &usize| {
                let variant = Variant::new(variant(mix, *clients))
                    .with("mix", mix.name())
                    .with("clients", clients);
                let with =
                    |variant: Variant, (name, level): &(&str, &str)| variant.with(name, level);
                factors.iter().fold(variant, with).crowded()
            };
            design.group("bandwidth", size.of(CLIENTS).iter().map(of));
        }
        design.twinned()
    }

    /// The load of a variant.
    ///
    /// # Errors
    /// It has no folder.
    pub(in crate::experiments) fn load(
        self,
        clients: usize,
        documents: u32,
        mix: Mix,
        prepared: Option<&Path>,
    ) -> Result<Box<dyn Load>, Fault> {
        Ok(match self {
            Served::Files => Box::new(FileServer::new(prepared, clients, documents, mix)?),
            Served::Stream => Box::new(TcpStream::new(clients, documents, mix)),
        })
    }

    /// Loads of a design, in order.
    pub(in crate::experiments) fn loads(
        self,
        design: &Design,
        size: Size,
        prepared: Option<&Path>,
    ) -> Result<Vec<Made>, NotMeasurable> {
        let of = |variant: &Variant| {
            let mix = Mix::ALL.into_iter().find(|mix| mix.name() == variant.level("mix"))?;
            Some((mix, variant.level("clients").parse().ok()?))
        };
        let documents = size.of(DOCUMENTS);
        let made = |(mix, clients): (Mix, usize)| {
            let load = self.load(clients, documents, mix, prepared);
            let load = load.map_err(NotMeasurable::new)?;
            Ok(Made { load, mix, documents: documents * clients as u32 })
        };
        design.each(of)?.into_iter().map(made).collect()
    }
}

/// A load, and what its figures need.
pub(in crate::experiments) struct Made {
    load: Box<dyn Load>,
    mix: Mix,
    /// Of all clients.
    documents: u32,
}

impl Made {
    /// One turn, on all CPUs.
    pub(in crate::experiments) fn turn(&mut self) -> Result<Vec<Sample>, Fault> {
        let turn = self.load.turn(&[])?;
        Ok(samples(&turn, self.mix, self.documents))
    }
}

fn samples(turn: &Turn, mix: Mix, documents: u32) -> Vec<Sample> {
    let seconds = turn.wall_ns.max(1) as f64 / 1e9;
    let sample = |metric, value| Sample::new(metric, value, turn.ops, turn.check.clone());
    let mut samples = vec![
        sample("bandwidth", turn.bytes as f64 / 1e6 / seconds),
        sample("rate", turn.ops as f64 / seconds),
    ];
    if mix == Mix::Of1999 {
        let traces = f64::from(documents) / f64::from(TRACE_1999);
        samples.push(sample("historic-bandwidth", TRACE_MB * traces / seconds));
    }
    samples.extend(turn.cpu_ns.map(|ns| sample("cpu-time", per_op(ns, turn.ops))));
    samples.extend(latencies(turn, "latency", |_| true));
    samples.extend(
        Kind::ALL
            .into_iter()
            .filter_map(|kind| latencies(turn, kind.metric(), |other| other == kind)),
    );
    samples
}

/// The median of some kinds, in us, with its quantiles.
fn latencies(turn: &Turn, metric: &str, is_of: impl Fn(Kind) -> bool) -> Option<Sample> {
    let of_kind = turn.took.iter().filter(|(kind, _)| is_of(*kind));
    let us: Vec<f64> = of_kind.map(|(_, ns)| *ns as f64 / 1e3).collect();
    Sample::median_of(metric, &us, turn.check.clone())
}

fn variant(mix: Mix, clients: usize) -> String {
    format!("{} clients-{clients}", mix.name())
}

/// Numbers of clients that a record has of this mix.
fn clients(results: &Results, mix: Mix) -> Vec<usize> {
    let of_mix = results.designed().iter().filter(|variant| variant.level("mix") == mix.name());
    of_mix.filter_map(|variant| variant.level("clients").parse().ok()).collect()
}

/// For each mix: the bandwidth of one client, what more of them change, and how long operations take.
pub(in crate::experiments) fn findings(results: &Results) -> Vec<Sentence> {
    let of = |mix: Mix| [bandwidth(results, mix), more(results, mix), slowest(results, mix)];
    Mix::ALL.into_iter().flat_map(of).flatten().collect()
}

fn bandwidth(results: &Results, mix: Mix) -> Option<Sentence> {
    let told = |clients: usize| {
        let name = variant(mix, clients);
        let real = results.estimate(&name, "bandwidth")?;
        let historic = results.median(&name, "historic-bandwidth");
        let historic =
            historic.map(|it| format!(" ({} by the historic constant)", quantity(it, "MB/s")));
        let real = numbers::estimate(&real, "MB/s");
        Some(format!("clients {clients}: {real}{}", historic.unwrap_or_default()))
    };
    let told: Vec<String> = clients(results, mix).into_iter().filter_map(told).collect();
    let text = format!("mix {}: {}", mix.name(), told.join(", "));
    (!told.is_empty()).then(|| Sentence::fact(text))
}

fn more(results: &Results, mix: Mix) -> Option<Sentence> {
    let all = clients(results, mix);
    let (one, others) = all.split_first()?;
    let pair = |many: &usize| {
        let (reference, candidate) = (variant(mix, *one), variant(mix, *many));
        NamedRatio::new(format!("{many} clients"), reference, candidate, "bandwidth")
    };
    let pairs: Vec<NamedRatio> = others.iter().map(pair).collect();
    ratios_sentence(results, &format!("mix {}: bandwidth against one client", mix.name()), &pairs)
}

/// How long each kind takes with the most clients: the median, and the slowest.
fn slowest(results: &Results, mix: Mix) -> Option<Sentence> {
    let most = clients(results, mix).into_iter().max()?;
    let told = |kind: Kind| {
        let found = results.distribution(&variant(mix, most), kind.metric())?;
        let name = kind.metric().trim_start_matches("latency-");
        let [median, worst] = [found.p50, found.max].map(|us| quantity(us, "us"));
        Some(format!("{name} {median}, at most {worst}"))
    };
    let told: Vec<String> = Kind::ALL.into_iter().filter_map(told).collect();
    let text =
        format!("mix {}, clients {most}, latency in the middle: {}", mix.name(), told.join("; "));
    (!told.is_empty()).then(|| Sentence::fact(text))
}

/// Bandwidth by clients, and the latency of each kind.
pub(in crate::experiments) fn plots(results: &Results) -> Vec<Plot> {
    let all = || Mix::ALL.into_iter();
    let bandwidth = |mix: Mix, clients: usize| {
        let estimate = results.estimate(&variant(mix, clients), "bandwidth")?;
        Some(Bar { label: format!("clients {clients}"), estimate, group: mix.name().into() })
    };
    let latency = |mix: Mix, kind: Kind| {
        let most = clients(results, mix).into_iter().max()?;
        let estimate = results.estimate(&variant(mix, most), kind.metric())?;
        let label = kind.metric().trim_start_matches("latency-").into();
        Some(Bar { label, estimate, group: format!("mix {}, clients {most}", mix.name()) })
    };
    let of_mix = |mix: Mix| clients(results, mix).into_iter().map(move |many| (mix, many));
    let bandwidths: Vec<Bar> =
        all().flat_map(of_mix).filter_map(|(mix, many)| bandwidth(mix, many)).collect();
    let kinds = |mix: Mix| Kind::ALL.into_iter().map(move |kind| (mix, kind));
    let latencies: Vec<Bar> =
        all().flat_map(kinds).filter_map(|(mix, kind)| latency(mix, kind)).collect();
    let plot = |title: &str, axis: Axis, bars: Vec<Bar>| {
        (!bars.is_empty()).then(|| Plot::Bars { title: title.into(), axis, bars })
    };
    [
        plot("Megabytes a second", Axis::linear("bandwidth", "MB/s"), bandwidths),
        plot("Median latency of each operation", Axis::log("latency", "us"), latencies),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Check;

    #[test]
    fn figures_follow_from_a_turn() {
        let turn = Turn {
            wall_ns: 500_000_000,
            cpu_ns: Some(1_000),
            ops: 4,
            bytes: 3_000_000,
            check: Check::Passed,
            took: [2_000, 4_000, 9_000]
                .map(|ns| (Kind::Read, ns))
                .into_iter()
                .chain([(Kind::Flush, 1_000_000)])
                .collect(),
        };
        let of = |samples: &[Sample], metric: &str| {
            samples.iter().find(|sample| sample.metric == metric).map(|sample| sample.value)
        };
        let old = samples(&turn, Mix::Of1999, TRACE_1999);
        assert_eq!(of(&old, "bandwidth"), Some(6.0));
        assert_eq!(of(&old, "historic-bandwidth"), Some(264.0));
        assert_eq!((of(&old, "rate"), of(&old, "cpu-time")), (Some(8.0), Some(250.0)));
        assert_eq!(
            (of(&old, "latency-read"), of(&old, "latency-flush")),
            (Some(4.0), Some(1000.0))
        );
        assert_eq!(of(&old, "latency-write"), None);
        assert_eq!(of(&samples(&turn, Mix::Current, 1), "historic-bandwidth"), None);
    }

    #[test]
    fn every_variant_has_a_load() {
        for served in [Served::Files, Served::Stream] {
            let design = served.design(Size::Quick, &[("file-system", "none")]);
            assert_eq!(design.fault(), None);
            let below = tempfile::tempdir().unwrap();
            let loads = served.loads(&design, Size::Quick, Some(below.path())).unwrap();
            assert_eq!(loads.len(), design.variants.len());
            assert_eq!(loads[1].documents, 4 * DOCUMENTS[0]);
        }
    }
}
