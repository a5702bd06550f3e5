//! The Mandelbrot set, as the study of 2006 on Java threads drew it (its test cases 1, 7, 8 and 9): 1016 by 718
//! pixels, several threads, and several ways to protect the writing of a pixel.

mod view;

mod picture;

mod render;

pub use picture::Picture;
pub use render::{Rendered, Writing, render};
pub use view::View;
