//! Distance of a decoded picture from its source.

/// Returns the PSNR of decoded samples, decibels; infinite if they are exact. As many as `samples` count.
pub fn psnr_db(samples: &[u8], decoded: &[u8]) -> f64 {
    let squares = samples.iter().zip(decoded).map(|(&a, &b)| f64::from(a.abs_diff(b)).powi(2));
    10.0 * (255.0_f64.powi(2) * samples.len() as f64 / squares.sum::<f64>()).log10()
}
