//! The sizes that pages are shown in (ISO 32000-2, 14.11.2).

use std::collections::HashMap;
use std::rc::Rc;

use super::pages::Inherited;
use crate::engine::container::pdf::{Dict, Document, Object};
use crate::engine::error::Result;
use crate::engine::value::Value;

/// Most distinct sizes that are counted, and most rectangles that are kept.
const MAX_SIZES: usize = 1000;

/// How many pages there are of each size.
#[derive(Default)]
pub(super) struct Sizes {
    counts: HashMap<(u64, u64), u64>,
    /// Rectangles that pages refer to.
    boxes: HashMap<u32, Option<Rectangle>>,
}

/// A rectangle with an area, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rectangle {
    left: f64,
    bottom: f64,
    right: f64,
    top: f64,
}

impl Sizes {
    /// Adds the size of a page as it is shown: its crop box, else its media box, rotated and scaled.
    pub(super) fn add<'p>(
        &mut self,
        document: &Document<'p>,
        page: &Dict<'p>,
        inherited: &Inherited<'p>,
    ) -> Result<()> {
        let media = self.rectangle(document, page, b"MediaBox", &inherited.media_box)?;
        let crop = self.rectangle(document, page, b"CropBox", &inherited.crop_box)?;
        let shown = match (crop, media) {
            // The crop box is clipped to the media box, and ignored when the two do not meet.
            (Some(crop), Some(media)) => crop.intersection(media).unwrap_or(media),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return Ok(()),
        };
        let (mut width, mut height) = (shown.right - shown.left, shown.top - shown.bottom);
        let unit = document
            .get(page, b"UserUnit")?
            .and_then(|unit| unit.as_f64());
        if let Some(unit) = unit.filter(|unit| unit.is_finite() && *unit > 0.0) {
            width *= unit;
            height *= unit;
        }
        let turn = match page.get(b"Rotate").or(inherited.rotate.as_deref()) {
            Some(object) => document.resolve(object)?.as_f64().unwrap_or(0.0),
            None => 0.0,
        };
        if (turn / 90.0).rem_euclid(2.0) == 1.0 {
            (width, height) = (height, width);
        }
        // Writers round differently: sizes that differ by less than a hundredth of a point are one.
        let rounded = |length: f64| ((length * 100.0).round() / 100.0).to_bits();
        let key = (rounded(width), rounded(height));
        if self.counts.len() < MAX_SIZES || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_default() += 1;
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The distinct sizes, the most frequent first.
    pub(super) fn value(&self) -> Value {
        let sizes = self.sorted().into_iter().map(|(count, width, height)| {
            Value::object([
                ("count", Value::from(count)),
                ("height_pt", Value::from(height)),
                ("width_pt", Value::from(width)),
            ])
        });
        Value::List(sizes.collect())
    }

    /// Sizes by name, with orientation, the most frequent first.
    pub(super) fn classes(&self) -> Value {
        let mut classes: Vec<(&str, &str, u64)> = Vec::new();
        for (count, width, height) in self.sorted() {
            let class = class_of(width, height);
            let orientation = orientation(width, height);
            match classes
                .iter_mut()
                .find(|known| (known.0, known.1) == (class, orientation))
            {
                Some(known) => known.2 += count,
                None => classes.push((class, orientation, count)),
            }
        }
        classes.sort_by_key(|(class, orientation, count)| {
            (std::cmp::Reverse(*count), *class, *orientation)
        });
        let classes = classes.into_iter().map(|(class, orientation, count)| {
            Value::object([
                ("class", Value::from(class)),
                ("count", Value::from(count)),
                ("orientation", Value::from(orientation)),
            ])
        });
        Value::List(classes.collect())
    }

    /// Number of pages, width and height of each size, the most frequent first.
    fn sorted(&self) -> Vec<(u64, f64, f64)> {
        let mut sizes: Vec<_> = self
            .counts
            .iter()
            .map(|((width, height), count)| {
                (*count, f64::from_bits(*width), f64::from_bits(*height))
            })
            .collect();
        sizes.sort_by(|a, b| {
            b.0.cmp(&a.0)
                .then(a.1.total_cmp(&b.1))
                .then(a.2.total_cmp(&b.2))
        });
        sizes
    }

    /// A box of a page. One that many pages refer to is read once.
    fn rectangle<'p>(
        &mut self,
        document: &Document<'p>,
        page: &Dict<'p>,
        key: &[u8],
        inherited: &Option<Rc<Object<'p>>>,
    ) -> Result<Option<Rectangle>> {
        let Some(object) = page.get(key).or(inherited.as_deref()) else {
            return Ok(None);
        };
        let Some(reference) = object.as_ref() else {
            return Rectangle::read(document, object);
        };
        if let Some(known) = self.boxes.get(&reference.number) {
            return Ok(*known);
        }
        let rectangle = Rectangle::read(document, &*document.resolve(object)?)?;
        if self.boxes.len() < MAX_SIZES {
            self.boxes.insert(reference.number, rectangle);
        }
        Ok(rectangle)
    }
}

