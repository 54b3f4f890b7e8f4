//! The macro behind the tables: one row makes an id and what belongs to it.

/// An enum of ids with one row each. `Id::row` is the row of an id, `Id::ALL` all ids in table order.
macro_rules! table {
    ($(#[$meta:meta])* $Id:ident: $Row:ident { $($name:ident = $row:expr;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(crate) enum $Id { $($name,)* }

        impl $Id {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];
            const ROWS: &[$Row] = &[$($row,)*];

            pub(crate) const fn row(self) -> &'static $Row {
                &Self::ROWS[self as usize]
            }
        }
    };
}

pub(super) use table;
