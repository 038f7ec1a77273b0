//! Element types: their names in Python, NumPy and the buffer protocol.
#![forbid(unsafe_code)]

use std::ffi::CStr;
use std::fmt;

/// An element type, as DLPack describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// Kind of number: signed, unsigned, float, ...
    pub code: u8,
    /// Bits of a number.
    pub bits: u8,
}

/// DLPack's codes.
pub mod code {
    pub const INT: u8 = 0;
    pub const UINT: u8 = 1;
    pub const FLOAT: u8 = 2;
    pub const BFLOAT: u8 = 4;
    pub const COMPLEX: u8 = 5;
    pub const BOOL: u8 = 6;
}

impl Dtype {
    pub const F32: Self = Self::new(code::FLOAT, 32);
    pub const F64: Self = Self::new(code::FLOAT, 64);
    pub const F16: Self = Self::new(code::FLOAT, 16);
    pub const BF16: Self = Self::new(code::BFLOAT, 16);
    pub const I8: Self = Self::new(code::INT, 8);
    pub const U8: Self = Self::new(code::UINT, 8);
    pub const I32: Self = Self::new(code::INT, 32);
    pub const I64: Self = Self::new(code::INT, 64);

    pub const fn new(code: u8, bits: u8) -> Self {
        Self { code, bits }
    }

    /// Returns the bytes of an element.
    pub const fn size(self) -> i64 {
        self.bits as i64 / 8
    }

    /// Returns whether the numbers are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self.code, code::FLOAT | code::BFLOAT)
    }

    /// Returns whether the numbers are integers.
    pub const fn is_integer(self) -> bool {
        matches!(self.code, code::INT | code::UINT)
    }

    /// Returns whether an integer is one of this type, which is one of integers.
    pub const fn holds(self, integer: i64) -> bool {
        let unused = 64 - self.bits as u32;
        match self.code {
            code::INT => integer << unused >> unused == integer,
            _ => integer >= 0 && (integer as u64) << unused >> unused == integer as u64,
        }
    }

    /// Returns the type with a name as NumPy and PyTorch print it.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "bool" {
            return Some(Self::new(code::BOOL, 8));
        }
        let digits = name.find(|c: char| c.is_ascii_digit())?;
        let code = match &name[..digits] {
            "float" => code::FLOAT,
            "bfloat" => code::BFLOAT,
            "int" => code::INT,
            "uint" => code::UINT,
            "complex" => code::COMPLEX,
            _ => return None,
        };
        Some(Self::new(code, name[digits..].parse().ok()?))
    }

    /// Returns the type of a buffer with this format and item size, if it is one of native numbers.
    pub fn from_format(format: &str, size: isize) -> Option<Self> {
        let native = if cfg!(target_endian = "little") {
            '<'
        } else {
            '>'
        };
        let letter = format.trim_start_matches(['@', '=', native]);
        let code = match letter {
            "e" | "f" | "d" => code::FLOAT,
            "b" | "h" | "i" | "l" | "q" | "n" => code::INT,
            "B" | "H" | "I" | "L" | "Q" | "N" => code::UINT,
            "?" => code::BOOL,
            _ => return None,
        };
        Some(Self::new(code, u8::try_from(8 * size).ok()?))
    }

    /// Returns the format of a `memoryview` of native numbers of this type.
    pub fn format(self) -> Option<&'static CStr> {
        Some(match (self.code, self.bits) {
            (code::FLOAT, 16) => c"e",
            (code::FLOAT, 32) => c"f",
            (code::FLOAT, 64) => c"d",
            (code::INT, 8) => c"b",
            (code::INT, 16) => c"h",
            (code::INT, 32) => c"i",
            (code::INT, 64) => c"q",
            (code::UINT, 8) => c"B",
            (code::UINT, 16) => c"H",
            (code::UINT, 32) => c"I",
            (code::UINT, 64) => c"Q",
            (code::BOOL, 8) => c"?",
            _ => return None,
        })
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.code {
            code::INT => "int",
            code::UINT => "uint",
            code::FLOAT => "float",
            code::BFLOAT => "bfloat",
            code::COMPLEX => "complex",
            code::BOOL => return f.write_str("bool"),
            other => return write!(f, "DLPack type {other} of {} bits", self.bits),
        };
        write!(f, "{name}{}", self.bits)
    }
}
