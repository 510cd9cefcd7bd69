//! Sections as structs: each field is a key of its section, named, described and limited in one place.
//!
//! Layer: rank 7. Main items: the macro [`section!`](crate::section!), which declares a struct with its
//! reader; [`fields!`](crate::fields!) and [`keys!`](crate::keys!), which read into a struct of another crate; the
//! trait [`Field`], what a field can be.
//!
//! ```
//! use boardlab_document::section;
//! use boardlab_document::{Document, SourcedValue, source::{Kind, Source}};
//! use boardlab_sim::{Bytes, Duration};
//!
//! #[derive(Debug, Clone, Copy, PartialEq)]
//! enum Endian { Big, Little }
//! const ENDIANS: [(&str, Endian); 2] = [("big", Endian::Big), ("little", Endian::Little)];
//!
//! section! {
//!     /// A bus.
//!     struct Bus {
//!         /// A write, with what it rests on.
//!         write_cycle: SourcedValue<Duration> => positive(),
//!         /// Bytes that are written at once.
//!         buffer: Bytes => within(Bytes::new(2), Bytes::kib(4)),
//!         /// Chips that share it.
//!         chips: u32 => within(1, 16).or(1),
//!         /// The order of bytes; its key is `byte_order`.
//!         endian as "byte_order": Endian => one_of(ENDIANS),
//!     }
//! }
//!
//! section! {
//!     /// A board.
//!     struct Board(section, most: Bytes) {
//!         /// What it is, one line.
//!         title: String,
//!         /// The bus: a section of its own.
//!         bus: Bus,
//!         /// A second one, on some boards.
//!         second: Option<Bus>,
//!     }
//!     check(bus) {
//!         if bus.buffer > most {
//!             let expected = format!("at most {most}");
//!             let problem = "has too large a buffer";
//!             return Err(section.refuse("bus", problem, &expected, "make it smaller"));
//!         }
//!     }
//! }
//!
//! let text = "title = \"X\"\n[bus]\nwrite_cycle = \"9 ns\"\nbuffer = \"32 B\"\nbyte_order = \"big\"\n";
//! let document = Document::parse(&Source::new(Kind::Scenario, "x.toml", text))?;
//! let board = document.read(|section| Board::read(section, Bytes::kib(1)))?.value;
//! assert_eq!((board.bus.buffer, board.bus.chips, board.bus.endian), (Bytes::new(32), 1, Endian::Big));
//! assert!(board.title == "X" && board.second.is_none());
//! # Ok::<(), boardlab_document::error::Error>(())
//! ```
//!
//! | after the type | the field is |
//! |---|---|
//! | nothing | what its type says: see [`Field`] |
//! | `=> within(LOW, HIGH).or(DEFAULT)` | the same with limits and a default: methods of [`Key`] |
//! | `=> one_of(NAMES)`, also with `.or(DEFAULT)` | what a name in the list stands for |
//! | `=> section(READ)`, `optional_section`, `sections` | a section, or a list of them, read so |
//! | `=> only(NAME, \|key\| key.within(LOW, HIGH))` | the only key of a section, here with limits |
//! | `=> with(READ, ARGUMENT...)` | what `READ(&section, KEY, ARGUMENT...)` gives |
//! | `= EXPRESSION` | what that gives, a [`Read`]; the fields above are in scope, each a [`Read`] |
//! | `= EXPRESSION => MAKE` | what `MAKE(&section, VALUE)` makes of that, once all keys are known |
//!
//! The fields are read in their order, which is that of the parameters of a result. Then unknown and
//! missing keys are reported. Then come the checks, each about the fields that it names: there they are
//! references to their values, and `return Err(...)` refuses the section.

use crate::{Key, Read, Section, SourcedValue, Value};

/// What a field of a section can be. A [`Value`], a number of fewer bits than TOML's and a struct of
/// [`section!`](crate::section!) must be there, each of them in an [`Option`] may lack; [`SourcedValue`] keeps
/// what a value rests on.
pub trait Field: Sized {
    /// What the limits are about.
    type Value;

    /// Reads a field that must be there.
    fn required(key: Key<'_, '_, Self::Value>) -> Read<Self>;

    /// Reads a field that may lack.
    fn optional(key: Key<'_, '_, Self::Value>) -> Read<Option<Self>>;
}

impl<T: Value> Field for T {
    type Value = T;
    fn required(key: Key<'_, '_, T>) -> Read<T> {
        key.required()
    }
    fn optional(key: Key<'_, '_, T>) -> Read<Option<T>> {
        key.optional()
    }
}

impl<T: Value> Field for SourcedValue<T> {
    type Value = T;
    fn required(key: Key<'_, '_, T>) -> Read<Self> {
        key.sourced()
    }
    fn optional(key: Key<'_, '_, T>) -> Read<Option<Self>> {
        key.optional_sourced()
    }
}

impl<T: Field> Field for Option<T> {
    type Value = T::Value;
    fn required(key: Key<'_, '_, T::Value>) -> Read<Self> {
        T::optional(key)
    }
    fn optional(key: Key<'_, '_, T::Value>) -> Read<Option<Self>> {
        T::optional(key).map(Some)
    }
}

impl Section<'_> {
    /// Reads the section called `key`, whose only key is `name`: a value with the limits that `limited` sets.
    pub fn only<T: Field>(
        &self,
        key: &str,
        name: &str,
        limited: impl for<'k, 'b> FnOnce(Key<'k, 'b, T::Value>) -> Key<'k, 'b, T::Value>,
    ) -> Read<T> {
        self.section(key, |section| {
            let value = T::required(limited(section.key(name)));
            section.finish().and(value)
        })
    }
}

