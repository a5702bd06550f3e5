//! Which run is meant.

use super::{RunRecord, Store, StoreError};

impl Store {
    /// The run that `asked` names: its number, the beginning of its uuid, `last`, `last~1` and so on,
    /// or the beginning of its date (the last run of that day, hour or minute).
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`] with what there is, or why the file cannot be read.
    pub fn choose(&self, asked: &str) -> Result<RunRecord, StoreError> {
        let mut runs = self.runs()?;
        match position(&runs, asked) {
            Some(at) => Ok(runs.swap_remove(at)),
            None => Err(StoreError::NoSuchRun {
                path: self.path.clone(),
                asked: asked.into(),
                remedy: remedy(&runs),
            }),
        }
    }
}

fn position(runs: &[RunRecord], asked: &str) -> Option<usize> {
    if let Some(back) = back(asked) {
        return runs.len().checked_sub(back + 1);
    }
    let number = asked.parse::<i64>().ok();
    let by_number = runs.iter().position(|run| Some(run.run) == number);
    let by_date =
        || runs.iter().rposition(|run| asked.len() >= 7 && run.started_at.starts_with(asked));
    let by_uuid = || runs.iter().position(|run| asked.len() >= 4 && run.uuid.starts_with(asked));
    by_number.or_else(by_date).or_else(by_uuid)
}

/// How many runs back from the last: `last` 0, `last~2` 2.
fn back(asked: &str) -> Option<usize> {
    match asked.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

fn remedy(runs: &[RunRecord]) -> String {
    match (runs.first(), runs.last()) {
        (Some(first), Some(last)) => format!(
            "it has runs {} to {}, begun {} to {}; give a number, a date, the beginning of an id, 'last' or 'last~1'",
            first.run, last.run, first.started_at, last.started_at
        ),
        _ => "it has no runs yet; `hocket lab run` makes one".into(),
    }
}
