//! What may differ from device to device without changing a bit of any result: work-group shapes and segment sizes.

use crate::DeviceKind;

/// Sizes that depend on the device and not on the stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuning {
    /// Work-items in a group of the transform.
    pub(super) group_size: usize,
    /// Column pairs that one group of the transform writes.
    pub(super) strip: usize,
    /// Groups wanted for each compute unit; more make segments shorter.
    pub(super) groups_per_unit: usize,
    /// Least row pairs in one group's segment; each segment lifts three pairs more than it writes.
    pub(super) min_segment: usize,
    /// Work-items in a group of a generated scheme, columns and rows: a tile of quadruples with its halo.
    pub(super) tile: [usize; 2],
    /// Work-items in a group that codes one block.
    pub(super) block_group_size: usize,
}

impl Tuning {
    /// For processors: one work-item, so that the compiler vectorises the inner loops.
    pub(super) const CPU: Self =
        Self { group_size: 1, strip: 128, groups_per_unit: 4, min_segment: 24, tile: [64, 16], block_group_size: 1 };
    /// For graphics cards: a strip with its halo of 4 is one pass of the group.
    pub(super) const GPU: Self =
        Self { group_size: 64, strip: 60, groups_per_unit: 4, min_segment: 24, tile: [32, 16], block_group_size: 32 };

    /// The built-in settings for a device of this kind.
    pub(super) fn default_for(kind: DeviceKind) -> Self {
        if kind == DeviceKind::Cpu { Self::CPU } else { Self::GPU }
    }
}
