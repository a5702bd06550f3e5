//! States: those that come back, and those that are damaged.

use super::super::piece::Piece;
use super::super::player::Player;
use super::super::sound::{Found, Random, difference, same};
use super::{CUTS, END_FRAMES, Exercises, RATE_HZ, ROUNDS, SILENT, silent_rounds};

impl Exercises<'_> {
    pub(super) fn state(&mut self) -> Result<(), String> {
        self.at(RATE_HZ, CUTS[0], self.seed);
        if self.player(RATE_HZ)?.save()?.is_none() {
            self.notes.ok("none beside its parameters");
            return Ok(());
        }
        for round in 0..ROUNDS {
            let seed = self.seed.wrapping_add(round);
            self.at(RATE_HZ, CUTS[0], seed);
            if !self.restored(seed)? {
                return Ok(());
            }
        }
        self.bad_states()?;
        if self.notes.is_clean() {
            // Each round plays the original and the copy, and both are the same.
            let silent = silent_rounds(self.heard.silent / 2);
            self.pass(format!(
                "{ROUNDS} random ones come back and sound the same; damaged ones do no harm{silent}"
            ));
        }
        Ok(())
    }

    /// Saves an instance with random values, restores it in another one, and compares. `false`: enough was found.
    fn restored(&mut self, seed: u64) -> Result<bool, String> {
        let values = Random::new(seed).values(&self.plugin.params);
        let piece = self.piece(RATE_HZ, seed);
        let mut original = Player::new(self.plugin, &values, RATE_HZ, None)?;
        let saved = original.save()?.unwrap_or_default();
        let remedy = "save every value that the sound depends on, and read all of them back";
        let mut copy =
            match Player::new(self.plugin, &self.beside_state(&values), RATE_HZ, Some(&saved)) {
                Ok(copy) => copy,
                Err(why) => {
                    self.notes.fail(format!("its own state is refused: {why}"), remedy);
                    return Ok(false);
                }
            };
        if copy.save()?.is_some_and(|again| again != saved) {
            self.notes.warn("a state that is restored and saved again is not the same", remedy);
        }
        let expected = self.play(&mut original, CUTS[0], &piece);
        let made = self.play(&mut copy, CUTS[0], &piece);
        if same(&expected, &made) {
            return Ok(true);
        }
        if !self.is_repeatable(&values, &piece)? {
            self.notes.unknown("not compared: with these values, new instances differ, too");
            return Ok(false);
        }
        let Found { row, what: largest } = difference(&expected, &made);
        let output = self.output(row);
        let found = format!(
            "a restored instance sounds different from the original: its {output} by {largest:.1e}"
        );
        match largest > SILENT || largest.is_nan() {
            true => self.notes.fail(found, remedy),
            false => self.notes.warn(found, remedy),
        }
        Ok(false)
    }

    /// A state of CLAP or VST3 has the values; those of LV2 are apart from it.
    fn beside_state(&self, values: &[f32]) -> Vec<f32> {
        match crate::Format::of_kind(&self.plugin.kind) {
            Some((crate::Format::Clap | crate::Format::Vst3, _)) => self.defaults(),
            _ => values.to_vec(),
        }
    }

    /// A plug-in may refuse them or do what it can.
    fn bad_states(&mut self) -> Result<(), String> {
        let saved = self.player(RATE_HZ)?.save()?.unwrap_or_default();
        let mut flipped = saved.clone();
        let mut random = Random::new(self.seed);
        for _ in 0..flipped.len().min(16) {
            let place = random.below(flipped.len());
            flipped[place] ^= 0x5a;
        }
        let half = saved[..saved.len() / 2].to_vec();
        for (name, state) in [("empty", Vec::new()), ("cut in half", half), ("damaged", flipped)] {
            self.notes.at(format!("{RATE_HZ} Hz, {name} state, seed {}", self.seed));
            if let Ok(mut player) =
                Player::new(self.plugin, &self.defaults(), RATE_HZ, Some(&state))
            {
                let piece = Piece::of(self.plugin, END_FRAMES, self.seed);
                let made = player.play(&piece.sound, CUTS[0], &piece.score);
                self.is_fine(&made, &format!("with a state that is {name}"));
            }
        }
        Ok(())
    }
}
