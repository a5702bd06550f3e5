//! What each port of a plug-in is for.

use super::SEQUENCE_BYTES;
use super::ffi::row::Row;
use super::ffi::{Memory, PortFacts, Wires};
use crate::LONGEST_RUN;
use crate::description::{Param, Steps, session_name};
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
    pub side_chain: Vec<usize>,
    audio: usize,
    pub atoms: Vec<Atom>,
    /// The event buffer that gets MIDI.
    pub midi: Option<usize>,
    /// The event buffer that gets the song's time.
    pub time: Option<usize>,
    /// Parameters; their ids are ports.
    pub params: Vec<Param>,
    /// Control ports that Hocket sets once.
    set: Vec<(usize, f32)>,
    /// The port that reports the latency.
    pub latency: Option<usize>,
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
        ports.layout = Layout {
            inputs: ports.inputs.len(),
            outputs: ports.outputs.len(),
            side_chain: ports.side_chain.len(),
        };
        Ok(ports)
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

    /// A strip has two channels: what the plug-in can do without stays open then.
    fn audio(&mut self, port: &PortFacts) -> Wires {
        let rows = match port {
            PortFacts { is_input: true, is_side_chain: true, .. } => &mut self.side_chain,
            PortFacts { is_input: true, .. } => &mut self.inputs,
            _ => &mut self.outputs,
        };
        if port.is_optional && rows.len() == 2 {
            return Wires::Nothing;
        }
        rows.push(self.audio);
        self.audio += 1;
        Wires::Audio(self.audio - 1)
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

    #[test]
    fn a_port_of_an_unknown_type_is_refused_by_name() {
        let odd = PortFacts { symbol: "cv_in".into(), ..PortFacts::default() };
        assert!(Ports::of(&[odd]).unwrap_err().contains("'cv_in'"));
    }
}
