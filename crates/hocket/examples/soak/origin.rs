//! Where a record comes from: program, machine, command and time, as other records say it.

use std::path::Path;

use hocket_lab::about;
use hocket_machine::Topology;
use serde_json::{Value, json};

/// All of it but the end.
pub struct Origin {
    machine: Value,
    started_at: String,
}

impl Origin {
    /// Of a run that begins now.
    ///
    /// # Errors
    /// The machine cannot be described.
    pub fn here() -> Result<Origin, String> {
        let topology = Topology::discover().map_err(|error| error.to_string())?;
        Ok(Origin { machine: about::machine(&topology), started_at: about::now() })
    }

    /// Puts it into a record that is complete now.
    pub fn put_into(&self, record: &mut Value) {
        record["hocket"] = json!(about::build());
        record["machine"] = self.machine.clone();
        record["command"] = command().into();
        record["started_at"] = self.started_at.clone().into();
        record["finished_at"] = about::now().into();
    }
}

/// The words of the command. Of the program's own path only the name, which is the same everywhere.
fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(program) = words.first_mut() {
        let name = Path::new(program.as_str()).file_name();
        *program = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    }
    words.join(" ")
}
