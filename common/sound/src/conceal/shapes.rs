//! Sizes and shapes that both halves of concealment have.

/// Frames that coefficients are computed from.
pub const HISTORY_FRAMES: usize = 2048;
/// Coefficients of a channel.
pub const ORDER: usize = 256;

/// Frame of sound: left and right, the same where the stream has one channel.
pub(crate) type Frame = [f32; 2];

/// Coefficients of both channels, that of the oldest sample first.
pub(crate) type Coefficients = [[f32; ORDER]; 2];