/// Paper sizes in points, the shorter side first: ISO 216, ANSI Y14.1 and the usual trade names.
const CLASSES: &[(&str, f64, f64)] = &[
    ("A0", 2383.9, 3370.4),
    ("A1", 1683.8, 2383.9),
    ("A2", 1190.6, 1683.8),
    ("A3", 841.9, 1190.6),
    ("A4", 595.3, 841.9),
    ("A5", 419.5, 595.3),
    ("A6", 297.6, 419.5),
    ("B4", 708.7, 1000.6),
    ("B5", 498.9, 708.7),
    ("Letter", 612.0, 792.0),
    ("Legal", 612.0, 1008.0),
    ("Tabloid", 792.0, 1224.0),
    ("Executive", 522.0, 756.0),
];

/// How far a side may be from its class: printers and converters round to whole points or millimetres.
const TOLERANCE: f64 = 3.0;

fn class_of(width: f64, height: f64) -> &'static str {
    let (short, long) = (width.min(height), width.max(height));
    let fits = |(_, class_short, class_long): &&(&str, f64, f64)| {
        (short - class_short).abs() <= TOLERANCE && (long - class_long).abs() <= TOLERANCE
    };
    CLASSES.iter().find(fits).map_or("other", |class| class.0)
}

fn orientation(width: f64, height: f64) -> &'static str {
    if (width - height).abs() < 0.01 {
        "square"
    } else if width > height {
        "landscape"
    } else {
        "portrait"
    }
}

impl Rectangle {
    /// Reads a rectangle from any two opposite corners (7.9.5). `None` when it has no area.
    fn read<'p>(document: &Document<'p>, object: &Object<'p>) -> Result<Option<Self>> {
        let Some(corners) = object.as_array().filter(|corners| corners.len() >= 4) else {
            return Ok(None);
        };
        let mut numbers = [0.0; 4];
        for (number, corner) in numbers.iter_mut().zip(corners) {
            match document.resolve(corner)?.as_f64() {
                Some(value) if value.is_finite() => *number = value,
                _ => return Ok(None),
            }
        }
        let [x, y, other_x, other_y] = numbers;
        let rectangle = Self {
            left: x.min(other_x),
            bottom: y.min(other_y),
            right: x.max(other_x),
            top: y.max(other_y),
        };
        Ok(rectangle.has_area().then_some(rectangle))
    }

    fn has_area(self) -> bool {
        self.right > self.left && self.top > self.bottom
    }

    /// What two rectangles have in common. `None` when that has no area.
    fn intersection(self, other: Self) -> Option<Self> {
        let common = Self {
            left: self.left.max(other.left),
            bottom: self.bottom.max(other.bottom),
            right: self.right.min(other.right),
            top: self.top.min(other.top),
        };
        common.has_area().then_some(common)
    }
}
