//! Tracepoints: their numbers, and where their records have which field.
//!
//! The kernel says both in a text file per tracepoint (`events/sched/sched_waking/format`) of the file system tracefs.
//! The places of the fields differ between kernels, so they are read and never assumed.

use std::path::{Path, PathBuf};

use super::records::take;
use crate::kernel_files::KernelFiles;

/// What a tracepoint said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traced {
    /// A thread is woken up; by the current thread, unless an interrupt does it.
    Waking { tid: i32, by_interrupt: bool },
    /// A thread will run on another CPU.
    Moved { tid: i32, from: u32, to: u32 },
    /// An interrupt begins, or ends.
    Interrupt { number: i32, begins: bool },
    /// Work that an interrupt has put off begins, or ends.
    Deferred { number: i32, begins: bool },
}

/// A tracepoint that is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    Waking,
    WakingNew,
    Moved,
    InterruptBegins,
    InterruptEnds,
    DeferredBegins,
    DeferredEnds,
}

impl Point {
    /// Who wakes whom, and who is moved.
    pub const THREADS: [Self; 3] = [Self::Waking, Self::WakingNew, Self::Moved];
    /// Interrupts.
    pub const INTERRUPTS: [Self; 4] =
        [Self::InterruptBegins, Self::InterruptEnds, Self::DeferredBegins, Self::DeferredEnds];

    /// Its folder, below `events`.
    pub fn path(self) -> &'static str {
        match self {
            // Not sched_wakeup: the woken CPU may write that one, and then the current thread is not who woke.
            Self::Waking => "sched/sched_waking",
            Self::WakingNew => "sched/sched_wakeup_new",
            Self::Moved => "sched/sched_migrate_task",
            Self::InterruptBegins => "irq/irq_handler_entry",
            Self::InterruptEnds => "irq/irq_handler_exit",
            Self::DeferredBegins => "irq/softirq_entry",
            Self::DeferredEnds => "irq/softirq_exit",
        }
    }

    /// The fields that are read.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Waking | Self::WakingNew => &["pid"],
            Self::Moved => &["pid", "orig_cpu", "dest_cpu"],
            Self::InterruptBegins | Self::InterruptEnds => &["irq"],
            Self::DeferredBegins | Self::DeferredEnds => &["vec"],
        }
    }
}

/// A place in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// The number there. Fields of other sizes are not asked for.
    fn of(self, bytes: &[u8]) -> Option<i32> {
        match self.size {
            1 => bytes.get(self.offset).map(|byte| i32::from(*byte)),
            2 => take(bytes, self.offset).map(|two| i32::from(u16::from_ne_bytes(two))),
            4 => take(bytes, self.offset).map(i32::from_ne_bytes),
            _ => None,
        }
    }
}

/// What one tracepoint writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    point: Point,
    /// The number by which the kernel knows it.
    pub number: u64,
    flags: Field,
    fields: Vec<Field>,
}

/// Bits of `common_flags`: an interrupt runs, or what it has put off, or one that nothing masks.
const IN_INTERRUPT: i32 = 0x08 | 0x10 | 0x40;

impl Format {
    /// From the text of the kernel's file.
    fn parse(point: Point, text: &str) -> Result<Format, String> {
        let missing = |what: &str| format!("the format of {} has no {what}", point.path());
        let number = text.lines().find_map(|line| line.strip_prefix("ID:"));
        let number = number.and_then(|number| number.trim().parse().ok());
        let field = |name: &str| field(text, name).ok_or_else(|| missing(&format!("field {name}")));
        Ok(Format {
            point,
            number: number.ok_or_else(|| missing("ID"))?,
            flags: field("common_flags")?,
            fields: point.fields().iter().map(|name| field(name)).collect::<Result<_, _>>()?,
        })
    }

    fn read(&self, raw: &[u8]) -> Option<Traced> {
        let number = |index: usize| self.fields.get(index)?.of(raw);
        let cpu = |index: usize| u32::try_from(number(index)?).ok();
        Some(match self.point {
            Point::Waking | Point::WakingNew => Traced::Waking {
                tid: number(0)?,
                by_interrupt: self.flags.of(raw)? & IN_INTERRUPT != 0,
            },
            Point::Moved => Traced::Moved { tid: number(0)?, from: cpu(1)?, to: cpu(2)? },
            Point::InterruptBegins => Traced::Interrupt { number: number(0)?, begins: true },
            Point::InterruptEnds => Traced::Interrupt { number: number(0)?, begins: false },
            Point::DeferredBegins => Traced::Deferred { number: number(0)?, begins: true },
            Point::DeferredEnds => Traced::Deferred { number: number(0)?, begins: false },
        })
    }
}

