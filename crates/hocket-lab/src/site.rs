//! All records of some folders as a site: plain files that need no server.
//!
//! # The parts
//! | part | what it does |
//! |---|---|
//! | `search.rs` | which files the folders have |
//! | `entry.rs`, `identity.rs` | what the site knows of a record, and of which machine it is |
//! | `bench_entry.rs`, `lab_entry.rs`, `other_entry.rs` | from a file to such an entry and its page |
//! | `trends.rs` | block times of one session over dates |
//! | `changes.rs` | each record against the one before |
//! | `capacity_page.rs` | channels by block length, of all machines |
//! | `picker.rs` | any two records beside each other |
//! | `index.rs` | the list of all |
//! | `frame.rs` | what these pages share |
//!
//! The pages of the records are those of [`crate::report`] and [`crate::pages`]. Only [`crate::stats::judge`] calls one
//! record faster than another, and only of two that can be compared.
//!
//! # Limits
//! A file that cannot be read is listed with the reason and ends nothing. Hidden files, links to folders and what is larger
//! than a bound are not read. All pages lie in one folder, and no page loads anything, not even from there.

mod search;
mod entry;
mod identity;
mod bench_entry;
mod lab_entry;
mod other_entry;
mod trends;
mod changes;
mod capacity_page;
mod picker;
mod index;
mod frame;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use entry::{Detail, Entry, Unread};
use search::Candidate;

use crate::about::digest_of_bytes;
use crate::record::BenchRecord;
use crate::store::{Store, StoreError};

/// The name of the first page.
pub const INDEX: &str = "index.html";

/// What became of the folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Records that have a line on the first page.
    pub records: usize,
    /// Machines they are of.
    pub machines: usize,
    /// Files that look like records and could not be used; the first page says why.
    pub unread: usize,
    /// The names of all pages, [`INDEX`] among them.
    pub pages: Vec<String>,
}

/// Reads all records below `roots`, folders or files, and hands every page to `put`: its name, without a folder, and its
/// text. The first page comes last, so that it never names one that is not there. Nothing below `site` is read.
///
/// Cost: that of the pages, some 0.1 s per record. Memory: the two largest records and what the tables need of the others.
///
/// # Errors
/// What `put` says.
pub fn make<E>(
    roots: &[PathBuf],
    site: &Path,
    put: impl FnMut(&str, &str) -> Result<(), E>,
) -> Result<Made, E> {
    let mut found = search::search(roots, site);
    let mut maker = Maker::new(put);
    maker.unread.append(&mut found.unread);
    maker.passed_over = found.passed_over;
    for file in &found.files {
        maker.read(file)?;
    }
    maker.finish(found.stopped)
}

/// A digest of what a record says, however its file is written.
fn canonical(record: &impl serde::Serialize) -> String {
    let text = serde_json::to_vec(record).unwrap_or_default();
    digest_of_bytes(&text)
}

/// What is known so far.
struct Maker<P> {
    put: P,
    pages: Vec<String>,
    entries: Vec<Entry>,
    unread: Vec<Unread>,
    /// Files that are no records of Hocket.
    passed_over: usize,
    /// Which file has a record, by its digest or by the id of its run.
    seen: BTreeMap<String, String>,
}

impl<E, P: FnMut(&str, &str) -> Result<(), E>> Maker<P> {
    fn new(put: P) -> Maker<P> {
        let (pages, entries, unread) = (Vec::new(), Vec::new(), Vec::new());
        Maker { put, pages, entries, unread, passed_over: 0, seen: BTreeMap::new() }
    }

    fn page(&mut self, name: &str, text: &str) -> Result<(), E> {
        (self.put)(name, text)?;
        self.pages.push(name.into());
        Ok(())
    }

    fn refuse(&mut self, file: &Candidate, why: impl ToString) {
        let why = why.to_string();
        let own = format!("{}:", file.path.display());
        let why = why.strip_prefix(&own).map_or(why.as_str(), str::trim_start).to_string();
        self.unread.push(Unread { shown: file.shown.clone(), why });
    }

    /// Whether this is the first with the key; a later one is listed as a copy.
    fn is_new(&mut self, file: &Candidate, key: String) -> bool {
        if let Some(first) = self.seen.get(&key) {
            let why = format!("the same record as {first}; listed once");
            self.refuse(file, why);
            return false;
        }
        self.seen.insert(key, file.shown.clone());
        true
    }

    fn read(&mut self, file: &Candidate) -> Result<(), E> {
        if let Some(most) = file.kind.too_large(file.bytes) {
            let why = format!("larger than {} MiB, the most that a site reads", most >> 20);
            self.refuse(file, why);
            return Ok(());
        }
        match file.kind {
            search::Kind::Json => self.read_json(file),
            search::Kind::Lab => self.read_lab(file),
            search::Kind::Page => self.read_page(file),
        }
    }

