//! What keys ask for.

use crossterm::event::KeyCode::{Char, Home, Left, Right};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    PlayOrStop,
    /// So many bars on, or back.
    Bars(i64),
    Start,
    Loop,
    /// The next kind of schedule.
    Schedule,
    /// The next way of waiting.
    Wait,
    /// The next in what is noted of each block.
    Spans,
    /// A plan from what was measured.
    Plan,
    /// The next sibling policy.
    Policy,
    /// Those that came in at MIDI inputs.
    EndNotes,
    Help,
    Redraw,
    Quit,
    /// Ctrl-C.
    Interrupt,
}

/// What a key does, and how it is shown.
pub(super) struct Key {
    codes: &'static [KeyCode],
    asked: Asked,
    /// As the help shows it.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// Its part of the footer; empty: it has none.
    foot: &'static str,
}

/// All keys, in the help's order. Those with Ctrl are not in here as codes, because there the letters mean something else.
pub(super) const KEYS: [Key; 14] = [
    key(&[Char(' ')], Asked::PlayOrStop, ["space", "play, or stop", "space play/stop"]),
    key(&[Char('['), Left], Asked::Bars(-1), ["[ or left", "one bar back", ""]),
    key(&[Char(']'), Right], Asked::Bars(1), ["] or right", "one bar on", ""]),
    key(&[Home, Char('0')], Asked::Start, ["home or 0", "to the start", ""]),
    key(
        &[Char('l')],
        Asked::Loop,
        ["l", "loop on or off: the session's own, or all of it", "l loop"],
    ),
    key(
        &[Char('s')],
        Asked::Schedule,
        ["s", "the next schedule: auto, serial, lists, dataflow, ...", "s schedule"],
    ),
    key(&[Char('n')], Asked::Plan, ["n", "make a new plan from measured costs", "n plan"]),
    key(
        &[Char('w')],
        Asked::Wait,
        ["w", "the next wait: spin, pause, ..., hybrid, futex", "w wait"],
    ),
    key(
        &[Char('t')],
        Asked::Spans,
        ["t", "what is noted of each block for causes: times, CPU time too, nothing", ""],
    ),
    key(
        &[Char('p')],
        Asked::Policy,
        ["p", "the next sibling policy that changes something here", "p policy"],
    ),
    key(&[Char('m')], Asked::EndNotes, ["m", "end all notes that came in at MIDI inputs", ""]),
    key(&[], Asked::Redraw, ["Ctrl-L", "draw everything anew", ""]),
    key(&[Char('q')], Asked::Quit, ["q", "quit and print the result", "q quit"]),
    key(&[Char('?'), Char('h')], Asked::Help, ["?", "this help, or back", "? help"]),
];

const fn key(
    codes: &'static [KeyCode],
    asked: Asked,
    [name, help, foot]: [&'static str; 3],
) -> Key {
    Key { codes, asked, name, help, foot }
}

/// The most important keys in one line. Where they find no room, those before the last two are left out.
pub(super) fn footer(width: usize) -> String {
    let mut parts: Vec<&str> =
        KEYS.iter().map(|key| key.foot).filter(|it| !it.is_empty()).collect();
    while parts.join(BETWEEN).len() > width && parts.len() > 2 {
        parts.remove(parts.len() - 3);
    }
    parts.join(BETWEEN)
}

const BETWEEN: &str = "  ";

/// What an event of the terminal asks for.
pub(super) fn asked(event: &Event) -> Option<Asked> {
    let Event::Key(KeyEvent { code, modifiers, kind, .. }) = event else { return None };
    if *kind == KeyEventKind::Release {
        return None;
    }
    if modifiers.contains(KeyModifiers::CONTROL) {
        return match code {
            KeyCode::Char('c') => Some(Asked::Interrupt),
            KeyCode::Char('l') => Some(Asked::Redraw),
            _ => None,
        };
    }
    KEYS.iter().find(|key| key.codes.contains(code)).map(|key| key.asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a letter asks for, the footer's word for it and the help's sentence cannot differ: they have one row.
    #[test]
    fn each_key_of_the_footer_means_what_the_help_says() {
        let shown: Vec<&Key> = KEYS.iter().filter(|key| !key.foot.is_empty()).collect();
        for Key { codes, name, help, foot, .. } in &shown {
            let (letter, meaning) = foot.split_once(' ').unwrap();
            assert_eq!(letter, *name);
            let is_it = |code: &KeyCode| code.to_string().to_lowercase() == letter;
            assert!(codes.iter().any(is_it), "{letter}: {codes:?}");
            assert!(meaning.split('/').all(|word| help.contains(word)), "{meaning}: {help}");
        }
        let letters: Vec<&str> = shown.iter().map(|key| key.name).collect();
        assert_eq!(letters, ["space", "l", "s", "n", "w", "p", "q", "?"]);
    }

    #[test]
    fn the_footer_fits_and_keeps_the_way_out_and_the_help() {
        let all = footer(80);
        assert!(all.len() <= 80 && all.contains("s schedule  n plan  w wait  p policy"), "{all}");
        assert_eq!(footer(62), "space play/stop  l loop  s schedule  n plan  q quit  ? help");
        assert_eq!(footer(1), "q quit  ? help");
    }

    #[test]
    fn no_key_is_there_twice() {
        let mut codes: Vec<String> =
            KEYS.iter().flat_map(|key| key.codes).map(ToString::to_string).collect();
        let all = codes.len();
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }

    #[test]
    fn control_keys_are_no_letters_and_releases_are_nothing() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let letter = |letter| key(KeyCode::Char(letter), KeyModifiers::NONE);
        let control = |letter| key(KeyCode::Char(letter), KeyModifiers::CONTROL);
        assert_eq!(asked(&letter('l')), Some(Asked::Loop));
        assert_eq!(asked(&control('l')), Some(Asked::Redraw));
        assert_eq!(asked(&control('c')), Some(Asked::Interrupt));
        assert_eq!((asked(&letter('c')), asked(&control('q'))), (None, None));
        let released =
            KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(asked(&Event::Key(released)), None);
        assert_eq!(asked(&Event::Resize(1, 1)), None);
    }
}
