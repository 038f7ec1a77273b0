//! What follows a sum that is stored as a float: drawn at random, as options of `matmul` and as a scalar model.

use diptych::{Bias, MatmulOptions, VecRef};
use diptych_tests::mixed::Then;
use fastrand::Rng;

/// A number for each row or each column, with a stride.
struct Numbers {
    data: Vec<f32>,
    first: usize,
    count: usize,
    inc: isize,
}

impl Numbers {
    fn new(rng: &mut Rng, count: usize, special: bool) -> Self {
        let inc: isize = [1, 1, 2, -1, -3, 0][rng.usize(..6)];
        let reach = count.saturating_sub(1) * inc.unsigned_abs();
        Self {
            data: (0..=reach).map(|_| number(rng, special)).collect(),
            first: if inc < 0 { reach } else { 0 },
            count,
            inc,
        }
    }

    fn at(&self, i: usize) -> f32 {
        self.data[(self.first as isize + i as isize * self.inc) as usize]
    }

    fn view(&self) -> VecRef<'_, f32> {
        VecRef::with_stride(&self.data, self.first, self.count, self.inc)
            .expect("the memory contains the numbers")
    }
}

/// Returns a number, now and then a special one if there may be any.
fn number(rng: &mut Rng, special: bool) -> f32 {
    let rare = [f32::NAN, f32::INFINITY, 0.0, -0.0, 1e-40, -3e38];
    if special && rng.u8(..8) == 0 {
        rare[rng.usize(..rare.len())]
    } else {
        rng.f32() * 4.0 - 2.0
    }
}

/// The options of one product.
pub struct After {
    alpha: f32,
    beta: f32,
    row_scale: Option<Numbers>,
    column_scale: Option<Numbers>,
    row_bias: Option<Numbers>,
    column_bias: Option<Numbers>,
    clamp: Option<(f32, f32)>,
}

impl After {
    /// The sums alone.
    pub const NONE: Self = Self {
        alpha: 1.0,
        beta: 0.0,
        row_scale: None,
        column_scale: None,
        row_bias: None,
        column_bias: None,
        clamp: None,
    };

    /// Factors for rows and columns of an m by n product.
    pub fn scales(rng: &mut Rng, (m, n): (usize, usize)) -> Self {
        Self {
            row_scale: Some(Numbers::new(rng, m, false)),
            column_scale: Some(Numbers::new(rng, n, false)),
            ..Self::NONE
        }
    }

    /// Draws options for an m by n product: none at all, one, or several; scales only if `scales`.
    pub fn new(rng: &mut Rng, (m, n): (usize, usize), scales: bool) -> Self {
        let special = rng.u8(..4) == 0;
        let factors = [
            (1.0, 0.0),
            (1.0, 0.0),
            (1.0, 1.0),
            (-0.3, 0.0),
            (0.5, 0.7),
            (0.0, -2.0),
            (0.0, 0.0),
            (f32::INFINITY, f32::NAN),
        ];
        let (alpha, beta) = factors[rng.usize(..factors.len() - usize::from(!special))];
        let mut maybe = |has: bool, count| {
            let is_drawn = has && rng.u8(..3) == 0;
            is_drawn.then(|| Numbers::new(rng, count, special))
        };
        let (row_scale, column_scale) = (maybe(scales, m), maybe(scales, n));
        let row_bias = maybe(true, m);
        let column_bias = maybe(row_bias.is_none(), n);
        let bounds = [
            (-1.5, 2.5),
            (0.0, f32::INFINITY),
            (-0.0, 0.0),
            (2.0, -2.0),
            (f32::NAN, 1.0),
            (0.0, f32::NAN),
        ];
        let clamp =
            (rng.u8(..3) == 0).then(|| bounds[rng.usize(..if special { bounds.len() } else { 2 })]);
        Self {
            alpha,
            beta,
            row_scale,
            column_scale,
            row_bias,
            column_bias,
            clamp,
        }
    }

    /// Returns the options.
    pub fn options(&self) -> MatmulOptions<'_> {
        MatmulOptions {
            alpha: self.alpha,
            beta: self.beta,
            row_scale: self.row_scale.as_ref().map(Numbers::view),
            column_scale: self.column_scale.as_ref().map(Numbers::view),
            bias: match (&self.row_bias, &self.column_bias) {
                (Some(bias), _) => Bias::PerRow(bias.view()),
                (_, Some(bias)) => Bias::PerColumn(bias.view()),
                (None, None) => Bias::None,
            },
            clamp: self.clamp,
        }
    }

    /// Returns whether A and B are read.
    pub fn sums(&self) -> bool {
        self.alpha != 0.0
    }

    /// Returns an integer sum of element (i, j) as a float, times its factors.
    pub fn scaled(&self, (i, j): (usize, usize), sum: i32) -> f32 {
        let mut v = sum as f32;
        if let Some(scale) = &self.row_scale {
            v *= scale.at(i);
        }
        if let Some(scale) = &self.column_scale {
            v *= scale.at(j);
        }
        v
    }

    /// Returns element (i, j) before it is rounded to the type of C; `sum` is `None` where nothing is summed.
    pub fn of(&self, (i, j): (usize, usize), sum: Option<f32>, old: f32) -> f32 {
        let row = self.row_bias.as_ref().map(|bias| bias.at(i));
        let column = self.column_bias.as_ref().map(|bias| bias.at(j));
        let then = Then {
            alpha: self.alpha,
            beta: self.beta,
            bias: row.or(column),
            clamp: self.clamp,
        };
        then.of(sum, old)
    }
}
