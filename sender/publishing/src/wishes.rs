//! The host's wishes, and the bits that each part of the show takes.

use common::units::Bitrate;
use shell::settings::OwnSide;

use crate::catalogue::Programme;
use crate::target::Target;

/// Most bits a second of the large picture.
pub const MAIN_BPS: u64 = 1_200_000;
/// Of the small one.
pub const BASE_BPS: u64 = 250_000;
/// Of the sound.
pub const SOUND_BPS: u32 = 96_000;

/// The host's choice of what to publish and where to.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Where.
    pub target: Target,
    /// Words beside the picture.
    pub programme: Programme,
    /// Most bits a second for all together.
    pub cap: Bitrate,
    /// Players on the picture.
    pub players: usize,
    /// The own side of the call, which says whether the own picture is hidden, and takes the counts.
    pub own: OwnSide,
}