macro_rules! narrow {
    ($($type:ty),*) => {$(
        impl Field for $type {
            type Value = u64;
            fn required(key: Key<'_, '_, u64>) -> Read<Self> {
                let number = key.of_type(<$type>::MAX.into()).required()?;
                Ok(Self::try_from(number).expect("within its limits"))
            }
            fn optional(key: Key<'_, '_, u64>) -> Read<Option<Self>> {
                let number = key.of_type(<$type>::MAX.into()).optional()?;
                Ok(number.map(|number| Self::try_from(number).expect("within its limits")))
            }
        }
    )*};
}
narrow!(u8, u16, u32);

/// Declares a struct with its reader, `fn read(section: Section<'_>) -> Read<Self>`; see
/// [`fields`](mod@crate::fields).
///
/// In parentheses behind the name the section gets a name for `check` and for expressions, and the
/// reader its other parameters. A struct without such can be a field of another.
#[macro_export]
macro_rules! section {
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@read $section:ident [$($key:tt)*] $type:ty => one_of($names:expr)) => {
        $section.one_of($crate::section!(@key $($key)*), &$names)
    };
    (@read $section:ident [$($key:tt)*] $type:ty => one_of($names:expr).or($default:expr)) => {
        $section
            .optional_one_of($crate::section!(@key $($key)*), &$names)
            .map(|value| value.unwrap_or($default))
    };
    (@read $section:ident [$($key:tt)*] $type:ty => section($read:expr)) => {
        $section.section($crate::section!(@key $($key)*), $read)
    };
    (@read $section:ident [$($key:tt)*] $type:ty => only($name:expr, $limited:expr)) => {
        $section.only::<$type>($crate::section!(@key $($key)*), $name, $limited)
    };
    (@read $section:ident [$($key:tt)*] $type:ty => optional_section($read:expr)) => {
        $section.optional_section($crate::section!(@key $($key)*), $read)
    };
    (@read $section:ident [$($key:tt)*] $type:ty => sections($read:expr)) => {
        $section.sections($crate::section!(@key $($key)*), $read)
    };
    (@read $section:ident [$($key:tt)*] $type:ty => with($read:expr $(, $argument:expr)*)) => {
        $read(&$section, $crate::section!(@key $($key)*) $(, $argument)*)
    };
    (@read $section:ident [$($key:tt)*] $type:ty
        $(=> $($limit:ident($($argument:expr),*)).+)?) => {
        <$type as $crate::Field>::required(
            $section.key($crate::section!(@key $($key)*)) $($(.$limit($($argument),*))+)?
        )
    };
    (@read $section:ident [$($key:tt)*] $type:ty = $value:expr) => { $value };
    (@field $name:ident) => {
        impl $crate::Field for $name {
            type Value = Self;
            fn required(key: $crate::Key<'_, '_, Self>) -> $crate::Read<Self> {
                key.section(Self::read)
            }
            fn optional(key: $crate::Key<'_, '_, Self>) -> $crate::Read<Option<Self>> {
                key.optional_section(Self::read)
            }
        }
    };
    (@field $name:ident $($given:ident)+) => {};
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($section:ident $(, $given:ident: $kind:ty)*) {$(
            $(#[$about:meta])*
            $seen:vis $field:ident $(as $key:literal)?: $type:ty
                $(=> $($limit:ident($($argument:expr),* $(,)?)).+)? $(= $value:expr $(=> $make:expr)?)?
        ),* $(,)?}
        $(check($($part:ident),+) $check:block)*
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$about])* $seen $field: $type,)*
        }
        impl $name {
            /// Reads the section.
            $vis fn read($section: $crate::Section<'_> $(, $given: $kind)*) -> $crate::Read<Self> {
                $(let $field = $crate::section!(
                    @read $section [$field $($key)?] $type
                    $(=> $($limit($($argument),*)).+)? $(= $value)?
                );)*
                $section.finish()?;
                $($($(let $field: $crate::Read<$type> = Ok($make(&$section, $field?)?);)?)?)*
                $({
                    let ($($part,)+) = ($($part.as_ref()?,)+);
                    $check
                })*
                Ok(Self { $($field: $field?),* })
            }
        }
        $crate::section!(@field $name $($given)*);
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($fields:tt)* }) => {
        $crate::section! { $(#[$meta])* $vis struct $name(section) { $($fields)* } }
    };
}

/// Reads all keys of a section into a struct that is declared elsewhere, such as a device's.
///
/// `fields!(section => Gaps { read: u64 => within(2, 9), write: u64, })` is a `Read<Gaps>`. The fields
/// are those of [`section!`](crate::section!); `..BASE` at the end gives the others.
#[macro_export]
macro_rules! fields {
    ($section:ident => $($fields:tt)*) => {{
        let value = $crate::keys!($section => $($fields)*);
        $section.finish().and(value)
    }};
}

/// Reads some keys of a section into a struct, as [`fields!`](crate::fields!) reads all of them.
#[macro_export]
macro_rules! keys {
    ($section:ident => $name:ident {$(
        $field:ident $(as $key:literal)?: $type:ty
            $(=> $($limit:ident($($argument:expr),* $(,)?)).+)? $(= $value:expr)?,
    )* $(.. $base:expr)?}) => {{
        $(let $field: $crate::Read<$type> = $crate::section!(
            @read $section [$field $($key)?] $type $(=> $($limit($($argument),*)).+)? $(= $value)?
        );)*
        let value = || -> $crate::Read<$name> { Ok($name { $($field: $field?,)* $(..$base)? }) };
        value()
    }};
}
