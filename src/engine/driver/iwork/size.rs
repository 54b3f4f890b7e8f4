//! Sizes, ratios and orientations.

use crate::contract::Confidence::Exact;
use crate::engine::catalogue::Target;
use crate::engine::container::iwa::{DecodeError, Fields};
use crate::engine::findings::Findings;
use crate::engine::value::Value;

/// A width and a height in points, as they stand in the document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Size {
    pub(super) width: f32,
    pub(super) height: f32,
}

/// The targets that follow from a size.
pub(super) struct SizeTargets {
    pub(super) size: Target,
    pub(super) ratio: Target,
    pub(super) orientation: Target,
}

impl Size {
    /// Reads a `TSP.Size`.
    pub(super) fn read(message: &[u8]) -> Result<Self, DecodeError> {
        let mut size = Self::default();
        for field in Fields::of(message) {
            let field = field?;
            match field.number {
                1 => size.width = field.value.float().unwrap_or(size.width),
                2 => size.height = field.value.float().unwrap_or(size.height),
                _ => {}
            }
        }
        Ok(size)
    }

    fn is_real(self) -> bool {
        [self.width, self.height]
            .into_iter()
            .all(|side| side.is_finite() && side > 0.0)
    }
}

/// Puts the three targets: what a size says, or null where it is none.
pub(super) fn put(targets: &SizeTargets, size: Size, source: &'static str, out: &mut Findings) {
    if !size.is_real() {
        for target in targets.all() {
            out.put(target, Value::Null, Exact, source);
        }
        return;
    }
    let (width, height) = (widen(size.width), widen(size.height));
    let object = Value::object([
        ("width_pt", Value::from(width)),
        ("height_pt", Value::from(height)),
    ]);
    out.put(targets.size, object, Exact, source);
    let ratio = Value::object([
        ("decimal", Value::from(width / height)),
        ("width", Value::from(width)),
        ("height", Value::from(height)),
    ]);
    out.put(targets.ratio, ratio, Exact, source);
    let orientation = if size.width > size.height {
        "landscape"
    } else if size.width < size.height {
        "portrait"
    } else {
        "square"
    };
    out.put(targets.orientation, orientation, Exact, source);
}

/// Says that the three targets are not known.
pub(super) fn unknown(targets: &SizeTargets, out: &mut Findings) {
    for target in targets.all() {
        out.unknown(target);
    }
}

impl SizeTargets {
    fn all(&self) -> [Target; 3] {
        [self.size, self.ratio, self.orientation]
    }
}

/// The double that prints like the float: 595.28, not 595.280029296875.
fn widen(side: f32) -> f64 {
    side.to_string().parse().unwrap_or_else(|_| f64::from(side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_widened_by_their_shortest_form() {
        for (side, expected) in [
            (595.28_f32, 595.28_f64),
            (720.0, 720.0),
            (0.1, 0.1),
            (1e-40, 1e-40),
        ] {
            assert_eq!(widen(side), expected);
        }
    }
}