/// The field `name` in a line such as `field:pid_t pid; offset:24; size:4; signed:1;`.
fn field(text: &str, name: &str) -> Option<Field> {
    text.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?.rsplit(' ').next()?;
        let mut value = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
        (declared == name)
            .then(|| Some(Field { offset: value("offset:")?, size: value("size:")? }))?
    })
}

/// The formats of the tracepoints that are watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Formats(Vec<Format>);

impl Formats {
    /// Those of `points`.
    ///
    /// # Errors
    /// In words: tracefs cannot be read, or this kernel's tracepoint has no such field.
    pub fn find(points: &[Point]) -> Result<Formats, String> {
        let files = KernelFiles::live();
        let root = root(&files)?;
        let format = |point: &Point| {
            let path = root.join("events").join(point.path()).join("format");
            Format::parse(*point, &files.text(&relative(&path))?)
        };
        points.iter().map(format).collect::<Result<_, _>>().map(Formats)
    }

    /// Adds others.
    pub fn extend(&mut self, more: Formats) {
        self.0.extend(more.0);
    }

    /// Each format.
    pub fn each(&self) -> impl Iterator<Item = &Format> {
        self.0.iter()
    }

    /// What a tracepoint wrote. The first field of all is its number.
    pub fn read(&self, raw: &[u8]) -> Option<Traced> {
        let number = u64::from(u16::from_ne_bytes(take(raw, 0)?));
        self.0.iter().find(|format| format.number == number)?.read(raw)
    }
}

/// The folder where tracefs is mounted.
fn root(files: &KernelFiles) -> Result<PathBuf, String> {
    let mounts = files.text("proc/self/mounts")?;
    mounted(&mounts).ok_or_else(|| {
        "tracefs is not mounted; as root: mount -t tracefs nodev /sys/kernel/tracing".to_owned()
    })
}

/// The first place with tracefs in the text of `/proc/self/mounts`. Blanks in names of folders are written as `\040`.
fn mounted(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let folder = words.next()?;
        (words.next()? == "tracefs").then(|| PathBuf::from(folder.replace("\\040", " ")))
    })
}

fn relative(path: &Path) -> String {
    path.strip_prefix("/").unwrap_or(path).display().to_string()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// As one kernel writes it; another one may have other places.
    const WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";

    pub fn waking() -> Formats {
        Formats(vec![Format::parse(Point::Waking, WAKING).unwrap()])
    }

    /// What that kernel would write.
    pub fn raw(flags: u8, tid: i32) -> Vec<u8> {
        let mut raw = vec![0; 36];
        raw[..2].copy_from_slice(&375_u16.to_ne_bytes());
        raw[2] = flags;
        raw[24..28].copy_from_slice(&tid.to_ne_bytes());
        raw
    }

    #[test]
    fn fields_are_read_where_the_kernel_says() {
        let formats = waking();
        let thread = Traced::Waking { tid: 4711, by_interrupt: false };
        assert_eq!(formats.read(&raw(0x01, 4711)), Some(thread));
        let timer = Traced::Waking { tid: 4711, by_interrupt: true };
        assert_eq!(formats.read(&raw(0x08, 4711)), Some(timer));
        let other = [9_u8; 36];
        assert_eq!(formats.read(&other), None);
        assert_eq!(formats.read(&raw(0, 1)[..26]), None, "cut short");
        let moved = WAKING.replace("offset:24;\tsize:4", "offset:28;\tsize:4");
        let moved = Formats(vec![Format::parse(Point::Waking, &moved).unwrap()]);
        assert_eq!(moved.read(&raw(0, 4711)), Some(Traced::Waking { tid: 0, by_interrupt: false }));
    }

    #[test]
    fn a_format_without_a_field_says_which() {
        let why = Format::parse(Point::Moved, WAKING).unwrap_err();
        assert!(why.contains("sched_migrate_task") && why.contains("orig_cpu"), "{why}");
        let why = Format::parse(Point::Waking, "").unwrap_err();
        assert!(why.contains("common_flags") || why.contains("ID"), "{why}");
    }

    #[test]
    fn tracefs_is_found_where_it_is_mounted() {
        let mounts = "proc /proc proc rw 0 0\nnodev /mnt/my\\040traces tracefs rw 0 0\n";
        assert_eq!(mounted(mounts), Some(PathBuf::from("/mnt/my traces")));
        assert_eq!(mounted("tracefs /proc proc rw 0 0\n"), None);
    }
}
