//! What each port of a plug-in is for.

use super::SEQUENCE_BYTES;
use super::ffi::row::Row;
use super::ffi::{Memory, PortFacts, Wires};
use crate::LONGEST_RUN;
use crate::description::{Param, Steps, session_name};
use crate::extra::{Placed, offered};
use crate::layout::Layout;

const ENABLED: &str = "http://lv2plug.in/ns/lv2core#enabled";
const FREE_WHEELING: &str = "http://lv2plug.in/ns/lv2core#freeWheeling";
const LATENCY: &str = "http://lv2plug.in/ns/lv2core#latency";
/// Where a plug-in names no limits.
const UNLIMITED: f32 = 1e6;
/// The largest buffer that a plug-in may ask for.
const LARGEST_BUFFER: usize = 64 << 20;

/// A buffer of events.
#[derive(Debug, Clone, Copy)]
pub struct Atom {
    bytes: usize,
    pub is_input: bool,
}

/// The ports of a plug-in.
#[derive(Debug, Default)]
pub struct Ports {
    /// For each port.
    pub wires: Vec<Wires>,
    pub layout: Layout,
    /// Audio rows by their use.
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    /// The outputs beside the first one, as far as tracks can play them.
    pub extra: Vec<Placed>,
    /// All outputs.
    found: Vec<Found>,
    pub side_chain: Vec<usize>,
    audio: usize,
    pub atoms: Vec<Atom>,
    /// The event buffer that gets MIDI.
    pub midi: Option<usize>,
    /// The event buffer that gets the song's time.
    pub time: Option<usize>,
    /// The event buffer into which the plug-in writes MIDI.
    pub sends: Option<usize>,
    /// Parameters; their ids are ports.
    pub params: Vec<Param>,
    /// Control ports that Hocket sets once.
    set: Vec<(usize, f32)>,
    /// The port that reports the latency.
    pub latency: Option<usize>,
}

/// An output: the ports of a group, or one port. The first two ports are one output, too, if they have no group.
#[derive(Debug, Default)]
struct Found {
    group: Option<String>,
    name: String,
    /// Audio rows.
    rows: Vec<usize>,
}

impl Found {
    /// Whether a port is one of its channels; `count`: how many outputs there are up to here.
    fn takes(&self, port: &PortFacts, count: usize) -> bool {
        match (&self.group, &port.group) {
            (None, None) => count == 1 && self.rows.len() < 2,
            (own, group) => own.is_some() && own == group,
        }
    }
}

impl Ports {
    /// # Errors
    /// A port that Hocket cannot serve.
    pub fn of(facts: &[PortFacts]) -> Result<Ports, String> {
        let mut ports = Ports::default();
        for (index, port) in facts.iter().enumerate() {
            let wire = ports.wire(index, port)?;
            ports.wires.push(wire);
        }
        ports.sort_outputs();
        ports.layout = Layout {
            inputs: ports.inputs.len(),
            outputs: ports.outputs.len(),
            side_chain: ports.side_chain.len(),
        };
        let others = ports.found.iter().enumerate().skip(1);
        let others = others.map(|(place, found)| (place, found.name.clone(), found.rows.len()));
        ports.extra = offered(&ports.layout, others);
        Ok(ports)
    }

    /// The first output is the main one. Two ports are left and right, whatever their groups.
    fn sort_outputs(&mut self) {
        let all = || self.found.iter().flat_map(|found| &found.rows).copied();
        if all().count() <= 2 {
            self.outputs = all().collect();
            self.found.truncate(1);
        } else if let Some(first) = self.found.first() {
            self.outputs.clone_from(&first.rows);
        }
    }

    /// The rows of the extra outputs, in order.
    pub fn extra_rows(&self) -> impl Iterator<Item = usize> {
        self.extra.iter().flat_map(|extra| &self.found[extra.place].rows).copied()
    }