    fn read_json(&mut self, file: &Candidate) -> Result<(), E> {
        let text = match hocket_files::read_text(&file.path, search::MOST_JSON) {
            Ok(text) => text,
            Err(cause) => {
                self.refuse(file, format!("cannot be read: {cause}"));
                return Ok(());
            }
        };
        if !other_entry::is_ours(&text) {
            self.passed_over += 1;
            return Ok(());
        }
        match other_entry::format_of(&text) {
            // What is broken gets the words of the reader that knows it best.
            None => self.read_bench(file, &text),
            Some(format) if format.starts_with("hocket-bench/") => self.read_bench(file, &text),
            Some(format) => self.read_other(file, &text, &format),
        }
    }

    fn read_bench(&mut self, file: &Candidate, text: &[u8]) -> Result<(), E> {
        let record = match BenchRecord::parse(text, &file.path) {
            Ok(record) => record,
            Err(why) => {
                self.refuse(file, why);
                return Ok(());
            }
        };
        let digest = canonical(&record);
        if !self.is_new(file, digest.clone()) {
            return Ok(());
        }
        let (entry, page) = bench_entry::of(&record, file, &digest);
        self.page(&entry.page, &page)?;
        self.entries.push(entry);
        Ok(())
    }

    fn read_other(&mut self, file: &Candidate, text: &[u8], format: &str) -> Result<(), E> {
        let value: serde_json::Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(cause) => {
                self.refuse(file, format!("damaged: {cause}"));
                return Ok(());
            }
        };
        let digest = canonical(&value);
        let key = other_entry::run_of(&value).unwrap_or_else(|| digest.clone());
        if !self.is_new(file, key) {
            return Ok(());
        }
        let (entry, page) = other_entry::of(&value, format, file, &digest);
        self.page(&entry.page, &page)?;
        self.entries.push(entry);
        Ok(())
    }

    fn read_lab(&mut self, file: &Candidate) -> Result<(), E> {
        let runs = match Store::open(&file.path).and_then(|store| Ok((store.runs()?, store))) {
            Ok(runs) => runs,
            // A file of some other program.
            Err(StoreError::NotARecord { .. }) => {
                self.passed_over += 1;
                return Ok(());
            }
            Err(why) => {
                // What to do then is said to those who measure; here the reason is enough.
                let why = why.to_string();
                self.refuse(file, why.split(';').next().unwrap_or_default());
                return Ok(());
            }
        };
        let (runs, store) = runs;
        for run in &runs {
            if !self.is_new(file, run.uuid.clone()) {
                continue;
            }
            match lab_entry::of(&store, run, file) {
                Ok((entry, page)) => {
                    self.page(&entry.page, &page)?;
                    self.entries.push(entry);
                }
                Err(why) => self.refuse(file, format!("run {}: {why}", run.run)),
            }
        }
        Ok(())
    }

    /// A trace is copied, so that the site has it wherever it goes. Other pages are made anew from their records.
    fn read_page(&mut self, file: &Candidate) -> Result<(), E> {
        let text = match hocket_files::read_text(&file.path, search::MOST_PAGE) {
            Ok(text) => text,
            Err(_) => {
                self.passed_over += 1;
                return Ok(());
            }
        };
        let (entry, page) = match other_entry::trace(&text, file) {
            Some(Ok(trace)) => trace,
            Some(Err(why)) => {
                self.refuse(file, why);
                return Ok(());
            }
            None => {
                self.passed_over += 1;
                return Ok(());
            }
        };
        if !self.is_new(file, digest_of_bytes(page.as_bytes())) {
            return Ok(());
        }
        self.page(&entry.page, page)?;
        self.entries.push(entry);
        Ok(())
    }

    fn finish(mut self, stopped: Option<String>) -> Result<Made, E> {
        let mut entries = std::mem::take(&mut self.entries);
        // Those without a date come last, in the order of their names.
        entries.sort_by(|a, b| {
            let date = |entry: &Entry| (entry.seconds().is_none(), entry.seconds());
            date(a).cmp(&date(b)).then_with(|| a.shown.cmp(&b.shown))
        });
        let mut pairs = Vec::new();
        for (name, text, pair) in changes::pages(&entries) {
            if let Some(text) = text {
                self.page(&name, &text)?;
            }
            pairs.push(pair);
        }
        let pages = [
            (frame::Place::Trends, trends::page(&entries, &pairs)),
            (frame::Place::Capacity, capacity_page::page(&entries)),
            (frame::Place::Compare, picker::page(&entries, &pairs)),
        ];
        for (place, text) in &pages {
            self.page(place.file(), text)?;
        }
        let list = index::List {
            entries: &entries,
            unread: &self.unread,
            passed_over: self.passed_over,
            stopped,
        };
        let text = list.page();
        self.page(INDEX, &text)?;
        let is_record = |entry: &&Entry| !matches!(entry.detail, Detail::Trace);
        Ok(Made {
            records: entries.iter().filter(is_record).count(),
            machines: identity::machines(&entries).len(),
            unread: self.unread.len(),
            pages: self.pages,
        })
    }
}
