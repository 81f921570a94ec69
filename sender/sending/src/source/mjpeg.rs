//! The pictures of a file of JPEGs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use net::failure::Failure;
use picture::frame::{FrameSize, PixelFormat};

use super::film::Film;
use super::input::{Input, failed};
use super::{JpegDecoder, JpegFault, MjpegReader};

/// A file of JPEG pictures. One that cannot be used is passed over and counted; what it is, is told the first time.
pub(super) struct MjpegFilm {
    reader: Option<MjpegReader<Input>>,
    decoder: JpegDecoder,
    /// The first picture, until it is asked for.
    first: Option<PixelFormat>,
    first_data: Vec<u8>,
    size: FrameSize,
    /// Pictures that could not be used, by the kind of their fault.
    faults: BTreeMap<&'static str, u64>,
    /// Pictures whose structure was broken, in earlier rounds.
    broken: u64,
    path: PathBuf,
}

impl MjpegFilm {
    /// Opens a file, and decodes up to the first picture that can be used, whose size is that of all.
    ///
    /// Errors: there is no picture that can be used.
    pub(super) fn open(input: Input, path: &Path) -> Result<Self, Failure> {
        let mut this = Self {
            reader: Some(MjpegReader::new(input)),
            decoder: JpegDecoder::default(),
            first: None,
            first_data: Vec::new(),
            size: FrameSize::USUAL,
            faults: BTreeMap::new(),
            broken: 0,
            path: path.to_owned(),
        };
        let mut data = Vec::new();
        let mut why = None;
        let Some((format, size)) = this.decode(&mut data, |fault| why = Some(fault))? else {
            let why = match (why, this.skipped()) {
                (Some(fault), _) => format!(" that can be used: {fault}"),
                (None, 1..) => " that can be used: the structure is broken of all that begin".to_owned(),
                (None, 0) => String::new(),
            };
            return Err(Failure::usage(format!("{}: there is no JPEG picture in it{why}", path.display())));
        };
        (this.first, this.first_data, this.size) = (Some(format), data, size);
        Ok(this)
    }

    /// Returns the size of all pictures.
    pub(super) fn size(&self) -> FrameSize {
        self.size
    }

    /// Decodes the next picture that can be decoded; `told` gets the fault of each before it.
    fn decode(
        &mut self,
        data: &mut Vec<u8>,
        mut told: impl FnMut(JpegFault),
    ) -> Result<Option<(PixelFormat, FrameSize)>, Failure> {
        loop {
            let Some(reader) = &mut self.reader else { return Ok(None) };
            match self.decoder.next(reader, data).map_err(|error| failed(&self.path, &error))? {
                Some(Ok(picture)) => return Ok(Some(picture)),
                Some(Err(JpegFault::OnlyTables)) => {}
                Some(Err(fault)) => {
                    self.skip(fault.kind(), &fault);
                    told(fault);
                }
                None => {
                    self.tell_faults();
                    return Ok(None);
                }
            }
        }
    }

    fn skip(&mut self, kind: &'static str, fault: &dyn std::fmt::Display) {
        let count = self.faults.entry(kind).or_default();
        *count += 1;
        if *count == 1 {
            tracing::warn!("{}: a picture was skipped: {fault}", self.path.display());
        } else {
            tracing::debug!("{}: a picture was skipped: {fault}", self.path.display());
        }
    }

    fn tell_faults(&self) {
        let broken = self.broken + self.reader.as_ref().map_or(0, MjpegReader::broken);
        let counts = self.faults.iter().map(|(&kind, &count)| (kind, count)).chain([("broken structure", broken)]);
        let counts: Vec<_> = counts.filter(|&(_, count)| count > 0).map(|(kind, n)| format!("{n} {kind}")).collect();
        if !counts.is_empty() {
            tracing::warn!("{}: pictures skipped so far: {}", self.path.display(), counts.join(", "));
        }
    }
}

impl Film for MjpegFilm {
    fn next(&mut self, data: &mut Vec<u8>) -> Result<Option<PixelFormat>, Failure> {
        if let Some(format) = self.first.take() {
            *data = std::mem::take(&mut self.first_data);
            return Ok(Some(format));
        }
        while let Some((format, size)) = self.decode(data, |_| ())? {
            if size == self.size {
                return Ok(Some(format));
            }
            self.skip("other size", &format!("it has {size} pixels, the first one has {}", self.size));
        }
        Ok(None)
    }

    fn begin_again(&mut self) -> Result<(), Failure> {
        if let Some(reader) = self.reader.take() {
            self.broken += reader.broken();
            let mut input = reader.into_inner();
            input.rewind(&self.path)?;
            self.reader = Some(MjpegReader::new(input));
        }
        Ok(())
    }

    fn skipped(&self) -> u64 {
        let broken = self.reader.as_ref().map_or(0, MjpegReader::broken);
        self.faults.values().sum::<u64>() + self.broken + broken
    }
}
