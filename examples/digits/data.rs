//! The images: 8 x 8 pixels from 0 to 16, and the digit that each shows. `DATA.md` names the source.

use crate::real::{Number, Real};

/// The number of pixels of an image.
pub const PIXELS: usize = 64;
/// The number of classes: the digits 0 to 9.
pub const CLASSES: usize = 10;

const RECORD: usize = PIXELS + 1;
/// The largest pixel value, a power of two: dividing by it is exact, in 16 bits too.
const PIXEL_MAX: u8 = 16;
/// Every fifth image is held out of training, independent of the seed.
const HELD_OUT_EVERY: usize = 5;

/// One record per image: 64 pixels row by row, then the digit.
static DIGITS: &[u8] = include_bytes!("digits.bin");

/// Images as rows of a matrix, and their digits.
#[derive(Clone, Debug)]
pub struct Images<T> {
    /// Row-major, [`PIXELS`] columns, values in [0, 1].
    pub pixels: Vec<T>,
    /// The digit of each image.
    pub labels: Vec<u8>,
}

impl<T> Images<T> {
    /// Returns the number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

/// The embedded images, split into a training set and a held-out set. The split is fixed.
#[derive(Clone, Debug)]
pub struct Digits<T> {
    /// The images to train on.
    pub train: Images<T>,
    /// The images that measure the accuracy and are never trained on.
    pub held_out: Images<T>,
}

impl<T: Number> Digits<T> {
    /// Decodes the embedded images: 1,438 to train on and 359 held out.
    pub fn load() -> Self {
        let mut digits = Self {
            train: Images {
                pixels: Vec::new(),
                labels: Vec::new(),
            },
            held_out: Images {
                pixels: Vec::new(),
                labels: Vec::new(),
            },
        };
        for (index, record) in DIGITS.chunks_exact(RECORD).enumerate() {
            let held_out = index % HELD_OUT_EVERY == HELD_OUT_EVERY - 1;
            let images = if held_out {
                &mut digits.held_out
            } else {
                &mut digits.train
            };
            let scaled = |&pixel: &u8| {
                T::from_compute(Real::nearest(f64::from(pixel) / f64::from(PIXEL_MAX)))
            };
            images.pixels.extend(record[..PIXELS].iter().map(scaled));
            images.labels.push(record[PIXELS]);
        }
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_well_formed() {
        assert_eq!(DIGITS.len(), 1797 * RECORD);
        for record in DIGITS.chunks_exact(RECORD) {
            assert!(record[..PIXELS].iter().all(|&pixel| pixel <= PIXEL_MAX));
            assert!(usize::from(record[PIXELS]) < CLASSES);
        }
    }

    #[test]
    fn split_is_fixed() {
        let digits = Digits::<f32>::load();
        assert_eq!((digits.train.len(), digits.held_out.len()), (1438, 359));
        assert_eq!(digits.train.labels[..4], [0, 1, 2, 3]);
        assert_eq!(digits.held_out.labels[..2], [4, 9]);
    }
}
