//! Who a thread number is.

use std::collections::HashMap;

use super::records::{Record, What};
use crate::kernel_files::KernelFiles;

/// Thread names by number: as the ring reports them, else as `/proc` has them when they are first asked for.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<i32, String>);

/// More are forgotten and looked up again: a long watch of a busy machine sees any number of threads.
const MOST: usize = 4096;

impl Names {
    /// Learns from a record. A new thread has its parent's name until it takes another.
    pub fn learn(&mut self, record: &Record) {
        match &record.what {
            What::Named { tid, name } => drop(self.0.insert(*tid, name.clone())),
            // An older thread may have had this number.
            What::Born { tid, parent, .. } => match self.0.get(parent).cloned() {
                Some(name) => drop(self.0.insert(*tid, name)),
                None => drop(self.0.remove(tid)),
            },
            _ => {}
        }
    }

    /// Looks up who is not known yet. A thread that has ended meanwhile stays unknown.
    pub fn look_up(&mut self, tids: impl Iterator<Item = i32>) {
        if self.0.len() > MOST {
            self.0.clear();
        }
        let files = KernelFiles::live();
        for tid in tids.filter(|&tid| tid > 0) {
            if !self.0.contains_key(&tid)
                && let Ok(name) = files.text(&format!("proc/{tid}/comm"))
            {
                self.0.insert(tid, name);
            }
        }
    }

    pub fn get(&self, tid: i32) -> Option<&str> {
        match tid {
            0 => Some("idle"),
            _ => self.0.get(&tid).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: What) -> Record {
        Record { at_ns: 0, cpu: 0, tid: None, what }
    }

    fn born(tid: i32, parent: i32) -> What {
        What::Born { tid, parent, process: 7, parent_process: 7 }
    }

    #[test]
    fn a_child_has_its_parents_name_until_it_has_its_own() {
        let mut names = Names::default();
        names.learn(&record(What::Named { tid: 7, name: "shell".into() }));
        names.learn(&record(born(8, 7)));
        assert_eq!(names.get(8), Some("shell"));
        names.learn(&record(What::Named { tid: 8, name: "preview".into() }));
        assert_eq!(names.get(8), Some("preview"));
        names.learn(&record(born(8, 99)));
        assert_eq!((names.get(8), names.get(0)), (None, Some("idle")));
    }

    #[test]
    fn running_threads_are_looked_up() {
        let mut names = Names::default();
        let own = std::process::id() as i32;
        names.look_up([own, -1, 0].into_iter());
        assert!(names.get(own).is_some_and(|name| !name.is_empty()));
        assert_eq!(names.get(-1), None);
    }
}
