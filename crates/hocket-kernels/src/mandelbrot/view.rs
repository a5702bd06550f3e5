//! Which part of the plane is drawn, and how a point is judged.

/// A part of the plane and the pixels that it is drawn with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// The point in the middle: real part.
    pub centre_re: f64,
    /// The point in the middle: imaginary part.
    pub centre_im: f64,
    /// From the middle of one pixel to that of the next.
    pub step: f64,
    /// Iterations after which a point is taken to be in the set.
    pub limit: u32,
}

impl View {
    /// The whole set in the study's 1016 by 718 pixels; the study does not say which part it drew, nor how many
    /// iterations it allowed.
    pub const fn whole(limit: u32) -> View {
        let (centre_re, centre_im) = (-0.75, 0.0);
        View { width: 1016, height: 718, centre_re, centre_im, step: 3.6 / 1016.0, limit }
    }

    /// A smaller or larger picture of the same part.
    pub fn scaled_to_width(self, width: usize) -> View {
        let width = width.max(1);
        let scale = width as f64 / self.width.max(1) as f64;
        let height = ((self.height as f64 * scale).round() as usize).max(1);
        View { width, height, step: self.step / scale, ..self }
    }

    /// How many iterations the point under a pixel takes to leave the circle of radius 2; `limit` if it does not.
    ///
    /// Cost: 7 floating-point operations and a comparison an iteration.
    pub fn iterations(&self, column: usize, row: usize) -> u32 {
        let offset =
            |at: usize, pixels: usize| (at as f64 - (pixels as f64 - 1.0) / 2.0) * self.step;
        let re = self.centre_re + offset(column, self.width);
        let im = self.centre_im - offset(row, self.height);
        escape(re, im, self.limit)
    }
}

/// Iterations of z² + c, from z = 0, until |z| > 2; at most `limit`.
fn escape(re: f64, im: f64, limit: u32) -> u32 {
    let (mut x, mut y, mut iterations) = (0.0f64, 0.0f64, 0);
    while iterations < limit {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 {
            break;
        }
        (x, y) = (xx - yy + re, 2.0 * x * y + im);
        iterations += 1;
    }
    iterations
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn points_whose_fate_is_known() {
        // Fixed point; period 2; escapes as 0, 1, 2, 5; on the edge of the cardioid; outside at once.
        let known =
            [(0.0, 0.0, 100), (-1.0, 0.0, 100), (1.0, 0.0, 3), (0.25, 0.0, 100), (3.0, 0.0, 1)];
        for (re, im, iterations) in known {
            assert_eq!(escape(re, im, 100), iterations, "{re} {im}");
        }
    }

    #[test]
    fn the_area_of_the_set_comes_out() {
        // 1.5065918849 (Förstemann 2012); a picture of this size is within a few percent.
        let view = View::whole(1_000).scaled_to_width(254);
        let pixels = (0..view.height).flat_map(|row| (0..view.width).map(move |at| (at, row)));
        let inside = pixels.filter(|(at, row)| view.iterations(*at, *row) == view.limit).count();
        let area = inside as f64 * view.step * view.step;
        assert!((area - 1.5066).abs() < 0.03, "{area}");
    }

    #[test]
    fn upper_and_lower_half_mirror_each_other() {
        let view = View::whole(50).scaled_to_width(100);
        for column in 0..view.width {
            assert_eq!(view.iterations(column, 3), view.iterations(column, view.height - 4));
        }
    }
}
