//! How a packed matrix lies in memory, and the header that says so.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::ops::gemm::{Microkernels, packed as gemm};
use crate::ops::mixed::Routines;

/// Packed matrices are aligned to this, and so are the micro-panels in them if these fill whole cache lines.
pub const ALIGN: usize = 64;
/// The bytes before the micro-panels.
pub const HEADER: usize = ALIGN;

/// "DIPTYCH" and a zero: on a machine with the other byte order it is another number.
const MAGIC: u64 = 0x0048_4359_5450_4944;
/// The version of all layouts: changed whenever one of them is.
const VERSION: u32 = 1;

/// Micro-panels of some columns and all steps of k, one after the other. In each, block of steps by block of steps; the last
/// columns, and the last steps of a segment, are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The columns of a micro-panel.
    columns: u32,
    /// Its columns are padded to a multiple of this.
    grain: u32,
    /// The steps of a block.
    steps: u32,
    /// The steps of a segment.
    segment: u32,
    /// The bytes of a column in a block.
    bytes: u32,
    /// The bytes of a column in a segment, before its blocks.
    header: u32,
}

impl Layout {
    /// The rows of a matrix as they are, without gaps: one panel of all columns. For a few columns, which would not fill a
    /// micro-panel, and for types that microkernels do not read as they lie in memory.
    pub const fn rows(element: usize) -> Self {
        Self {
            columns: u32::MAX,
            grain: 1,
            steps: 1,
            segment: 1,
            bytes: element as u32,
            header: 0,
        }
    }

    /// The layout for microkernels of `f32` and `f64`, of a matrix with `n` columns.
    pub fn of_elements<T>(microkernels: &Microkernels<T>, n: usize) -> Self {
        let widths = gemm::widths(microkernels);
        let rows = Self::rows(size_of::<T>());
        if n <= widths.lanes {
            return rows;
        }
        Self {
            columns: widths.nr() as u32,
            grain: widths.lanes as u32,
            ..rows
        }
    }

    /// The layout for the microkernels of mixed precision, of a matrix with `n` columns and elements of `element` bytes; not one in which
    /// elements take more bytes, if it is to keep their size.
    pub fn of_mixed(r: &Routines, n: usize, element: usize, keeps_size: bool) -> Self {
        /// Such products may be computed without packing.
        const FEW: usize = 4;
        if n <= FEW || keeps_size && r.b.bytes > r.steps * element {
            return Self::rows(element);
        }
        Self {
            columns: r.b.most as u32,
            grain: r.b.grain as u32,
            steps: r.steps as u32,
            segment: r.segment as u32,
            bytes: r.b.bytes as u32,
            header: r.b.header as u32,
        }
    }

    /// Whether the matrix is not cut into micro-panels.
    pub fn is_rows(&self) -> bool {
        self.columns == u32::MAX
    }

    /// The columns of a micro-panel.
    pub fn columns(&self) -> usize {
        self.columns.max(1) as usize
    }

    /// The bytes of a column of `k` steps.
    pub fn column_bytes(&self, k: usize) -> Option<usize> {
        let [steps, segment] = [self.steps, self.segment].map(|count| count.max(1) as usize);
        let of = |steps_of_segment: usize| {
            let blocks = steps_of_segment.div_ceil(steps);
            blocks * self.bytes as usize + self.header as usize
        };
        let rest = match k % segment {
            0 => 0,
            rest => of(rest),
        };
        (k / segment).checked_mul(of(segment))?.checked_add(rest)
    }

    /// The bytes of a packed matrix of `k` rows and `n` columns.
    pub fn bytes(&self, k: usize, n: usize) -> Option<usize> {
        let columns = n.checked_next_multiple_of(self.grain.max(1) as usize)?;
        let panels = self.column_bytes(k)?.checked_mul(columns)?;
        let all = panels
            .checked_add(HEADER)?
            .checked_next_multiple_of(ALIGN)?;
        isize::try_from(all).ok().map(|_| all)
    }
}

/// The header, which says everything that the rest depends on. None of it is trusted: a product compares it with the one that
/// it would write.
pub type Header = [u64; HEADER / 8];

/// A matrix, and its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Code and bits of the type of elements, as in DLPack.
    pub of: (u8, u8),
    /// The rows.
    pub k: usize,
    /// The columns.
    pub n: usize,
    /// The layout.
    pub layout: Layout,
    /// The bytes of all.
    pub bytes: usize,
}

const fn pair(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

impl Description {
    /// Describes a matrix of elements of the type `of`.
    ///
    /// # Errors
    /// `SizeOverflow`.
    pub fn new(of: (u8, u8), (k, n): (usize, usize), layout: Layout) -> Result<Self> {
        let bytes = layout.bytes(k, n);
        Ok(Self {
            of,
            k,
            n,
            layout,
            bytes: bytes.ok_or(Error::SizeOverflow { arg: "k * n" })?,
        })
    }

    /// Returns the header.
    pub fn header(&self) -> Header {
        let Layout {
            columns,
            grain,
            steps,
            segment,
            bytes,
            header,
        } = self.layout;
        let (code, bits) = self.of;
        let of = u32::from(code) << 8 | u32::from(bits);
        [
            MAGIC,
            pair(VERSION, of),
            self.k as u64,
            self.n as u64,
            pair(columns, grain),
            pair(steps, segment),
            pair(bytes, header),
            self.bytes as u64,
        ]
    }

    /// Refuses a header that is not this one: of another layout, or of a shorter block.
    ///
    /// # Errors
    /// `PackedLayout`, `InvalidValue`.
    pub fn check(&self, header: &Header, size: usize, arg: &'static str) -> Result<()> {
        if *header != self.header() {
            return Err(Error::PackedLayout { arg });
        }
        if size < self.bytes {
            return Err(Error::InvalidValue { arg });
        }
        Ok(())
    }
}

/// The type, the rows and the columns that a header names, which are to be checked.
///
/// # Errors
/// `InvalidValue` if it is none, `PackedLayout` if it has another version.
pub fn read(header: &Header, arg: &'static str) -> Result<((u8, u8), usize, usize)> {
    let [magic, version, k, n, ..] = *header;
    if magic != MAGIC {
        return Err(Error::InvalidValue { arg });
    }
    if (version >> 32) as u32 != VERSION {
        return Err(Error::PackedLayout { arg });
    }
    let count = |count: u64| {
        // What fits `i64` too.
        isize::try_from(count)
            .map(isize::unsigned_abs)
            .map_err(|_| Error::InvalidValue { arg })
    };
    if version as u32 > u32::from(u16::MAX) {
        return Err(Error::InvalidValue { arg });
    }
    let of = ((version >> 8) as u8, version as u8);
    Ok((of, count(k)?, count(n)?))
}
