//! Every command of the pages and of the help runs as it stands there, in a fresh folder.
//!
//! The pages are README.md, CONTRIBUTING.md and those of docs/. Lines of blocks, and text between back quotes, that begin
//! with the name of a program are commands, and so are the examples of every `--help`. The commands of a page run in
//! their order in one folder, those of a help page in another one that has what they read. These do not run as written:
//!
//! - What takes long runs with less time, and what names something of the reader's may run with what is here. The test
//!   prints both forms.
//! - What cannot run here is skipped. The test prints the reason.
//! - Of `make` and `cargo` the test looks up what they name: their builds and benchmarks take minutes.
//! - Of forms (`hocket recover FILE`) and names (`hocket play`) it looks up command and options.
//!
//! Even what is skipped has arguments that the program understands. A line of a table that stands for no command fails
//! the test, so the tables never outlive the pages.

mod pages;
mod ways;
mod builds;
mod folders;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use folders::{fresh_folder, help_folder, in_shell};
use ways::Way;

const TEST: &str = "every_command_of_the_pages_runs_as_written";

/// Pages at a time. Much of what they run waits, for a clock or for a share of a busy machine.
const AT_A_TIME: usize = 3;

/// Slower commands are printed with their time: candidates for a shorter form.
const SLOW: Duration = Duration::from_secs(10);

/// What is run for one page, in one folder.
struct Page {
    /// The command whose help it is.
    help: Option<String>,
    commands: Vec<String>,
}

impl Page {
    /// What went wrong.
    fn run(&self) -> Vec<String> {
        let folder = self.help.as_deref().map_or_else(fresh_folder, help_folder);
        let run = |command: &String| {
            let begun = Instant::now();
            let ran = in_shell(folder.path(), command);
            if begun.elapsed() > SLOW {
                println!("`{command}` took {:.0} s", begun.elapsed().as_secs_f64());
            }
            let (code, out, err) = (ran.code, &ran.out, &ran.err);
            (!ways::is_as_told(command, &ran))
                .then(|| format!("`{command}` ends with {code:?}:\n{out}{err}"))
        };
        self.commands.iter().filter_map(run).collect()
    }
}

/// What is done with all commands, and what is wrong with those that are not run.
#[derive(Default)]
struct Plan {
    pages: Vec<Page>,
    seen: Vec<String>,
    as_written: usize,
    shorter: usize,
    looked_up: usize,
    skipped: usize,
    failures: Vec<String>,
}

impl Plan {
    fn of_everything() -> Plan {
        let mut plan = Plan::default();
        for page in pages::pages() {
            let text = std::fs::read_to_string(&page).unwrap();
            plan.failures.extend(pages::escaped(&text).into_iter().map(|line| {
                let name = page.file_name().unwrap().display();
                format!("{name}: `{line}` has a program that pages.rs does not know: name it there")
            }));
            plan.add(None, pages::commands(&text));
        }
        let of_pages = plan.seen.clone();
        for (name, mut examples) in pages::helps() {
            // A page shows that the others run.
            examples.retain(|example| !of_pages.contains(example));
            plan.add(Some(name), examples);
        }
        plan
    }

    fn add(&mut self, help: Option<String>, commands: Vec<String>) {
        let commands: Vec<String> =
            commands.into_iter().filter_map(|command| self.take(command)).collect();
        if !commands.is_empty() {
            self.pages.push(Page { help, commands });
        }
    }

    /// What is run for a command.
    fn take(&mut self, command: String) -> Option<String> {
        if !self.seen.contains(&command) {
            self.seen.push(command.clone());
        } else if !ways::is_read_later(&command) {
            return None;
        }
        match ways::way(&command) {
            Way::LookedUp(missing) => {
                self.looked_up += 1;
                if !missing.is_empty() {
                    self.failures.push(format!("`{command}`: not there: {}", missing.join(", ")));
                }
                None
            }
            Way::Skipped(why) => {
                println!("SKIPPED {TEST}: `{command}`: {why}");
                self.skipped += 1;
                let error = ways::misunderstood(&command);
                self.failures.extend(error.map(|error| format!("`{command}`: {error}")));
                None
            }
            Way::Shorter(shorter) => {
                println!("`{command}` is run as `{shorter}`");
                self.shorter += 1;
                Some(shorter)
            }
            Way::AsWritten => {
                self.as_written += 1;
                Some(command)
            }
        }
    }

    /// Runs the pages side by side: what went wrong.
    fn run(&self) -> Vec<String> {
        let next = AtomicUsize::new(0);
        let run_some = || {
            let pages = std::iter::from_fn(|| self.pages.get(next.fetch_add(1, Relaxed)));
            pages.flat_map(Page::run).collect::<Vec<_>>()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(run_some)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// Lines of tables that stand for no command.
    fn gone(&self) -> Vec<&'static str> {
        let is_gone =
            |known: &&str| !self.seen.iter().any(|command| ways::begins_with(command, known));
        ways::tables().filter(is_gone).collect()
    }
}

#[test]
fn every_command_of_the_pages_runs_as_written() {
    let plan = Plan::of_everything();
    println!(
        "{} run as written, {} in another form, {} looked up, {} skipped",
        plan.as_written, plan.shorter, plan.looked_up, plan.skipped
    );
    assert!(plan.failures.is_empty(), "{}", plan.failures.join("\n"));
    assert!(plan.as_written >= 80, "only {} commands run as written", plan.as_written);
    assert_eq!(plan.gone(), [""; 0], "no longer in the pages");
    let failures = plan.run();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
