//! A frame of the profile `pcwt` as bytes: see section 7 of `kernels/BITSTREAM.md`.

use super::error::{MAX_LENGTH, PcwtError, QMIN_MAX};
use super::tree::Tree;

/// One channel, coded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodedChannel {
    /// The largest length of all: Qmax + 1.
    pub(crate) peak: u8,
    /// Bytes of each group.
    pub(crate) lengths: Vec<u16>,
    /// The groups' bytes one after another.
    pub(crate) data: Vec<u8>,
}

/// One channel to decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedChannel<'a> {
    /// The largest length of all, at most [`MAX_LENGTH`].
    pub(crate) peak: u8,
    /// End of each group's bytes.
    pub(crate) ends: Vec<u32>,
    /// The groups' bytes one after another.
    pub(crate) data: &'a [u8],
}

impl<'a> ReceivedChannel<'a> {
    /// Returns the bytes of a group.
    pub(crate) fn group(&self, index: usize) -> &'a [u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.data[start as usize..self.ends[index] as usize]
    }
}

/// A frame to decode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedPcwt<'a> {
    /// Bit planes left out.
    pub(crate) qmin: u8,
    pub(crate) channels: Vec<ReceivedChannel<'a>>,
}

/// Returns the bytes of a frame.
pub(crate) fn write(qmin: u8, channels: &[CodedChannel]) -> Result<Vec<u8>, PcwtError> {
    if let Some(found) = channels.iter().map(|channel| channel.peak).find(|&peak| peak > MAX_LENGTH) {
        return Err(PcwtError::Peak { found });
    }
    let bytes = channels.iter().map(|channel| 1 + 2 * channel.lengths.len() + channel.data.len()).sum::<usize>();
    let mut out = Vec::with_capacity(1 + bytes);
    out.push(qmin);
    out.extend(channels.iter().map(|channel| channel.peak));
    for channel in channels {
        channel.lengths.iter().for_each(|length| out.extend(length.to_le_bytes()));
    }
    channels.iter().for_each(|channel| out.extend_from_slice(&channel.data));
    Ok(out)
}

/// Finds the groups of a frame whose channels have these trees.
pub(crate) fn parse<'a>(bytes: &'a [u8], trees: &[Tree]) -> Result<ReceivedPcwt<'a>, PcwtError> {
    let groups: usize = trees.iter().map(|tree| tree.groups.len()).sum();
    let head = 1 + trees.len();
    let short = || PcwtError::TooShort { needed: head + 2 * groups, given: bytes.len() };
    let (lengths, mut data) = bytes.split_at_checked(head + 2 * groups).ok_or_else(short)?;
    let (head, lengths) = lengths.split_at_checked(head).ok_or_else(short)?;
    let (&qmin, peaks) = head.split_first().ok_or_else(short)?;
    if qmin > QMIN_MAX {
        return Err(PcwtError::Qmin { found: qmin });
    }
    if let Some(&found) = peaks.iter().find(|&&peak| peak > MAX_LENGTH) {
        return Err(PcwtError::Peak { found });
    }
    let mut lengths = lengths.as_chunks::<2>().0.iter().map(|&length| u32::from(u16::from_le_bytes(length)));
    let given = data.len();
    let wanted: usize = lengths.clone().map(|length| length as usize).sum();
    // Ends are 32-bit, as the length of a frame is in a file.
    if wanted != given || u32::try_from(given).is_err() {
        return Err(PcwtError::Length { wanted: wanted.min(u32::MAX as usize), given });
    }
    let channel = |(tree, &peak): (&Tree, &u8)| {
        let mut end = 0;
        let ends: Vec<u32> = lengths
            .by_ref()
            .take(tree.groups.len())
            .map(|length| {
                end += length;
                end
            })
            .collect();
        let (own, rest) = data.split_at_checked(end as usize).ok_or(PcwtError::Length { wanted, given })?;
        data = rest;
        Ok(ReceivedChannel { peak, ends, data: own })
    };
    let channels = trees.iter().zip(peaks).map(channel).collect::<Result<_, _>>()?;
    Ok(ReceivedPcwt { qmin, channels })
}
