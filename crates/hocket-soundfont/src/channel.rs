//! What MIDI says of all notes of a channel.

use crate::font::DRUMS;

/// How many channels there are.
pub(crate) const CHANNELS: usize = 16;
/// The channel of drums, from 0.
const DRUM_CHANNEL: usize = 9;
/// The bank number by which files for XG instruments choose drums.
const XG_DRUMS: u8 = 127;
/// How far the modulation wheel and pressure move the vibrato, each.
const VIBRATO_CENTS: f64 = 50.0;
/// What a full turn of the pan controller adds, in the unit of the generator: tenths of a percent.
const PAN_TURN: f64 = 500.0;

/// The state of a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    bank: u8,
    program: u8,
    volume: u8,
    expression: u8,
    pan: u8,
    modulation: u8,
    pressure: u8,
    pub(crate) pedal: bool,
    /// From -1 up to but not including 1.
    bend: f64,
    bend_range: (u8, u8),
    fine_tune: (u8, u8),
    coarse_tune: u8,
    /// Which parameter the data controllers set: of registered ones, the number; else none.
    parameter: (u8, u8),
}

/// The number of no registered parameter.
const NO_PARAMETER: (u8, u8) = (127, 127);

impl Channel {
    pub(crate) const AT_REST: Channel = Channel {
        bank: 0,
        program: 0,
        volume: 100,
        expression: 127,
        pan: 64,
        modulation: 0,
        pressure: 0,
        pedal: false,
        bend: 0.0,
        bend_range: (2, 0),
        fine_tune: (64, 0),
        coarse_tune: 64,
        parameter: NO_PARAMETER,
    };

    /// Bank and program that its notes choose; `index` is its number, from 0.
    pub(crate) fn preset(&self, index: usize) -> (u16, u16) {
        let is_drums = index == DRUM_CHANNEL || self.bank == XG_DRUMS;
        (if is_drums { DRUMS } else { u16::from(self.bank) }, u16::from(self.program))
    }

    pub(crate) fn set_program(&mut self, program: u8) {
        self.program = program;
    }

    pub(crate) fn set_pressure(&mut self, pressure: u8) {
        self.pressure = pressure;
    }

    pub(crate) fn set_bend(&mut self, low: u8, high: u8) {
        self.bend = f64::from(i32::from(high) << 7 | i32::from(low)) / 8192.0 - 1.0;
    }

    /// A controller other than the pedal and those that end notes.
    pub(crate) fn control(&mut self, number: u8, value: u8) {
        match number {
            0 => self.bank = value,
            1 => self.modulation = value,
            6 => self.set_parameter(|part| part.0 = value, value),
            7 => self.volume = value,
            10 => self.pan = value,
            11 => self.expression = value,
            38 => self.set_parameter(|part| part.1 = value, self.coarse_tune),
            98 | 99 => self.parameter = NO_PARAMETER,
            100 => self.parameter.1 = value,
            101 => self.parameter.0 = value,
            _ => {}
        }
    }

    /// Sets a part of the registered parameter that is chosen: its upper or its lower seven bits.
    fn set_parameter(&mut self, set: impl Fn(&mut (u8, u8)), coarse: u8) {
        match self.parameter {
            (0, 0) => set(&mut self.bend_range),
            (0, 1) => set(&mut self.fine_tune),
            (0, 2) => self.coarse_tune = coarse,
            _ => {}
        }
    }

    /// What the controller "reset all controllers" brings back. Volume, pan and program stay.
    pub(crate) fn reset_controllers(&mut self) {
        let rest = Channel::AT_REST;
        self.modulation = rest.modulation;
        self.pressure = rest.pressure;
        self.expression = rest.expression;
        self.bend = rest.bend;
        self.parameter = rest.parameter;
    }

    /// What bend and tuning add to the pitch.
    pub(crate) fn cents(&self) -> f64 {
        let (semitones, cents) = self.bend_range;
        let (high, low) = self.fine_tune;
        let fine = f64::from(i32::from(high) << 7 | i32::from(low)) / 8192.0 - 1.0;
        self.bend * (100.0 * f64::from(semitones) + f64::from(cents))
            + 100.0 * fine
            + 100.0 * (f64::from(self.coarse_tune) - 64.0)
    }

    /// How deep the vibrato is besides.
    pub(crate) fn vibrato_cents(&self) -> f64 {
        VIBRATO_CENTS * (f64::from(self.modulation) + f64::from(self.pressure)) / 127.0
    }

    /// Volume and expression as a linear gain: both fall as the square of their value.
    pub(crate) fn gain_lin(&self) -> f64 {
        let product = f64::from(self.volume) * f64::from(self.expression) / (127.0 * 127.0);
        product * product
    }

    /// From -500 (left) to 500.
    pub(crate) fn pan(&self) -> f64 {
        PAN_TURN * ((f64::from(self.pan) - 64.0) / 63.0).max(-1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_at_rest_changes_no_pitch_and_is_in_the_centre() {
        let rest = Channel::AT_REST;
        assert_eq!((rest.cents(), rest.pan(), rest.vibrato_cents()), (0.0, 0.0, 0.0));
        assert_eq!(rest.gain_lin(), (100.0f64 / 127.0).powi(2));
        assert_eq!((rest.preset(0), rest.preset(9)), ((0, 0), (128, 0)));
    }

    #[test]
    fn registered_parameters_set_the_range_of_bends_and_the_tuning() {
        let mut channel = Channel::AT_REST;
        channel.set_bend(0, 0);
        assert_eq!(channel.cents(), -200.0);
        for (number, value) in [(101, 0), (100, 0), (6, 12), (38, 50)] {
            channel.control(number, value);
        }
        assert_eq!(channel.cents(), -1250.0);
        channel.set_bend(0, 64);
        for (number, value) in [(100, 2), (6, 66), (100, 1), (6, 0)] {
            channel.control(number, value);
        }
        assert_eq!(channel.cents(), 200.0 - 100.0);
        // Then none is chosen.
        for (number, value) in [(99, 1), (6, 0)] {
            channel.control(number, value);
        }
        assert_eq!(channel.cents(), 100.0);
    }
}
