//! Any question in SQL.

use std::ops::ControlFlow;

use rusqlite::ErrorCode;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::{Store, StoreError};

/// What takes the rows of an answer one after another. `Break` ends the answer early, which is no error.
pub trait TakeRows {
    /// The names of the columns come first.
    fn columns(&mut self, names: Vec<String>) -> ControlFlow<()>;

    /// A row: numbers, texts and nulls.
    fn row(&mut self, row: Vec<Value>) -> ControlFlow<()>;
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows; numbers, texts and nulls.
    pub rows: Vec<Vec<Value>>,
}

impl TakeRows for Table {
    fn columns(&mut self, names: Vec<String>) -> ControlFlow<()> {
        self.columns = names;
        ControlFlow::Continue(())
    }

    fn row(&mut self, row: Vec<Value>) -> ControlFlow<()> {
        self.rows.push(row);
        ControlFlow::Continue(())
    }
}

impl Store {
    /// Asks the file, and holds the whole answer. Nothing is changed, neither this file nor another one.
    ///
    /// # Errors
    /// As [`Store::ask`].
    pub fn query(&self, sql: &str) -> Result<Table, StoreError> {
        let mut table = Table::default();
        self.ask(sql, &mut table)?;
        Ok(table)
    }

    /// Asks the file, and hands each row on as it comes. Nothing is changed, neither this file nor another one.
    ///
    /// Memory: one row, and what SQLite needs to find the rows.
    ///
    /// # Errors
    /// [`StoreError::Query`], [`StoreError::NotAQuestion`], [`StoreError::TooMuch`]; `into` may have got rows before.
    pub fn ask(&self, sql: &str, into: &mut dyn TakeRows) -> Result<(), StoreError> {
        self.only_asks(sql)?;
        let mut statement = self.connection.prepare(sql).map_err(misunderstood)?;
        let names: Vec<String> = statement.column_names().map(str::to_string).collect();
        let width = names.len();
        let mut rows = statement.query([]).map_err(misunderstood)?;
        let mut flow = into.columns(names);
        while flow.is_continue() {
            let Some(row) = rows.next().map_err(misunderstood)? else { break };
            let cells = (0..width).map(|at| row.get_ref(at).map(value)).collect::<Result<_, _>>();
            flow = into.row(cells.map_err(misunderstood)?);
        }
        Ok(())
    }

    /// A file that is opened to be read can still be copied to another one (`VACUUM INTO`), or have
    /// one attached.
    fn only_asks(&self, sql: &str) -> Result<(), StoreError> {
        let statement = self.connection.prepare(sql).map_err(misunderstood)?;
        match statement.readonly() && statement.column_count() > 0 {
            true => Ok(()),
            false => Err(StoreError::NotAQuestion),
        }
    }
}

fn misunderstood(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OutOfMemory) => StoreError::TooMuch,
        _ => StoreError::Query { cause: error.to_string() },
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()).into(),
    }
}
