//! Distance of a decoded picture from its source.

/// Returns the PSNR of decoded samples, decibels; infinite if they are exact. As many as `samples` count.
pub fn psnr_db(samples: &[u8], decoded: &[u8]) -> f64 {
    let squares = samples.iter().zip(decoded).map(|(&a, &b)| f64::from(a.abs_diff(b)).powi(2));
    decibels(squares.sum(), samples.len(), 255.0)
}

/// Returns the PSNR, decibels, of `count` samples of at most `peak` whose squared differences add up to `squares`.
pub fn decibels(squares: f64, count: usize, peak: f64) -> f64 {
    10.0 * (peak * peak * count as f64 / squares).log10()
}
