//! Any question in SQL.

use rusqlite::ErrorCode;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::{Store, StoreError};

/// What a question came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows; numbers, texts and nulls.
    pub rows: Vec<Vec<Value>>,
}

impl Store {
    /// Asks the file. Nothing is changed, neither this file nor another one.
    ///
    /// # Errors
    /// [`StoreError::Query`], [`StoreError::NotAQuestion`], [`StoreError::TooMuch`].
    pub fn query(&self, sql: &str) -> Result<Table, StoreError> {
        self.only_asks(sql)?;
        let ask = || {
            let mut statement = self.connection.prepare(sql)?;
            let columns: Vec<String> = statement.column_names().map(str::to_string).collect();
            let width = columns.len();
            let row =
                |row: &rusqlite::Row<'_>| (0..width).map(|at| row.get_ref(at).map(value)).collect();
            let rows = statement.query_map([], row)?.collect::<Result<_, _>>()?;
            Ok(Table { columns, rows })
        };
        ask().map_err(misunderstood)
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