    fn wire(&mut self, index: usize, port: &PortFacts) -> Result<Wires, String> {
        match port {
            PortFacts { is_audio: true, .. } => Ok(self.audio(port)),
            PortFacts { is_control: true, .. } => {
                self.control(index, port);
                Ok(Wires::Control)
            }
            PortFacts { is_atom: true, .. } => self.atom(port),
            PortFacts { is_optional: true, .. } => Ok(Wires::Nothing),
            _ => Err(format!("Hocket does not know the type of its port '{}'", port.symbol)),
        }
    }

    /// A strip has two channels, and so has each output: what the plug-in can do without stays open then.
    fn audio(&mut self, port: &PortFacts) -> Wires {
        let row = self.audio;
        let rows = match port {
            PortFacts { is_input: true, is_side_chain: true, .. } => &mut self.side_chain,
            PortFacts { is_input: true, .. } => &mut self.inputs,
            _ => self.output(port),
        };
        if port.is_optional && rows.len() == 2 {
            return Wires::Nothing;
        }
        rows.push(row);
        self.audio += 1;
        Wires::Audio(row)
    }

    /// The rows of the output that a port belongs to.
    fn output(&mut self, port: &PortFacts) -> &mut Vec<usize> {
        let count = self.found.len();
        let place = self.found.iter().position(|found| found.takes(port, count));
        if place.is_none() {
            let name = [&port.group_name, &port.name, &port.symbol];
            let name = name.into_iter().find(|name| !name.trim().is_empty());
            let (group, name) = (port.group.clone(), name.cloned().unwrap_or_default());
            self.found.push(Found { group, name, rows: Vec::new() });
        }
        &mut self.found[place.unwrap_or(count)].rows
    }

    fn control(&mut self, index: usize, port: &PortFacts) {
        let designation = port.designation.as_deref();
        match (port.is_input, designation) {
            (false, _) if port.reports_latency || designation == Some(LATENCY) => {
                self.latency = Some(index);
            }
            (false, _) => {}
            (true, Some(ENABLED)) => self.set.push((index, 1.0)),
            (true, Some(FREE_WHEELING)) => self.set.push((index, 0.0)),
            (true, _) => self.params.push(param(index, port)),
        }
    }

    fn atom(&mut self, port: &PortFacts) -> Result<Wires, String> {
        let bytes = port.minimum_size.unwrap_or(0).max(SEQUENCE_BYTES);
        if bytes > LARGEST_BUFFER {
            return Err(format!("its port '{}' asks for a buffer of {bytes} bytes", port.symbol));
        }
        let (index, is_input) = (self.atoms.len(), port.is_input);
        self.atoms.push(Atom { bytes, is_input });
        if is_input && port.hears_midi && self.midi.is_none() {
            self.midi = Some(index);
        }
        if !is_input && port.hears_midi && self.sends.is_none() {
            self.sends = Some(index);
        }
        if is_input && port.hears_time && self.time.is_none() {
            self.time = Some(index);
        }
        Ok(Wires::Atom(index))
    }

    /// Memory for an instance, with these values of the parameters.
    pub fn memory(&self, values: &[f32]) -> Memory {
        let mut controls = Row::new(0.0, self.wires.len());
        let row = controls.get_mut();
        self.set.iter().for_each(|(port, value)| row[*port] = *value);
        let params = self.params.iter().zip(values);
        params.for_each(|(param, value)| row[param.id as usize] = *value);
        Memory {
            audio: (0..self.audio).map(|_| Row::new(0.0, LONGEST_RUN)).collect(),
            controls,
            atoms: self.atoms.iter().map(|atom| Row::new(0, atom.bytes.div_ceil(8))).collect(),
        }
    }
}

