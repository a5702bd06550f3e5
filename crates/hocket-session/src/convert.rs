//! Session files of any format as files of the newest one, with their comments.

use std::path::{Component, Path, PathBuf};

use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::schema::{FORMAT, SESSION, VERSION};

/// The text in the newest format. Comments, order and spaces stay. `paths`: what becomes of the path of a file.
///
/// `text` is a session that can be read.
pub(crate) fn converted(text: &str, paths: &dyn Fn(&str) -> String) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    rewrite_files(document.as_table_mut(), paths);
    let Some(session) = document.get_mut(SESSION.name).and_then(Item::as_table_like_mut) else {
        return Some(with_session(&document.to_string()));
    };
    match session.get_mut(VERSION.name).and_then(Item::as_value_mut) {
        Some(version) => replace(version, Value::from(FORMAT)),
        None => _ = session.insert(VERSION.name, toml_edit::value(FORMAT)),
    }
    Some(document.to_string())
}

/// Clips, notes, takes, effects and the preview have a `file`, and only effects a `state`.
fn rewrite_files(table: &mut dyn TableLike, paths: &dyn Fn(&str) -> String) {
    for (key, item) in table.iter_mut() {
        if ["file", "state"].contains(&key.get())
            && let Some(value) = item.as_value_mut()
            && let Some(path) = value.as_str()
        {
            let path = paths(path);
            if Some(path.as_str()) != value.as_str() {
                replace(value, Value::from(path));
            }
        }
        rewrite_below(item, paths);
    }
}

fn rewrite_below(item: &mut Item, paths: &dyn Fn(&str) -> String) {
    if let Some(tables) = item.as_array_of_tables_mut() {
        tables.iter_mut().for_each(|table| rewrite_files(table, paths));
    } else if let Some(list) = item.as_array_mut() {
        let tables = list.iter_mut().filter_map(Value::as_inline_table_mut);
        tables.for_each(|table| rewrite_files(table, paths));
    } else if let Some(table) = item.as_table_like_mut() {
        rewrite_files(table, paths);
    }
}

/// The remark behind a value stays.
fn replace(value: &mut Value, new: Value) {
    let decor = value.decor().clone();
    *value = new;
    *value.decor_mut() = decor;
}

/// A file without `[session]` gets one before its first table, below the remarks at its top.
fn with_session(text: &str) -> String {
    let header = format!("[session]\nformat = {FORMAT}\n\n");
    let mut at = 0;
    // Where the remarks begin that stand right above the first table.
    let mut above = 0;
    for line in text.split_inclusive('\n') {
        let plain = line.trim_start_matches('\u{feff}').trim();
        if plain.starts_with('[') {
            let place = if above == 0 { at } else { above };
            return [&text[..place], &header, &text[place..]].concat();
        }
        at += line.len();
        if plain.is_empty() {
            above = at;
        } else if !plain.starts_with('#') {
            break;
        }
    }
    // Keys of the file itself come first: nothing may make them keys of another table.
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    format!("{}session.format = {FORMAT}\n{}", &text[..mark], &text[mark..])
}

/// The path of a file, seen from another folder. Both folders are whole and without links. `None`: a session file cannot
/// hold that path.
pub(crate) fn seen_from(path: &str, old: &Path, new: &Path) -> Option<String> {
    if Path::new(path).is_absolute() || old == new {
        return Some(path.to_owned());
    }
    let (from, to): (Vec<_>, Vec<_>) = (new.components().collect(), old.components().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[same..].iter().map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to[same..].iter().copied()).collect();
    let path = way.join(path).to_str()?.to_owned();
    (!path.chars().any(char::is_control)).then_some(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn check(text: &str, expected: &str) {
        let same = |path: &str| path.to_owned();
        assert_eq!(converted(text, &same).as_deref(), Some(expected));
    }

    #[test]
    fn the_format_comes_into_the_session_and_remarks_stay() {
        check(
            "# mine\n[session] # it\nname = 'a' # name\n",
            "# mine\n[session] # it\nname = 'a' # name\nformat = 2\n",
        );
        check("[session]\nformat = 1 # old\n", "[session]\nformat = 2 # old\n");
        check("session = { name = 'a' }\n", "session = { name = 'a' , format = 2 }\n");
        check("session.name = 'a'\n", "session.name = 'a'\nsession.format = 2\n");
    }

    #[test]
    fn a_file_without_a_session_gets_one_below_its_first_remarks() {
        check("[[track]]\nname = 'a'\n", "[session]\nformat = 2\n\n[[track]]\nname = 'a'\n");
        check(
            "# by me\n\n# the drums\n[[track]]\nname = 'a'\n",
            "# by me\n\n[session]\nformat = 2\n\n# the drums\n[[track]]\nname = 'a'\n",
        );
        check("# by me\n[[track]]\n", "# by me\n[session]\nformat = 2\n\n[[track]]\n");
        check("track = [{ name = 'a' }]\n", "session.format = 2\ntrack = [{ name = 'a' }]\n");
    }

    #[test]
    fn paths_are_those_of_the_same_files() {
        let see = |path, old: &str, new: &str| {
            seen_from(path, Path::new(old), Path::new(new)).unwrap_or_default()
        };
        assert_eq!(see("audio/a.wav", "/s", "/s"), "audio/a.wav");
        assert_eq!(see("audio/a.wav", "/s", "/s/new"), "../audio/a.wav");
        assert_eq!(see("audio/a.wav", "/s/old", "/s/new"), "../old/audio/a.wav");
        assert_eq!(see("../a.wav", "/s/old", "/"), "s/old/../a.wav");
        assert_eq!(see("/abs/a.wav", "/s/old", "/"), "/abs/a.wav");
        assert_eq!(see("a.wav", "/s/with\nline", "/s"), "", "no session file can hold it");
        let not_utf8 = std::ffi::OsStr::from_bytes(b"/s/\xff");
        assert_eq!(seen_from("a.wav", Path::new(not_utf8), Path::new("/s")), None);
        let up = |path: &str| format!("../{path}");
        let text =
            "# x\n[[track.clip]]\nfile = 'a.wav' # first\n[preview]\nfile = \"b\"\n[session]\n";
        let expected = "# x\n[[track.clip]]\nfile = \"../a.wav\" # first\n[preview]\nfile = \"../b\"\n[session]\nformat = 2\n";
        assert_eq!(converted(text, &up).as_deref(), Some(expected));
        let inline = "session = {}\ntrack = [{ name = 'a', clip = [{ file = 'a.wav' }] }]\n";
        assert!(converted(inline, &up).is_some_and(|text| text.contains("file = \"../a.wav\"")));
    }
}
