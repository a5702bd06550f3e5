//! Strips that get outputs of their own, as `--ports` asks for: ports of JACK, channels of ALSA, and a meter.

use hocket_plan::session::{Output, Session, StripId, Tap};

use crate::failure::Failure;
use crate::takes;

/// Asks for every group.
const GROUPS: &str = "groups";

/// Adds an output behind the fader of each strip that is asked for, unless the session has the same already.
///
/// # Errors
/// A name that no strip has, the master's, which has ports anyway, and that of an output with other sound: exit code 2.
pub(super) fn add(asked: &[String], session: &mut Session) -> Result<(), Failure> {
    for name in asked {
        for from in strips(name, session)? {
            let own = session.strip(from).name.clone();
            let new = Output { name: own, from, tap: Tap::PostFader };
            match session.outputs.iter().find(|output| output.name == new.name) {
                None => session.outputs.push(new),
                Some(there) if *there == new => {}
                Some(there) => {
                    return Err(Failure::bad_input(format!(
                        "--ports {name}: the session has an output '{}' with other sound; give one of them another name",
                        there.name
                    )));
                }
            }
        }
    }
    Ok(())
}

fn strips(name: &str, session: &Session) -> Result<Vec<StripId>, Failure> {
    let refused = |why: &str| Err(Failure::bad_input(format!("--ports {name}: {why}")));
    match takes::strip_named(name, session) {
        Some(StripId::Master) => refused("the master has ports anyway; leave this out"),
        Some(strip) => Ok(vec![strip]),
        None if name == GROUPS => {
            let ids = session.strip_ids().into_iter();
            let groups: Vec<StripId> = ids.filter(|id| matches!(id, StripId::Group(_))).collect();
            match groups.is_empty() {
                true => refused("the session has no groups; name a track or a return"),
                false => Ok(groups),
            }
        }
        None => Err(takes::unknown(&format!("--ports {name}"), name, session)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(more: &str) -> Session {
        let text = format!(
            "[session]\nformat = 2\nname = \"s\"\nsample_rate_hz = 48000\nlength_s = 1\n\
             [[track]]\nname = \"drum\"\noutput = \"Drums\"\n\
             [[group]]\nname = \"Drums\"\n[[group]]\nname = \"Voices\"\n{more}"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        std::fs::write(&path, text).unwrap();
        let options = hocket_session::LoadOptions::for_seats(2);
        hocket_session::load(&path, &crate::load::effects(), &options).unwrap().session
    }

    fn names(session: &Session) -> Vec<&str> {
        session.outputs.iter().map(|output| output.name.as_str()).collect()
    }

    fn asked(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn strips_get_outputs_once_in_the_order_of_the_flags() {
        let mut session = session("");
        add(&asked(&["drum", "groups", "Drums"]), &mut session).unwrap();
        assert_eq!(names(&session), ["drum", "Drums", "Voices"]);
        assert!(session.outputs.iter().all(|output| output.tap == Tap::PostFader));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_remedy() {
        let own = "[[output]]\nname = \"Drums\"\nfrom = \"Voices\"\n";
        for (name, more, words) in [
            ("master", "", "leave this out"),
            ("Dums", "", "no strip 'Dums'; choose master or one of: drum, Drums, Voices"),
            ("groups", own, "has an output 'Drums' with other sound"),
        ] {
            let refused = add(&asked(&[name]), &mut session(more)).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
        let mut same = session("[[output]]\nname = \"Drums\"\nfrom = \"Drums\"\n");
        add(&asked(&["Drums"]), &mut same).unwrap();
        assert_eq!(names(&same), ["Drums"]);
    }
}