fn param(index: usize, port: &PortFacts) -> Param {
    let point = |at: Option<&(f32, String)>| at.map(|(value, _)| *value);
    let (mut lowest, mut highest) = (-UNLIMITED, UNLIMITED);
    if port.is_toggled {
        (lowest, highest) = (0.0, 1.0);
    }
    let min = port.min.or(point(port.points.first())).unwrap_or(lowest);
    let max = port.max.or(point(port.points.last())).unwrap_or(highest).max(min);
    let steps = match port {
        PortFacts { is_toggled: true, .. } => Steps::Switch,
        PortFacts { is_integer: true, .. } => Steps::Whole,
        _ => Steps::None,
    };
    Param {
        name: session_name(&port.symbol),
        title: port.name.clone(),
        unit: String::new(),
        min,
        max,
        default: port.default.unwrap_or(0.0).clamp(min, max),
        per_rate: port.is_per_rate,
        steps,
        points: port.points.clone(),
        id: index as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio(is_input: bool) -> PortFacts {
        let symbol = "a".into();
        PortFacts { symbol, is_audio: true, is_input, ..PortFacts::default() }
    }

    fn control(designation: Option<&str>, is_input: bool) -> PortFacts {
        let designation = designation.map(Into::into);
        PortFacts { is_control: true, is_input, designation, ..PortFacts::default() }
    }

    #[test]
    fn designated_ports_are_no_parameters() {
        let facts = [
            control(None, true),
            control(Some(ENABLED), true),
            control(Some(FREE_WHEELING), true),
            control(Some(LATENCY), false),
        ];
        let ports = Ports::of(&facts).unwrap();
        assert_eq!(ports.params.len(), 1);
        assert_eq!(ports.latency, Some(3));
        assert_eq!(ports.memory(&[5.0]).controls.get(), [5.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn side_chains_and_spare_ports_find_their_place() {
        let key = PortFacts { is_side_chain: true, ..audio(true) };
        let spare = PortFacts { is_optional: true, ..audio(true) };
        let ports = Ports::of(&[audio(true), audio(true), key, spare, audio(false)]).unwrap();
        assert_eq!(ports.layout, Layout { inputs: 2, outputs: 1, side_chain: 1 });
        assert_eq!(ports.wires[3], Wires::Nothing);
        assert_eq!(ports.outputs, [3]);
    }

    /// The main rows, and place and channels of each extra output.
    fn outputs(ports: &[PortFacts]) -> (Vec<usize>, Vec<(String, u16)>, Vec<usize>) {
        let ports = Ports::of(ports).unwrap();
        let extra = ports.extra.iter().map(|it| (it.output.name.clone(), it.output.channels));
        (ports.outputs.clone(), extra.collect(), ports.extra_rows().collect())
    }

    #[test]
    fn outputs_are_groups_or_single_ports_and_the_first_two_ports_are_one() {
        let named = |name: &str| PortFacts { name: name.into(), ..audio(false) };
        let of = |group: &str| PortFacts {
            group: Some(group.into()),
            group_name: group.to_uppercase(),
            ..audio(false)
        };
        let spare = |port| PortFacts { is_optional: true, ..port };
        let single = |name: &str| (name.to_owned(), 1);
        let two = [named("left"), named("right")];
        assert_eq!(outputs(&two), (vec![0, 1], vec![], vec![]));
        let apart = [of("a"), of("b")];
        assert_eq!(outputs(&apart), (vec![0, 1], vec![], vec![]), "as two channels of a strip");
        let alone = [named("left"), named("right"), spare(named("kick")), named("snare")];
        let expected = vec![single("kick"), single("snare")];
        assert_eq!(outputs(&alone), (vec![0, 1], expected, vec![2, 3]));
        let grouped = [of("main"), of("kick"), of("main"), named("click"), of("kick")];
        let expected = vec![("KICK".to_owned(), 2), single("click")];
        assert_eq!(outputs(&grouped), (vec![0, 2], expected, vec![1, 4, 3]));
        let wide = [of("main"), of("main"), of("six"), of("six"), of("six")];
        assert_eq!(outputs(&wide), (vec![0, 1], vec![], vec![]), "no track has three channels");
    }

    #[test]
    fn a_port_of_an_unknown_type_is_refused_by_name() {
        let odd = PortFacts { symbol: "cv_in".into(), ..PortFacts::default() };
        assert!(Ports::of(&[odd]).unwrap_err().contains("'cv_in'"));
    }
}
