//! `fileserver`: how much a file system serves to many clients.

use std::path::Path;

use super::folder;
use super::loads::{self, Served, probe_files};
use crate::harness::{
    About, Design, Experiment, Historic, Host, NotMeasurable, Opened, Parameter, Plot, Prepared,
    Results, Section, Sentence, Size,
};

/// See [`About`].
pub struct FileServerExperiment;

static ABOUT: About = About {
    id: "fileserver",
    section: Section::System,
    question: "How much does a file system serve to many clients?",
    origin: "dbench, of which Vianney, \"Hyper-Threading speeds Linux\", 2003, used version 1; the load is made up from its \
             published numbers of operations and their lengths, and carried out anew. The figures are not dbench results",
    method: "Each client is a thread with a folder of its own, in which documents live through a script: they are made, \
             written, read, asked for, renamed, deleted. Mix `1999` has the operations of the trace of dbench 1, through the \
             page cache, as that carries them out. Mix `current` has those of dbench 4, with lists of the folder, questions \
             about the file system, and flushes, which wait for the disk (fsync). `clients-N`: so many at once, on all usable \
             CPUs, started together; 25 documents of each in a turn, in a full run 1004, the trace of 1999 once. The first \
             round of each process start warms up and is left out. Folders are made and removed outside of the time. Every byte \
             that is read, every length, and the number of files in a list are checked.",
    limits: "A made-up load: the order of operations and, in the current mix, the single lengths are ours. Locks and folders \
             that are made are left out: in version 1 they are rare or not carried out. The \
             page cache is warm, and what is not flushed may never reach the disk. On a file system in memory a flush does \
             nothing. dbench runs processes, this runs threads of one process.",
    metrics: &super::tcpstream::metrics(),
    parameters: &[
        Parameter::new("documents", &loads::DOCUMENTS),
        Parameter::new("clients", &loads::CLIENTS),
        Parameter::new("trace-mb", &loads::TRACE_MB),
    ],
};

impl Experiment for FileServerExperiment {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
        probe_files().map_err(NotMeasurable::new)?;
        let on = folder::file_system_told(&folder::below());
        Ok(Served::Files.design(size, &[("file-system", on.as_str())]))
    }

    fn turn_ms(&self) -> f64 {
        40.0
    }

    fn prepare(&self, _: &dyn Fn() -> bool) -> Prepared {
        folder::make().map(Some).map_err(NotMeasurable::new)
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        self.open_in(host, size, design, None)
    }

    fn open_in(&self, _: &Host, size: Size, design: &Design, prepared: Option<&Path>) -> Opened {
        let mut loads = Served::Files.loads(design, size, prepared)?;
        Ok(Box::new(move |variant: usize| loads[variant].turn()))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let on = results.designed().first().map(|variant| variant.level("file-system"));
        let place = on.map(|on| Sentence::fact(format!("the files are on {on}")));
        loads::served_findings(results).into_iter().chain(place).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        loads::served_plots(results)
    }

    fn historic(&self) -> Vec<Historic> {
        let figure = Historic::new("dbench 1, 16 clients", 118.0, "MB/s", "historic-bandwidth")
            .beside("1999 clients-16")
            .means("165 MB for each client and trace, by the time, as NetBench counts.")
            .differs("It counts 165 MB for each client and trace, here 132; the clients were processes on four processors.")
            .printed_in("README of dbench 1 (four Xeons, Linux 2.2.9)");
        vec![figure]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Check;

    #[test]
    fn one_turn_of_each_variant_here_passes_its_check_and_leaves_nothing() {
        let below = tempfile::tempdir().unwrap();
        let host = Host::described_with_smt();
        let Ok(design) = FileServerExperiment.design(&host, Size::Quick) else {
            println!(
                "SKIPPED one_turn_of_each_variant_here_passes_its_check_and_leaves_nothing: no folder for files"
            );
            return;
        };
        let prepared = Some(below.path());
        let opened = FileServerExperiment.open_in(&host, Size::Quick, &design, prepared);
        let mut apparatus = opened.unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = apparatus.measure(index).unwrap();
            let right = |it: &crate::harness::Sample| it.check == Check::Passed && it.value >= 0.0;
            assert!(samples.iter().all(right), "{}", variant.name);
            assert!(samples.iter().all(|it| ABOUT.metric(&it.metric).is_some()));
            let flushes = samples.iter().any(|it| it.metric == "latency-flush");
            assert_eq!(flushes, variant.level("mix") == "current");
        }
        assert_eq!(std::fs::read_dir(below.path()).unwrap().count(), 0);
    }
}
