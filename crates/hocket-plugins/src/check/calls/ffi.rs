//! The watched functions, and the loader's tables in which they stand.
//!
//! The SAFETY comments cite these invariants:
//!
//! - **Types.** Each function has the type of the C library's headers. `open` takes more arguments there for some flags; it
//!   gets three here, which on the supported machines are passed like those.
//! - **As called.** A watched function passes its caller's arguments on, so what the caller promised holds.
//! - **Loader.** The loader describes each object by program headers, and by a dynamic section whose tables it has mapped. The
//!   object stays loaded while the loader's own iteration shows it.
//! - **Table entry.** A relocation of the two kinds below names a word that holds the address of a function of the name that
//!   its symbol has. The word is aligned; another thread that calls through it finds the old or the new address.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{Purpose, note};

macro_rules! watched {
    ($($purpose:ident $name:ident ($($symbol:literal)|+) ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        mod real {
            use super::*;
            unsafe extern "C" {
                $(pub fn $name($($argument: $type),*) $(-> $result)?;)*
            }
        }

        #[allow(non_camel_case_types)]
        enum Index {
            $($name,)*
        }

        mod seen {
            use super::*;
            $(
                pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                    note(Index::$name as usize);
                    // SAFETY: Types, As called.
                    unsafe { real::$name($($argument),*) }
                }
            )*
        }

        /// The functions, in the order of their counts.
        pub const WATCHED: &[(&str, Purpose)] = &[$((stringify!($name), Purpose::$purpose)),*];

        /// What stands in for the function of this name.
        fn stand_in(symbol: &[u8]) -> Option<usize> {
            $(
                if [$($symbol.as_bytes()),+].contains(&symbol) {
                    return Some(seen::$name as *const () as usize);
                }
            )*
            None
        }
    };
}

