//! Object streams (ISO 32000-2, 7.5.7).

use std::cell::OnceCell;

use super::lexer::Lexer;
use super::object::Object;
use super::parser::{Parser, Wanted};

/// Most objects of one stream. Writers put some hundreds into each.
const MAX_OBJECTS: usize = 1 << 18;

/// A decoded object stream.
#[derive(Debug)]
pub(crate) struct ObjectStream<'p> {
    data: &'p [u8],
    /// Number and place of each object.
    index: Vec<(u32, u32)>,
    /// The index by number, of equal numbers the first; made when an entry is found to be wrong.
    by_number: OnceCell<Vec<(u32, u32)>>,
}

impl<'p> ObjectStream<'p> {
    /// Reads the index. `first` and `count` are claims: there are as many objects as the index holds.
    pub(crate) fn new(data: &'p [u8], first: usize, count: usize) -> Self {
        let head = &data[..first.min(data.len())];
        let mut lexer = Lexer::new(head, 0);
        // An entry takes four bytes at least.
        let mut index = Vec::with_capacity(count.min(MAX_OBJECTS).min(head.len() / 4));
        while index.len() < count.min(MAX_OBJECTS) {
            let (Some(number), Some(offset)) = (lexer.unsigned(), lexer.unsigned()) else {
                break;
            };
            let place = offset
                .checked_add(first as u64)
                .and_then(|place| u32::try_from(place).ok());
            if let (Ok(number), Some(place)) = (u32::try_from(number), place) {
                index.push((number, place));
            }
        }
        Self {
            data,
            index,
            by_number: OnceCell::new(),
        }
    }

    /// The numbers of the objects, in their order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.index.iter().map(|(number, _)| *number)
    }

    /// An object by its number, and how many bytes were parsed for it; `hint` is where the
    /// cross-reference entry puts it.
    pub(crate) fn object(
        &self,
        number: u32,
        hint: u32,
        wanted: Wanted,
    ) -> (Option<Object<'p>>, usize) {
        let hinted = usize::try_from(hint)
            .ok()
            .and_then(|hint| self.index.get(hint))
            .filter(|(found, _)| *found == number)
            .map(|(_, place)| *place);
        let place = hinted.or_else(|| self.place(number));
        let Some(place) = place.and_then(|place| usize::try_from(place).ok()) else {
            return (None, 0);
        };
        let mut parser = Parser::new(self.data, place, None);
        let object = parser.object_with(wanted).ok();
        (object, parser.lexer.position().saturating_sub(place))
    }

    fn place(&self, number: u32) -> Option<u32> {
        let by_number = self.by_number.get_or_init(|| {
            let mut sorted = self.index.clone();
            sorted.sort_by_key(|(number, _)| *number);
            sorted
        });
        let at = by_number.partition_point(|(found, _)| *found < number);
        let (found, place) = by_number.get(at)?;
        (*found == number).then_some(*place)
    }
}
