//! Settings that may differ from device to device and change no result: work-group shapes and segment sizes.

use serde::{Deserialize, Serialize};

use crate::DeviceKind;

/// Defines [`Tuning`] and [`SETTINGS`] from one entry per setting: what it is, its name, its type, the values that it
/// may have, and for processors and for other devices the default and the values worth measuring.
macro_rules! settings {
    ($(
        #[doc = $about:literal]
        $name:ident: $type:ty = $allowed:expr,
            cpu: $cpu:expr => $cpu_values:expr, gpu: $gpu:expr => $gpu_values:expr;
    )+) => {
        /// Sizes that depend on the device and not on the stream.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Tuning {
            $(#[doc = $about] pub $name: $type,)+
        }

        impl Tuning {
            /// For processors: one work-item, so that the compiler vectorises the inner loops.
            pub const CPU: Self = Self { $($name: $cpu,)+ };
            /// For graphics cards: many work-items share a tile.
            pub const GPU: Self = Self { $($name: $gpu,)+ };
        }

        /// All settings, in the order in which they are tuned: first those that need no other kernels.
        pub const SETTINGS: &[Setting] = &[$(
            Setting {
                name: stringify!($name),
                about: $about,
                value: |tuning| format!("{:?}", tuning.$name),
                problem: |tuning| {
                    let allowed = $allowed;
                    (!allowed.contains(&tuning.$name)).then(|| format!("not one of {allowed:?}"))
                },
                candidates: |kind, tuning| {
                    let values: &[$type] = if kind == DeviceKind::Cpu { &$cpu_values } else { &$gpu_values };
                    let others = values.iter().filter(|&&value| value != tuning.$name);
                    others.map(|&value| Tuning { $name: value, ..tuning.clone() }).collect()
                },
            },
        )+];
    };
}

settings! {
    /// Segments wanted for each compute unit of a processor; more make segments shorter.
    groups_per_unit: usize = 1..=64, cpu: 4 => [1, 2, 8, 16], gpu: 4 => [];
    /// Least row pairs in one segment; each lifts three pairs more than it writes.
    min_segment: usize = 1..=4096, cpu: 24 => [12, 24, 48, 96], gpu: 24 => [];
    /// Column pairs of such a segment.
    strip: usize = 16..=1024, cpu: 1024 => [256, 512], gpu: 60 => [];
    /// Work-items in a group of the transform: one slides down a segment, more take lines and rows of planes.
    group_size: usize = 1..=1024, cpu: 1 => [1], gpu: 64 => [32, 64, 128, 256];
    /// Columns and rows of work-items in a group of a generated scheme: a tile of quadruples with its halo.
    tile: [usize; 2] = [[16, 16], [32, 8], [32, 16], [64, 8], [64, 16]],
        cpu: [64, 16] => [[64, 16]], gpu: [32, 16] => [[32, 16]];
    /// Work-items in a group that codes blocks.
    block_group_size: usize = [1, 32, 64], cpu: 1 => [1], gpu: 32 => [32];
    /// Blocks that such a group encodes.
    blocks_per_group: usize = [1, 2, 4], cpu: 1 => [1], gpu: 2 => [2];
    /// Work-items in a group that looks for vectors of predicted frames; 0: the processor does, which is faster beside one.
    search_group_size: usize = [0, 1, 32, 64, 128, 256], cpu: 0 => [0], gpu: 64 => [32, 64, 128];
    /// Tiles of the separable forward transform, see `TileShape`.
    forward_tile: [usize; 5] = TILES, cpu: [1, 32, 16, 16, 1] => [[1, 32, 16, 16, 1]], gpu: [128, 32, 28, 7, 2] => TILES;
    /// Tiles of the separable inverse transform, see `TileShape`.
    inverse_tile: [usize; 5] = TILES, cpu: [1, 32, 16, 16, 1] => [[1, 32, 16, 16, 1]], gpu: [160, 64, 12, 6, 1] => TILES;
    /// Samples of a level up to which the separable scheme takes a barrier a step; 0: never.
    small_level: usize = 0..=1 << 24, cpu: 0 => [0], gpu: 1 << 20 => [0, 1 << 18, 1 << 22];
    /// Levels of at most this side are finished by one group.
    tail_side: usize = [16, 32, 64], cpu: 64 => [32], gpu: 64 => [32];
    /// Work-items of that group.
    tail_group_size: usize = 1..=1024, cpu: 1 => [1], gpu: 512 => [256, 1024];
}

/// Shapes of tiles worth measuring.
const TILES: [[usize; 5]; 11] = [
    [1, 32, 16, 16, 1],
    [64, 16, 8, 4, 2],
    [128, 16, 8, 4, 1],
    [128, 32, 16, 8, 1],
    [128, 32, 24, 6, 2],
    [128, 32, 28, 7, 2],
    [160, 64, 8, 4, 1],
    [160, 64, 12, 6, 1],
    [160, 64, 16, 8, 1],
    [256, 32, 24, 6, 2],
    [256, 64, 24, 6, 2],
];

