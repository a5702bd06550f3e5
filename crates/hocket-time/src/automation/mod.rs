//! Automation: lanes of points, and cursors that play them.

mod cursor;
mod lane;

pub use cursor::{LaneCursor, LaneValue};
pub use lane::{
    CONTROL_GRID_FRAMES, Lane, LaneError, LanePoint, MAX_CURVE, MAX_LANE_POINTS, Shape,
};
