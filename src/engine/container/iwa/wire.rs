//! The wire format of Protocol Buffers, as far as a reader without schemas needs it.

/// Bytes that are not what they should be. Where it happened is known to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DecodeError;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    pub(crate) value: Wire<'a>,
}

/// The value of a field by its wire type. Which of signed, unsigned, text or message it is, only the
/// schema knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    /// A string, a message or packed scalars.
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    /// The identifier in a `TSP.Reference`.
    pub(crate) fn reference(self) -> Result<Option<u64>, DecodeError> {
        self.bytes().map_or(Ok(None), |message| number(message, 1))
    }

    pub(crate) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A bool or an unsigned number.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Self::Varint(n) => Some(n),
            _ => None,
        }
    }

    pub(crate) fn float(self) -> Option<f32> {
        match self {
            Self::Fixed32(bits) => Some(f32::from_bits(bits)),
            _ => None,
        }
    }

    pub(crate) fn double(self) -> Option<f64> {
        match self {
            Self::Fixed64(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }
}

/// The fields of a message in their order. Groups, which only old schemas have, are passed over.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next tag: field number and wire type.
    fn tag(&mut self) -> Result<(u32, u8), DecodeError> {
        let tag = u32::try_from(varint(&mut self.rest)?).map_err(|_| DecodeError)?;
        let number = tag >> 3;
        if number == 0 {
            return Err(DecodeError);
        }
        Ok((number, (tag & 7) as u8))
    }

    fn value(&mut self, wire_type: u8) -> Result<Wire<'a>, DecodeError> {
        Ok(match wire_type {
            0 => Wire::Varint(varint(&mut self.rest)?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = varint(&mut self.rest)?;
                Wire::Bytes(self.take(usize::try_from(length).map_err(|_| DecodeError)?)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(DecodeError),
        })
    }

    /// Passes over a group, to the end tag that belongs to it. Groups nest, so the depth is counted,
    /// not recursed into.
    fn skip_group(&mut self) -> Result<(), DecodeError> {
        let mut depth = 1_u64;
        while depth > 0 {
            match self.tag()? {
                (_, 3) => depth += 1,
                (_, 4) => depth -= 1,
                (_, wire_type) => {
                    self.value(wire_type)?;
                }
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
        while !self.rest.is_empty() {
            let (number, wire_type) = self.tag()?;
            if wire_type == 3 {
                self.skip_group()?;
                continue;
            }
            let value = self.value(wire_type)?;
            return Ok(Some(Field { number, value }));
        }
        Ok(None)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DecodeError)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(DecodeError)?;
        self.rest = rest;
        Ok(*taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.rest = &[];
        }
        step.transpose()
    }
}

/// The value of the last field with this number: where a field that is not repeated occurs several
/// times, the last one counts.
pub(crate) fn last(message: &[u8], number: u32) -> Result<Option<Wire<'_>>, DecodeError> {
    let mut last = None;
    for field in Fields::of(message) {
        let field = field?;
        if field.number == number {
            last = Some(field.value);
        }
    }
    Ok(last)
}

/// The text of a field, if it is valid UTF-8.
pub(crate) fn text(message: &[u8], number: u32) -> Result<Option<String>, DecodeError> {
    let bytes = last(message, number)?.and_then(Wire::bytes);
    Ok(bytes
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .map(str::to_owned))
}

/// The message in a field.
pub(crate) fn message(message: &[u8], number: u32) -> Result<Option<&[u8]>, DecodeError> {
    Ok(last(message, number)?.and_then(Wire::bytes))
}

/// The number in a field.
pub(crate) fn number(message: &[u8], number: u32) -> Result<Option<u64>, DecodeError> {
    Ok(last(message, number)?.and_then(Wire::number))
}

/// The identifier in the reference that a field holds.
pub(crate) fn reference(message: &[u8], number: u32) -> Result<Option<u64>, DecodeError> {
    last(message, number)?.map_or(Ok(None), Wire::reference)
}

/// Takes a varint from the beginning of `rest`.
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0_u64;
    for (index, &byte) in rest.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7F);
        let shift = 7 * index as u32;
        // The tenth byte has room for one bit.
        if index == 9 && bits > 1 {
            return Err(DecodeError);
        }
        value |= bits << shift;
        if byte < 0x80 {
            *rest = &rest[index + 1..];
            return Ok(value);
        }
    }
    Err(DecodeError)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<Field<'_>>, DecodeError> {
        Fields::of(bytes).collect()
    }

    #[test]
    fn every_wire_type_is_read() {
        let bytes = b"\x08\x96\x01\x11\x01\0\0\0\0\0\0\0\x1A\x02hi\x25\0\0\x80\x3F";
        let values: Vec<_> = fields(bytes)
            .unwrap()
            .into_iter()
            .map(|f| f.value)
            .collect();
        assert_eq!(
            values,
            [
                Wire::Varint(150),
                Wire::Fixed64(1),
                Wire::Bytes(b"hi"),
                Wire::Fixed32(0x3F80_0000)
            ]
        );
        assert_eq!(values[3].float(), Some(1.0));
        assert_eq!(number(b"\x08\x07", 1).unwrap(), Some(7));
    }

    #[test]
    fn groups_are_passed_over_however_deep_they_nest() {
        let mut bytes = vec![0x0B; 100_000];
        bytes.extend(std::iter::repeat_n(0x0C, 100_000));
        bytes.extend(b"\x10\x05");
        assert_eq!(
            fields(&bytes).unwrap(),
            [Field {
                number: 2,
                value: Wire::Varint(5)
            }]
        );
    }

    #[test]
    fn damage_is_an_error_once_and_then_the_end() {
        let cases: [&[u8]; 9] = [
            b"\x08",                                         // no value
            b"\x08\x80",                                     // a varint that does not end
            b"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", // 65 bits
            b"\x12\x05abc",                                  // longer than the message
            b"\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", // longer than memory
            b"\x11\0\0",                                     // a cut double
            b"\x00\x01",                                     // field number 0
            b"\x0B\x08\x01",                                 // a group without end
            b"\x0C",                                         // an end without group
        ];
        for bytes in cases {
            assert_eq!(fields(bytes), Err(DecodeError), "{bytes:02x?}");
            assert_eq!(Fields::of(bytes).filter(Result::is_err).count(), 1);
        }
    }
}
