//! Bencoding (BEP 3), the form of the DHT's messages. Nested values are passed over without recursion: whoever sends a thousand
//! lists within each other costs a loop.

/// Appends a byte string.
pub(super) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(bytes.len().to_string().bytes());
    out.push(b':');
    out.extend(bytes);
}

/// Appends an integer.
pub(super) fn put_integer(integer: i64, out: &mut Vec<u8>) {
    out.extend(format!("i{integer}e").bytes());
}

/// Returns what stands at `key` in a dictionary, as it is encoded; none if there is nothing, or this is no dictionary.
pub(super) fn entry<'a>(dictionary: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut rest = dictionary.strip_prefix(b"d")?;
    while rest.first()? != &b'e' {
        let (name, after) = string(rest)?;
        let (value, next) = after.split_at(length(after)?);
        if name == key {
            return Some(value);
        }
        rest = next;
    }
    None
}

/// Returns the byte string that this is; none if it is none.
pub(super) fn bytes(encoded: &[u8]) -> Option<&[u8]> {
    string(encoded).map(|(bytes, _)| bytes)
}

/// Returns a byte string from the front, and what stands behind it.
fn string(encoded: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = encoded.iter().take(8).position(|byte| *byte == b':')?;
    let digits = encoded.get(..colon).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let length: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
    encoded.get(colon + 1..)?.split_at_checked(length)
}

/// Returns how many bytes the value at the front takes; none if it is not whole.
fn length(encoded: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0_usize, 0_usize);
    loop {
        let rest = encoded.get(at..)?;
        match rest.first()? {
            b'd' | b'l' => (at, depth) = (at + 1, depth + 1),
            b'e' => (at, depth) = (at + 1, depth.checked_sub(1)?),
            b'i' => at += 1 + rest.iter().position(|byte| *byte == b'e')?,
            _ => at += rest.len() - string(rest)?.1.len(),
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_are_found_behind_all_kinds_of_others() {
        let message = b"d1:ad1:xi7e1:yli1e2:abee1:bi-42e1:c3:abc1:tle1:z0:e";
        assert_eq!(entry(message, b"a"), Some(b"d1:xi7e1:yli1e2:abee".as_slice()));
        assert_eq!(entry(message, b"c").and_then(bytes), Some(b"abc".as_slice()));
        assert_eq!(entry(message, b"t"), Some(b"le".as_slice()));
        assert_eq!(entry(message, b"z").and_then(bytes), Some(b"".as_slice()));
        for absent in [b"x", b"y", b"d"] {
            assert_eq!(entry(message, absent), None);
        }
        for end in 0..message.len() {
            assert_eq!(entry(&message[..end], b"none"), None, "{end}");
        }
        for wrong in [b"".as_slice(), b"d", b"d1:a", b"d1:a9:x", b"d-1:ai1ee", b"di1ei2ee", b"l1:ai1ee", b"d1:ae"] {
            assert_eq!(entry(wrong, b"a"), None);
        }
    }

    // It ends the crate `mainline` 8.0.1 by an overflow of its stack.
    #[test]
    fn a_datagram_of_lists_within_lists_is_a_loop() {
        for open in ["l", "d0:", "d1:r"] {
            let nested = [b"d1:rd1:v".to_vec(), open.repeat(2_000_000).into_bytes()].concat();
            assert_eq!(entry(&nested, b"t"), None);
        }
        let whole = [b"d1:a".to_vec(), b"l".repeat(1000), b"e".repeat(1000), b"1:ti5ee".to_vec()].concat();
        assert_eq!(entry(&whole, b"t"), Some(b"i5e".as_slice()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_not(encoded in proptest::collection::vec(any::<u8>(), 0..200), text in "[dlei0-9:a]{0,60}") {
            for encoded in [encoded.as_slice(), text.as_bytes()] {
                for key in [b"".as_slice(), b"a"] {
                    if let Some(value) = entry(encoded, key) {
                        prop_assert_eq!(length(value), Some(value.len()));
                        let _ = bytes(value);
                    }
                }
            }
        }
    }
}
