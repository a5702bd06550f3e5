//! Libraries in C that are loaded at run time, so that Hocket builds and runs where they are not installed.
//!
//! A library stays loaded until the process ends: it may have threads of its own, and its functions must stay.

use std::error::Error;

use libloading::Library;

/// Declares the functions of a library that Hocket calls, as a struct of pointers, each with its type and its name in
/// the library. Those behind `?` may be missing.
macro_rules! functions {
    (
        $(#[$about:meta])* $scope:vis struct $struct:ident {
            $($field:ident: $type:ty = $name:literal;)*
            $(? $other:ident: $other_type:ty = $other_name:literal;)*
        }
    ) => {
        $(#[$about])*
        $scope struct $struct {
            $(pub(super) $field: $type,)*
            $(pub(super) $other: Option<$other_type>,)*
        }

        impl $struct {
            fn find(library: &libloading::Library) -> Result<$struct, libloading::Error> {
                // SAFETY: Types.
                unsafe {
                    Ok($struct {
                        $($field: *library.get::<$type>($name)?,)*
                        $($other: library.get::<$other_type>($other_name).ok().map(|found| *found),)*
                    })
                }
            }
        }
    };
}
pub(crate) use functions;

/// Loads the first of these libraries that loads, and returns what `find` finds there.
///
/// # Errors
/// The loader's own words: of the first name if none loads, or of the function that the library does not have.
///
/// # Safety
/// The start-up code of these libraries has no conditions, and what `find` returns has the library's own types.
pub(crate) unsafe fn load<F>(
    names: &[&str],
    find: impl FnOnce(&Library) -> Result<F, libloading::Error>,
) -> Result<F, String> {
    let mut first = None;
    for name in names {
        // SAFETY: the caller knows the library.
        match unsafe { Library::new(*name) } {
            Ok(library) => {
                let functions = find(&library).map_err(|error| words(&error))?;
                std::mem::forget(library);
                return Ok(functions);
            }
            Err(error) => _ = first.get_or_insert_with(|| words(&error)),
        }
    }
    Err(first.unwrap_or_else(|| "no library is named".into()))
}

/// libloading has the loader's words as the error's source.
fn words(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    functions! {
        struct Few {
            _pid: unsafe extern "C" fn() -> i32 = "getpid";
            ? parent: unsafe extern "C" fn() -> i32 = "getppid";
            ? none: unsafe extern "C" fn() = "hocket_has_no_such_function";
        }
    }

    functions! {
        struct Missing {
            _none: unsafe extern "C" fn() = "hocket_has_no_such_function";
        }
    }

    #[test]
    fn the_first_name_that_loads_counts_and_a_refusal_names_what_is_missing() {
        let load_few = |names: &[&str]| {
            // SAFETY: the C library is loaded already.
            let few = unsafe { load(names, Few::find) };
            few.map(|few| (few.parent.is_some(), few.none.is_some()))
        };
        assert_eq!(load_few(&["libhocket-none.so.9", "libc.so.6"]), Ok((true, false)));
        let why = load_few(&["libhocket-none.so.9", "libhocket-other.so"]).unwrap_err();
        assert!(why.contains("libhocket-none.so.9"), "{why}");
        // SAFETY: as above.
        let why = unsafe { load(&["libc.so.6"], Missing::find) }.map(drop).unwrap_err();
        assert!(why.contains("hocket_has_no_such_function"), "{why}");
    }
}
