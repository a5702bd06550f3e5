//! `tcpstream`: how much a server on loopback answers to many clients.

use super::loads::{self, Served, probe_lines};
use crate::harness::{
    About, Design, Experiment, Host, Metric, NotMeasurable, Opened, Parameter, Plot, Results,
    Section, Sentence, Size,
};

/// See [`About`].
pub struct TcpStreamExperiment;

static ABOUT: About = About {
    id: "tcpstream",
    section: Section::System,
    question: "How much does a server on loopback answer to many clients?",
    origin: "tbench, of which Vianney, \"Hyper-Threading speeds Linux\", 2003, used version 1; the load is made up from its \
             published numbers of operations and their lengths, and carried out anew. The figures are not tbench results",
    method: "The scripts of `fileserver` without the files: each client is a thread that sends a packet as long as the request \
             would be, and waits for a reply as long as the answer would be, over a TCP connection on 127.0.0.1. A server \
             thread at the other end of each connection reads and replies. Small packets are sent at once. `clients-N`: so \
             many at once, on all usable CPUs, started together; 25 documents of each in a turn, in a full run 1004. The first \
             round of each process start warms up and is left out. Connections are there before the time begins, and nothing \
             listens any more by then. Every packet's number and every byte of contents is checked.",
    limits: "Clients and servers share the CPUs, and nothing crosses a network card. A made-up load, as `fileserver` has it. \
             The lengths of packets follow those of tbench; for operations that it did not have, they are ours. tbench has a \
             process for each server, this has a thread.",
    metrics: &metrics(),
    parameters: &[
        Parameter::new("documents", &loads::DOCUMENTS),
        Parameter::new("clients", &loads::CLIENTS),
        Parameter::new("trace-mb", &loads::TRACE_MB),
    ],
};

/// Those of `fileserver`, too.
pub(super) const fn metrics() -> [Metric; 15] {
    const fn latency(name: &'static str, definition: &'static str) -> Metric {
        Metric::less(name, "us").means(definition)
    }
    [
        Metric::more("bandwidth", "MB/s")
            .means("Contents of writes and reads of all clients, in 10^6 bytes, from the first client's start to the last \
                    one's end."),
        Metric::more("rate", "1/s").means("Operations of all clients in the same time."),
        Metric::more("historic-bandwidth", "MB/s")
            .means("132 MB for every 1004 documents, in the same time, whatever was moved: so dbench 1 counts for each client \
                    and trace. Mix 1999 only."),
        Metric::less("cpu-time", "ns")
            .means("CPU time of all threads, user and system, divided by the operations."),
        latency("latency", "From one operation's end to the next one's, at a client; the median."),
        latency("latency-create", "The same of files that are made."),
        latency("latency-open", "The same of files that are opened, or are not there to be."),
        latency("latency-close", "The same of files that are closed."),
        latency("latency-read", "The same of reads."),
        latency("latency-write", "The same of writes."),
        latency(
            "latency-stat",
            "The same of questions about files and the file system, and of times that are set.",
        ),
        latency("latency-list", "The same of lists of a folder."),
        latency("latency-flush", "The same of files that are flushed to the disk."),
        latency("latency-rename", "The same of files that get another name."),
        latency("latency-delete", "The same of files that are deleted."),
    ]
}

impl Experiment for TcpStreamExperiment {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let most = size.of(loads::CLIENTS).iter().max().copied().unwrap_or(1);
        probe_lines(most).map_err(NotMeasurable::new)?;
        Ok(Served::Stream.design(size, &[]))
    }

    fn turn_ms(&self) -> f64 {
        40.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let mut loads = Served::Stream.loads(design, size, None)?;
        Ok(Box::new(move |variant: usize| loads[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        loads::served_findings(results)
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        loads::served_plots(results)
    }
}

#[cfg(test)]
mod tests {
    use super::super::loads::Kind;
    use super::*;
    use crate::harness::Check;

    #[test]
    fn one_turn_of_each_variant_here_passes_its_check() {
        let host = Host::described_with_smt();
        let design = TcpStreamExperiment.design(&host, Size::Quick).unwrap();
        let mut apparatus = TcpStreamExperiment.open(&host, Size::Quick, &design).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = apparatus.measure(index).unwrap();
            let right = |it: &crate::harness::Sample| it.check == Check::Passed && it.value >= 0.0;
            assert!(samples.iter().all(right), "{}", variant.name);
            assert!(samples.iter().all(|it| ABOUT.metric(&it.metric).is_some()));
        }
    }

    #[test]
    fn every_kind_has_a_metric() {
        assert!(Kind::ALL.into_iter().all(|kind| ABOUT.metric(kind.metric()).is_some()));
    }
}