watched! {
    Memory malloc("malloc")(bytes: usize) -> *mut c_void;
    Memory calloc("calloc")(count: usize, bytes: usize) -> *mut c_void;
    Memory realloc("realloc")(old: *mut c_void, bytes: usize) -> *mut c_void;
    Memory free("free")(memory: *mut c_void);
    Memory posix_memalign("posix_memalign")(to: *mut *mut c_void, align: usize, bytes: usize) -> c_int;
    Memory aligned_alloc("aligned_alloc")(align: usize, bytes: usize) -> *mut c_void;
    Lock pthread_mutex_lock("pthread_mutex_lock")(lock: *mut c_void) -> c_int;
    Lock pthread_rwlock_rdlock("pthread_rwlock_rdlock")(lock: *mut c_void) -> c_int;
    Lock pthread_rwlock_wrlock("pthread_rwlock_wrlock")(lock: *mut c_void) -> c_int;
    Wait pthread_cond_wait("pthread_cond_wait")(condition: *mut c_void, lock: *mut c_void) -> c_int;
    Wait pthread_cond_timedwait("pthread_cond_timedwait")(condition: *mut c_void, lock: *mut c_void, time: *const c_void) -> c_int;
    Wait sem_wait("sem_wait")(semaphore: *mut c_void) -> c_int;
    Wait nanosleep("nanosleep")(time: *const c_void, rest: *mut c_void) -> c_int;
    Wait clock_nanosleep("clock_nanosleep")(clock: c_int, flags: c_int, time: *const c_void, rest: *mut c_void) -> c_int;
    Wait usleep("usleep")(time: c_uint) -> c_int;
    Wait sleep("sleep")(time: c_uint) -> c_uint;
    Wait sched_yield("sched_yield")() -> c_int;
    Wait poll("poll")(files: *mut c_void, count: usize, limit: c_int) -> c_int;
    File open("open" | "open64")(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    File fopen("fopen" | "fopen64")(path: *const c_char, mode: *const c_char) -> *mut c_void;
    File read("read")(file: c_int, to: *mut c_void, bytes: usize) -> isize;
    File write("write")(file: c_int, from: *const c_void, bytes: usize) -> isize;
    File fread("fread")(to: *mut c_void, bytes: usize, count: usize, file: *mut c_void) -> usize;
    File fwrite("fwrite")(from: *const c_void, bytes: usize, count: usize, file: *mut c_void) -> usize;
    File fputs("fputs")(text: *const c_char, file: *mut c_void) -> c_int;
    File puts("puts")(text: *const c_char) -> c_int;
    File close("close")(file: c_int) -> c_int;
    File fclose("fclose")(file: *mut c_void) -> c_int;
    Thread pthread_create("pthread_create")(thread: *mut c_void, how: *const c_void, body: *mut c_void, argument: *mut c_void) -> c_int;
    Thread pthread_join("pthread_join")(thread: usize, result: *mut c_void) -> c_int;
    Thread dlopen("dlopen")(path: *const c_char, flags: c_int) -> *mut c_void;
}

/// Relocations that name the address of a function: `GLOB_DAT` and `JUMP_SLOT`. None: this machine is not supported.
#[cfg(target_arch = "x86_64")]
const OF_FUNCTIONS: [u32; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const OF_FUNCTIONS: [u32; 2] = [1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OF_FUNCTIONS: [u32; 0] = [];

/// Tags of the dynamic section (`elf.h`).
const PLT_BYTES: i64 = 2;
const STRINGS: i64 = 5;
const SYMBOLS: i64 = 6;
const RELOCATIONS: i64 = 7;
const RELOCATION_BYTES: i64 = 8;
const PLT: i64 = 23;

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: usize,
    info: u64,
    addend: i64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    bytes: usize,
}

/// Where the objects of this process are loaded.
pub fn loaded() -> Vec<usize> {
    let mut bases = Vec::new();
    for_each_object(&mut |object| bases.push(object.dlpi_addr as usize));
    bases
}

/// Watches the objects that were loaded since [`loaded`] returned `before`. Returns how many entries of tables it changed.
pub fn watch(before: &[usize]) -> usize {
    let mut changed = 0;
    for_each_object(&mut |object| {
        if !before.contains(&(object.dlpi_addr as usize)) {
            // SAFETY: Loader.
            changed += unsafe { watch_object(object) };
        }
    });
    changed
}

type Visit<'a> = &'a mut dyn FnMut(&libc::dl_phdr_info);

fn for_each_object(mut visit: Visit<'_>) {
    unsafe extern "C" fn each(
        object: *mut libc::dl_phdr_info,
        _: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: Loader; `for_each_object` passed the other one, and waits.
        let (visit, object) = unsafe { (&mut *visit.cast::<Visit<'_>>(), &*object) };
        visit(object);
        0
    }
    // SAFETY: Types; the loader calls `each` in this call only.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut visit).cast()) };
}

/// # Safety
/// Loader.
unsafe fn watch_object(object: &libc::dl_phdr_info) -> usize {
    let base = object.dlpi_addr as usize;
    // SAFETY: Loader.
    let headers = unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    let Some(dynamic) = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC) else {
        return 0;
    };
    // SAFETY: Loader.
    let tables = unsafe { Tables::of(base, (base + dynamic.p_vaddr as usize) as *const Dynamic) };
    if tables.strings == 0 || tables.symbols == 0 {
        return 0;
    }
    // SAFETY: Loader, for both.
    unsafe {
        tables.watch(tables.plt, tables.plt_bytes)
            + tables.watch(tables.relocations, tables.relocation_bytes)
    }
}

#[derive(Default)]
struct Tables {
    base: usize,
    strings: usize,
    symbols: usize,
    plt: usize,
    plt_bytes: usize,
    relocations: usize,
    relocation_bytes: usize,
}

impl Tables {
    /// # Safety
    /// Loader: entries up to one whose tag is 0.
    unsafe fn of(base: usize, mut entry: *const Dynamic) -> Tables {
        let mut tables = Tables { base, ..Tables::default() };
        // Some loaders leave addresses as they are in the file.
        let address = |value: usize| if value < base { base + value } else { value };
        loop {
            // SAFETY: the caller's promise.
            let Dynamic { tag, value } = *unsafe { &*entry };
            match tag {
                0 => return tables,
                STRINGS => tables.strings = address(value),
                SYMBOLS => tables.symbols = address(value),
                PLT => tables.plt = address(value),
                PLT_BYTES => tables.plt_bytes = value,
                RELOCATIONS => tables.relocations = address(value),
                RELOCATION_BYTES => tables.relocation_bytes = value,
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
    }

    /// # Safety
    /// Loader.
    unsafe fn watch(&self, first: usize, bytes: usize) -> usize {
        if first == 0 {
            return 0;
        }
        let count = bytes / size_of::<Relocation>();
        // SAFETY: the caller's promise.
        let relocations = unsafe { std::slice::from_raw_parts(first as *const Relocation, count) };
        // SAFETY: the caller's promise.
        let change = |relocation: &&Relocation| unsafe { self.change(relocation) };
        relocations.iter().filter(change).count()
    }

    /// # Safety
    /// Loader.
    unsafe fn change(&self, relocation: &Relocation) -> bool {
        let (symbol, kind) = ((relocation.info >> 32) as usize, relocation.info as u32);
        if !OF_FUNCTIONS.contains(&kind) {
            return false;
        }
        // SAFETY: the caller's promise.
        let name = unsafe {
            let symbol = (self.symbols as *const Symbol).add(symbol);
            CStr::from_ptr((self.strings as *const c_char).add((*symbol).name as usize))
        };
        let Some(function) = stand_in(name.to_bytes()) else { return false };
        let place = self.base + relocation.offset;
        if !make_writable(place) {
            return false;
        }
        // SAFETY: Table entry.
        unsafe { AtomicUsize::from_ptr(place as *mut usize) }.store(function, Relaxed);
        true
    }
}

/// The loader may have closed the page of an entry.
fn make_writable(place: usize) -> bool {
    // SAFETY: Types; it only reads a setting.
    let page: c_long = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else { return false };
    let begin = place - place % page;
    // SAFETY: Table entry: the page is a mapped one of data, which its library may write, or could until the loader was done.
    unsafe { libc::mprotect(begin as *mut c_void, page, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}
