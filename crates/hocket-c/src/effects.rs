//! The built-in effects, for menus and sliders.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use hocket_engine::{Kind, kind, kinds};

use crate::border::{c_text, quiet, text};
use crate::failure::Failure;

/// A parameter of an effect. The texts belong to the library: do not free them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Name with unit, as in session files.
    pub name: *const c_char,
    /// One sentence.
    pub summary: *const c_char,
    /// Smallest value.
    pub min: f32,
    /// Largest value.
    pub max: f32,
    /// Default value.
    pub usual: f32,
    /// Whether the build of the effect fixes it, so that it cannot change while it plays.
    pub fixed: bool,
}

/// The name of a built-in effect (docs/effects.md), in the order of the documentation. NULL past the end. The
/// text belongs to the library: do not free it.
///
/// Thread: any but the leader. Cost: the first call allocates.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_effect_kind(index: usize) -> *const c_char {
    quiet(std::ptr::null(), || names().get(index).map_or(std::ptr::null(), |it| it.name.as_ptr()))
}

/// Describes an effect's parameter in `param`. False past the last parameter, and if there is no effect of
/// this name.
///
/// Thread: any but the leader. Cost: the first call allocates.
///
/// # Safety
/// P.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_effect_param(
    kind: *const c_char,
    index: usize,
    param: *mut Param,
) -> bool {
    // SAFETY: P.
    let found = quiet(None, || unsafe { found(text(kind, "kind").ok()?, index) });
    // SAFETY: P.
    match (found, unsafe { param.as_mut() }) {
        (Some(found), Some(place)) => {
            *place = found;
            true
        }
        _ => false,
    }
}

fn found(name: &str, index: usize) -> Option<Param> {
    let place = kinds().iter().position(|kind| kind.name == name)?;
    let param = kinds()[place].params.get(index)?;
    let (name, summary) = &names()[place].params[index];
    Some(Param {
        name: name.as_ptr(),
        summary: summary.as_ptr(),
        min: param.min,
        max: param.max,
        usual: param.default,
        fixed: param.fixed,
    })
}

/// The texts of a kind, each with a zero byte at the end.
struct Names {
    name: CString,
    /// Name and summary.
    params: Vec<(CString, CString)>,
}

fn names() -> &'static [Names] {
    static NAMES: OnceLock<Vec<Names>> = OnceLock::new();
    let of = |kind: &Kind| Names {
        name: c_text(kind.name),
        params: kind.params.iter().map(|it| (c_text(it.name), c_text(it.summary))).collect(),
    };
    NAMES.get_or_init(|| kinds().iter().map(of).collect())
}

pub(crate) fn kind_named(name: &str) -> Result<&'static Kind, Failure> {
    kind(name).ok_or_else(|| {
        let names: Vec<&str> = kinds().iter().map(|kind| kind.name).collect();
        Failure::bad_input(format!("there is no effect '{name}': choose {}", names.join(", ")))
    })
}

/// The values of a kind's parameters, limited to their ranges. NULL means the defaults.
///
/// # Safety
/// P (`values` has `count` values).
pub(crate) unsafe fn values_of(
    kind: &Kind,
    values: *const f32,
    count: usize,
) -> Result<Vec<f32>, Failure> {
    if values.is_null() {
        return Ok(kind.defaults());
    }
    let (name, needed) = (kind.name, kind.params.len());
    if needed != count {
        let text = format!("effect '{name}' has {needed} parameters, {count} values were given");
        return Err(Failure::bad_input(text));
    }
    // SAFETY: P, not null.
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    if let Some(at) = values.iter().position(|value| value.is_nan()) {
        let param = kind.params[at].name;
        return Err(Failure::bad_input(format!("effect '{name}': {param} is not a number")));
    }
    Ok(kind.params.iter().zip(values).map(|(param, value)| param.clamp(*value)).collect())
}
