//! Events and automation values that found no room in a block: where, how many, and what to do.

use hocket_engine::{Engine, LostEvents, ThinnedOut};
use hocket_lab::numbers::counted;
use serde_json::{Value, json};

/// What found no room in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub events: Vec<LostEvents>,
    pub values: Vec<ThinnedOut>,
}

impl NoRoom {
    /// Since the engine started, or was reset.
    pub(crate) fn of(engine: &Engine) -> NoRoom {
        let control = engine.control();
        NoRoom { events: control.lost_events(), values: control.thinned_out() }
    }

    /// One line for each node; none where everything found room.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let events = self.events.iter().map(|LostEvents { node, events }| {
            format!(
                "{node} lost {}, because a block has no room for more; use a smaller --frames, or fewer notes at \
                 a time (notes that end are never lost)",
                counted(*events as usize, "event")
            )
        });
        let values = self.values.iter().map(|ThinnedOut { node, values }| {
            format!(
                "{node}: {values} automation values were left out, because a block has no room for more; use a smaller \
                 --frames, or fewer points"
            )
        });
        events.chain(values)
    }

    /// For programs: the events, and the values.
    pub(crate) fn json(&self) -> [Value; 2] {
        let events =
            self.events.iter().map(|lost| json!({ "node": lost.node, "events": lost.events }));
        let values =
            self.values.iter().map(|thin| json!({ "node": thin.node, "values": thin.values }));
        [events.collect(), values.collect()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_is_named_with_its_count_and_what_to_do() {
        let events = vec![LostEvents { node: "lead notes".into(), events: 12 }];
        let values = vec![ThinnedOut { node: "lead synth".into(), values: 7 }];
        let no_room = NoRoom { events, values };
        let lines: Vec<String> = no_room.lines().collect();
        assert!(lines[0].starts_with("lead notes lost 12 events") && lines[0].contains("--frames"));
        assert!(lines[1].starts_with("lead synth: 7 automation values"), "{}", lines[1]);
        let [events, values] = no_room.json();
        assert_eq!(events, json!([{ "node": "lead notes", "events": 12 }]));
        assert_eq!(values, json!([{ "node": "lead synth", "values": 7 }]));
        assert_eq!(NoRoom::default().lines().count(), 0);
    }
}
