//! What keys ask for.

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
    Help,
    Redraw,
    Quit,
    /// Ctrl-C.
    Interrupt,
}

/// The keys, as the help shows them.
pub(super) const HELP: [(&str, &str); 13] = [
    ("space", "play, or stop"),
    ("[ or left", "one bar back"),
    ("] or right", "one bar on"),
    ("home or 0", "to the start"),
    ("l", "loop on or off: the session's own, or all of it"),
    ("s", "the next schedule: auto, serial, lists, dataflow, ..."),
    ("n", "make a new plan from measured costs"),
    ("w", "the next wait: spin, pause, ..., hybrid, futex"),
    ("t", "what is noted of each block for causes: times, CPU time too, nothing"),
    ("p", "the next sibling policy that changes something here"),
    ("Ctrl-L", "draw everything anew"),
    ("q", "quit and print the result"),
    ("?", "this help, or back"),
];

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
    Some(match code {
        KeyCode::Char(' ') => Asked::PlayOrStop,
        KeyCode::Char('[') | KeyCode::Left => Asked::Bars(-1),
        KeyCode::Char(']') | KeyCode::Right => Asked::Bars(1),
        KeyCode::Char('0') | KeyCode::Home => Asked::Start,
        KeyCode::Char('l') => Asked::Loop,
        KeyCode::Char('s') => Asked::Schedule,
        KeyCode::Char('n') => Asked::Plan,
        KeyCode::Char('w') => Asked::Wait,
        KeyCode::Char('t') => Asked::Spans,
        KeyCode::Char('p') => Asked::Policy,
        KeyCode::Char('?' | 'h') => Asked::Help,
        KeyCode::Char('q') => Asked::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
