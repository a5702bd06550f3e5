//! Rows as an Apache Parquet file, for programs that read columns.
//!
//! Columns have the names and types of the table `rows`: INTEGER is a 64-bit integer, REAL a double, TEXT
//! a string in UTF-8, and what is NULL there is null here; `warm_up`, 0 or 1 there, is a boolean. Rows are read and
//! written in groups, so a record of any length needs the memory of one group.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;
use rusqlite::types::ValueRef;

use super::export::selection;
use super::new_file::{NewFile, failed};
use super::{Store, StoreError, schema};

/// Rows of a group. Readers take a group a thread and skip groups by their smallest and largest values;
/// this is large enough for both and about 20 MB of memory.
const GROUP: usize = 1 << 16;

/// Columns of 0 and 1 that stand for no and yes.
const BOOLEANS: [&str; 1] = ["warm_up"];

impl Store {
    /// Writes every figure of a run, or of all runs, to `out`, a new file, and tells how many rows it has.
    ///
    /// Thread: control; does file I/O. Cost: every row is read and written once; the memory of 65 536 rows.
    ///
    /// # Errors
    /// [`StoreError`]; `out` does not exist then, unless it was there before.
    pub fn write_parquet(&self, run: Option<i64>, out: &Path) -> Result<u64, StoreError> {
        let mut new = NewFile::beside(out)?;
        let rows = self.fill(run, new.file()).map_err(|error| match error {
            Error::Read(error) => self.failure(error),
            Error::Write(error) => failed(out, as_io(error)),
        })?;
        new.finish()?;
        Ok(rows)
    }

    fn fill(&self, run: Option<i64>, file: &File) -> Result<u64, Error> {
        let mut columns = self.columns()?;
        let mut writer = begin(file, &columns)?;
        let mut statement = self.connection.prepare(&selection(run))?;
        let (mut rows, mut count) = (statement.query([])?, 0);
        while let Some(row) = rows.next()? {
            for (at, column) in columns.iter_mut().enumerate() {
                column.push(at, row.get_ref(at)?)?;
            }
            count += 1;
            if count % GROUP as u64 == 0 {
                flush(&mut writer, &mut columns)?;
            }
        }
        if count % GROUP as u64 != 0 {
            flush(&mut writer, &mut columns)?;
        }
        finish(writer)?;
        Ok(count)
    }

    /// The columns of [`selection`].
    fn columns(&self) -> rusqlite::Result<Vec<Column>> {
        let of_run = ["uuid", "started_at", "host"].map(|name| Column::new(name, "TEXT", true));
        let sql = "SELECT name, type, \"notnull\" FROM pragma_table_info('rows') ORDER BY cid";
        let mut statement = self.connection.prepare(sql)?;
        let of_rows = statement.query_map([], |row| {
            let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
            Ok(Column::new(&name, &kind, row.get(2)?))
        })?;
        let of_job = Column::new("job_host", "TEXT", false);
        of_run.into_iter().map(Ok).chain(of_rows).chain([Ok(of_job)]).collect()
    }
}

/// A column of the group that is being collected.
struct Column {
    name: String,
    required: bool,
    cells: Cells,
    /// For each row 1 where there is a value and 0 where there is none; empty in a required column.
    levels: Vec<i16>,
}

enum Cells {
    Booleans(Vec<bool>),
    Integers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<ByteArray>),
}

impl Column {
    fn new(name: &str, kind: &str, required: bool) -> Column {
        let cells = match kind {
            "INTEGER" if BOOLEANS.contains(&name) => Cells::Booleans(Vec::new()),
            "INTEGER" => Cells::Integers(Vec::new()),
            "REAL" => Cells::Reals(Vec::new()),
            _ => Cells::Texts(Vec::new()),
        };
        Column { name: name.into(), required, cells, levels: Vec::new() }
    }

    fn push(&mut self, at: usize, value: ValueRef<'_>) -> rusqlite::Result<()> {
        if !self.required {
            self.levels.push(i16::from(!matches!(value, ValueRef::Null)));
        }
        match (&mut self.cells, value) {
            (_, ValueRef::Null) if !self.required => {}
            (Cells::Booleans(cells), ValueRef::Integer(number)) => cells.push(number != 0),
            (Cells::Integers(cells), ValueRef::Integer(number)) => cells.push(number),
            (Cells::Reals(cells), ValueRef::Real(number)) => cells.push(number),
            (Cells::Texts(cells), ValueRef::Text(text)) => {
                cells.push(String::from_utf8_lossy(text).into_owned().into_bytes().into());
            }
            (_, other) => {
                let name = self.name.clone();
                return Err(rusqlite::Error::InvalidColumnType(at, name, other.data_type()));
            }
        }
        Ok(())
    }

    fn kind(&self) -> Result<Type, ParquetError> {
        let (physical, logical) = match self.cells {
            Cells::Booleans(_) => (Physical::BOOLEAN, None),
            Cells::Integers(_) => (Physical::INT64, None),
            Cells::Reals(_) => (Physical::DOUBLE, None),
            Cells::Texts(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if self.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        Type::primitive_type_builder(&self.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }

    /// Writes what was collected and begins anew.
    fn flush(&mut self, mut out: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = (!self.required).then_some(&self.levels[..]);
        match &mut self.cells {
            Cells::Booleans(cells) => out.typed::<BoolType>().write_batch(cells, levels, None)?,
            Cells::Integers(cells) => out.typed::<Int64Type>().write_batch(cells, levels, None)?,
            Cells::Reals(cells) => out.typed::<DoubleType>().write_batch(cells, levels, None)?,
            Cells::Texts(cells) => out.typed::<ByteArrayType>().write_batch(cells, levels, None)?,
        };
        self.clear();
        out.close()
    }

    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.cells {
            Cells::Booleans(cells) => cells.clear(),
            Cells::Integers(cells) => cells.clear(),
            Cells::Reals(cells) => cells.clear(),
            Cells::Texts(cells) => cells.clear(),
        }
    }
}

type Writer<'a> = SerializedFileWriter<BufWriter<&'a File>>;

fn begin<'a>(file: &'a File, columns: &[Column]) -> Result<Writer<'a>, ParquetError> {
    let fields = columns.iter().map(|column| column.kind().map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let kind = Type::group_type_builder("rows").with_fields(fields).build()?;
    let format = KeyValue::new("hocket.format".into(), schema::VERSION.to_string());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("hocket version ", env!("CARGO_PKG_VERSION")).into())
        .set_key_value_metadata(Some(vec![format]))
        .build();
    SerializedFileWriter::new(BufWriter::new(file), Arc::new(kind), Arc::new(properties))
}

fn flush(writer: &mut Writer<'_>, columns: &mut [Column]) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        if let Some(out) = group.next_column()? {
            column.flush(out)?;
        }
    }
    group.close().map(drop)
}

/// The end of the file, and what the buffer still holds: dropping it would keep quiet about a full disk.
fn finish(writer: Writer<'_>) -> Result<(), ParquetError> {
    Ok(writer.into_inner()?.flush()?)
}

/// Which side failed.
enum Error {
    Read(rusqlite::Error),
    Write(ParquetError),
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Read(error)
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        Error::Write(error)
    }
}

/// What the system said, where it was the system.
fn as_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests;
