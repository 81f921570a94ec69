//! The size of a picture that fills a window or a frame in its own shape.

/// Returns the largest size of the shape of `size` that is not larger than `room`.
pub(super) fn enlarged(size: (usize, usize), room: (usize, usize)) -> (usize, usize) {
    let (width, height) = size;
    // The side that fills the room does so exactly.
    let is_wide = width * room.1 >= height * room.0;
    let fitted = if is_wide { (room.0, height * room.0 / width) } else { (width * room.1 / height, room.1) };
    (fitted.0.max(1), fitted.1.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_fill_the_window_in_shape() {
        assert_eq!(enlarged((1280, 720), (2560, 1440)), (2560, 1440));
        assert_eq!(enlarged((1280, 720), (1000, 1000)), (1000, 562));
        assert_eq!(enlarged((640, 480), (1920, 1080)), (1440, 1080));
        assert_eq!(enlarged((16384, 1), (100, 100)), (100, 1));
        assert_eq!(enlarged((1280, 720), (1, 1)), (1, 1));
    }
}