/// Shape of the tiles of `cl/transform/dwt_tile.cl` and `cl/transform/idwt_tile.cl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// Work-items in a group.
    pub group_size: usize,
    /// Pairs of columns of a tile: a multiple of 4.
    pub width: usize,
    /// Pairs of rows of a tile: a multiple of [`Self::segment`].
    pub height: usize,
    /// Pairs of rows that a work-item lifts at once.
    pub segment: usize,
    /// Units of four pairs along a row that a work-item loads at once.
    pub batch: usize,
}

impl From<[usize; 5]> for TileShape {
    fn from([group_size, width, height, segment, batch]: [usize; 5]) -> Self {
        Self { group_size, width, height, segment, batch }
    }
}

/// A field of [`Tuning`].
#[derive(Debug)]
pub struct Setting {
    /// Name of the field.
    pub name: &'static str,
    /// Its meaning, one sentence.
    pub about: &'static str,
    value: fn(&Tuning) -> String,
    /// Returns the fault of its value, if any.
    problem: fn(&Tuning) -> Option<String>,
    candidates: fn(DeviceKind, &Tuning) -> Vec<Tuning>,
}

impl Setting {
    /// Returns its value in `tuning`.
    pub fn value(&self, tuning: &Tuning) -> String {
        (self.value)(tuning)
    }

    /// Returns `tuning` with each other value of this setting that is worth measuring on a device of this kind.
    pub fn candidates(&self, kind: DeviceKind, tuning: &Tuning) -> Vec<Tuning> {
        (self.candidates)(kind, tuning)
    }
}

impl Tuning {
    /// Returns the built-in settings for a device of this kind.
    pub fn default_for(kind: DeviceKind) -> Self {
        if kind == DeviceKind::Cpu { Self::CPU } else { Self::GPU }
    }

    /// Returns the work-items that encode one block.
    pub fn lanes(&self) -> usize {
        self.block_group_size / self.blocks_per_group
    }

    /// Refuses values that no setting may have and groups of more than `max_group_size` work-items, with a sentence
    /// that names the setting.
    pub fn check(&self, max_group_size: usize) -> Result<(), String> {
        for setting in SETTINGS {
            if let Some(problem) = (setting.problem)(self) {
                return Err(format!("{} is {}, {problem}", setting.name, setting.value(self)));
            }
        }
        if self.lanes() == 0 {
            let Self { blocks_per_group, block_group_size, .. } = self;
            return Err(format!("{blocks_per_group} blocks do not share {block_group_size} work-items"));
        }
        // The generated schemes and the tail make their groups as small as the device needs.
        let tiles = self.forward_tile[0].max(self.inverse_tile[0]);
        let largest = self.group_size.max(self.block_group_size).max(tiles);
        if largest > max_group_size {
            return Err(format!("groups of {largest} work-items are too large, the device runs {max_group_size}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_candidates_are_allowed() {
        for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
            let default = Tuning::default_for(kind);
            assert_eq!(default.check(1024), Ok(()));
            for setting in SETTINGS {
                let candidates = setting.candidates(kind, &default);
                assert!(candidates.iter().all(|candidate| candidate.check(1024).is_ok()), "{}", setting.name);
                assert!(!candidates.contains(&default), "{}", setting.name);
            }
        }
    }

    #[test]
    fn candidates_differ_in_one_setting() {
        let tuning = Tuning { strip: 252, ..Tuning::CPU };
        let strip = SETTINGS.iter().find(|setting| setting.name == "strip").unwrap();
        let candidates = strip.candidates(DeviceKind::Cpu, &tuning);
        assert!(candidates.len() > 1);
        for candidate in candidates {
            assert_ne!(candidate.strip, 252);
            assert_eq!(Tuning { strip: 252, ..candidate }, tuning);
        }
    }

    #[test]
    fn values_that_may_not_be_are_refused_by_name() {
        let refused = |tuning: Tuning, max_group_size| tuning.check(max_group_size).unwrap_err();
        assert_eq!(refused(Tuning { strip: 0, ..Tuning::GPU }, 1024), "strip is 0, not one of 16..=1024");
        assert!(refused(Tuning { min_segment: usize::MAX, ..Tuning::CPU }, 1024).starts_with("min_segment"));
        let large = Tuning { group_size: 512, ..Tuning::GPU };
        assert!(refused(large, 256).contains("512 work-items"));
        assert!(refused(Tuning { block_group_size: 64, ..Tuning::CPU }, 32).contains("64 work-items"));
        assert!(refused(Tuning::GPU, 128).contains("160 work-items"));
    }
}
