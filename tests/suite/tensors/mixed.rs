//! Products of tensors of integers and of 16-bit floats, against `matmul` of gathered matrices.

use super::backend;
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Bias, Exec, MatMut, MatRef, MatmulOptions, Multiply, VecRef, matmul as of_matrices};
use diptych_tests::mixed::{After, Draw, Float, Multiplies, Number, per_product};
use diptych_tests::tensors::{Array, array, indices, matrix};
use fastrand::Rng;

/// The shapes of one product.
struct Shapes {
    batch: Vec<i64>,
    m: i64,
    n: i64,
    k: i64,
    /// Whether a is a vector, and whether b is.
    vectors: (bool, bool),
    a: Vec<i64>,
    b: Vec<i64>,
    c: Vec<i64>,
}

impl Shapes {
    /// Batches, of which one operand may lack axes or repeat its matrices, and vectors.
    fn new(rng: &mut Rng, most: i64) -> Self {
        let length = |rng: &mut Rng| match rng.u8(..12) {
            0 => 0,
            1..4 => 1,
            4..10 => rng.i64(2..20),
            _ => rng.i64(1..most),
        };
        let (m, k, n) = (length(rng), length(rng), length(rng));
        let batch: Vec<i64> = (0..rng.usize(..4)).map(|_| rng.i64(1..6)).collect();
        let mut vector = || batch.is_empty() && rng.u8(..4) == 0;
        let vectors = (vector(), vector());
        let (m, n) = (if vectors.0 { 1 } else { m }, if vectors.1 { 1 } else { n });
        let shorter: Vec<i64> = batch[rng.usize(..=batch.len())..]
            .iter()
            .map(|&count| if rng.bool() { 1 } else { count })
            .collect();
        let (mut of_a, mut of_b) = (batch.clone(), shorter);
        if rng.bool() {
            std::mem::swap(&mut of_a, &mut of_b);
        }
        let with = |leading: &[i64], last: &[i64]| [leading, last].concat();
        let mut rows_and_columns = vec![];
        if !vectors.0 {
            rows_and_columns.push(m);
        }
        if !vectors.1 {
            rows_and_columns.push(n);
        }
        Self {
            a: if vectors.0 {
                vec![k]
            } else {
                with(&of_a, &[m, k])
            },
            b: if vectors.1 {
                vec![k]
            } else {
                with(&of_b, &[k, n])
            },
            c: with(&batch, &rows_and_columns),
            batch,
            m,
            n,
            k,
            vectors,
        }
    }

    /// The index of an element of c.
    fn of_c(&self, batch: &[i64], (i, j): (i64, i64)) -> Vec<i64> {
        let mut index = batch.to_vec();
        if !self.vectors.0 {
            index.push(i);
        }
        if !self.vectors.1 {
            index.push(j);
        }
        index
    }
}

/// A tensor with random elements.
fn filled<T: Draw>(rng: &mut Rng, shape: &[i64], repeats: bool) -> Array<T> {
    let mut array = array(rng, shape, repeats);
    array.fill(|| T::draw(rng));
    array
}

fn described<T: Number>(array: &mut Array<T>) -> Tensor {
    let (code, bits) = T::DLPACK;
    array.described(code, bits)
}

/// The options of one product; the bias has the type `D`.
struct Options<D> {
    factors: (f64, f64),
    clamp: Option<(f64, f64)>,
    bias: Option<Array<D>>,
    row_scale: Option<Array<f32>>,
    column_scale: Option<Array<f32>>,
}

impl<D: Float + Draw> Options<D> {
    fn new(rng: &mut Rng, shapes: &Shapes, after: After) -> Self {
        let factors = [(1.0, 0.0), (1.0, 0.0), (1.0, 1.0), (-0.3, 0.7), (0.0, 2.0)];
        let has_floats = after != After::Sum;
        let count = if has_floats { factors.len() } else { 3 };
        let mut maybe = |can_have: bool| can_have && rng.u8(..3) == 0;
        let (has_bias, has_clamp) = (maybe(has_floats), maybe(has_floats));
        let scales = [(); 2].map(|()| maybe(after == After::Scaled));
        let bias_shape = if rng.bool() {
            vec![shapes.m, 1]
        } else {
            vec![shapes.n]
        };
        Self {
            factors: factors[rng.usize(..count)],
            clamp: has_clamp.then_some((-1.3, 2.1)),
            bias: has_bias.then(|| filled(rng, &bias_shape, true)),
            row_scale: scales[0].then(|| filled(rng, &[shapes.m], true)),
            column_scale: scales[1].then(|| filled(rng, &[shapes.n], true)),
        }
    }

    /// Calls `f` with the same options for matrices.
    fn for_matrices(&self, f: impl FnOnce(&MatmulOptions<'_>)) {
        let gathered = |array: &Option<Array<f32>>| {
            array.as_ref().map(|array| -> Vec<f32> {
                indices(array.shape())
                    .iter()
                    .map(|i| array.get(i))
                    .collect()
            })
        };
        let (rows, columns) = (gathered(&self.row_scale), gathered(&self.column_scale));
        let biases: Vec<f32> = self.bias.as_ref().map_or_else(Vec::new, |bias| {
            let all = indices(bias.shape());
            all.iter().map(|i| bias.get(i).wide()).collect()
        });
        f(&MatmulOptions {
            alpha: self.factors.0 as f32,
            beta: self.factors.1 as f32,
            row_scale: rows.as_deref().map(VecRef::new),
            column_scale: columns.as_deref().map(VecRef::new),
            bias: match self.bias.as_ref().map(|bias| bias.shape().len()) {
                None => Bias::None,
                Some(1) => Bias::PerColumn(VecRef::new(&biases)),
                Some(_) => Bias::PerRow(VecRef::new(&biases)),
            },
            clamp: self.clamp.map(|(lo, hi)| (lo as f32, hi as f32)),
        });
    }
}

/// Returns the place of each element of c, and what `matmul` of gathered matrices gives there.
fn wanted<A, B, C, D>(
    shapes: &Shapes,
    (a, b, c): (&Array<A>, &Array<B>, &Array<C>),
    options: &Options<D>,
) -> Vec<(Vec<i64>, C)>
where
    A: Multiply<B, C> + Draw,
    B: Draw,
    C: Draw,
    D: Float + Draw,
{
    let (m, n, k) = (shapes.m, shapes.n, shapes.k);
    let mut wants = Vec::new();
    for index in indices(&shapes.batch) {
        let left = matrix(a, &index, (m, k), shapes.vectors.0);
        let right = matrix(b, &index, (k, n), shapes.vectors.1);
        let elements = indices(&[m, n]);
        let places = elements
            .iter()
            .map(|at| shapes.of_c(&index, (at[0], at[1])));
        let places: Vec<_> = places.collect();
        let mut result: Vec<C> = places.iter().map(|at| c.get(at)).collect();
        let (rows, columns, depth) = (m as usize, n as usize, k as usize);
        let left = MatRef::new(&left, rows, depth).unwrap();
        let right = MatRef::new(&right, depth, columns).unwrap();
        let to = MatMut::new(&mut result, rows, columns).unwrap();
        options.for_matrices(|options| {
            of_matrices(&Exec::new(), left, right, to, options).unwrap();
        });
        wants.extend(places.into_iter().zip(result));
    }
    wants
}

/// One random product with a bias of the type `D`.
fn matmul<A, B, C, D>(rng: &mut Rng, on: &dyn Multiplies, after: After, most: i64)
where
    A: Multiply<B, C> + Draw,
    B: Draw,
    C: Draw,
    D: Float + Draw,
{
    let shapes = Shapes::new(rng, most);
    let mut a = filled::<A>(rng, &shapes.a, true);
    let mut b = filled::<B>(rng, &shapes.b, true);
    let mut c = filled::<C>(rng, &shapes.c, false);
    let mut options = Options::<D>::new(rng, &shapes, after);

    let wants = wanted(&shapes, (&a, &b, &c), &options);
    let (bias, rows, columns) = (
        options.bias.as_mut().map(described),
        options.row_scale.as_mut().map(described),
        options.column_scale.as_mut().map(described),
    );
    let epilogue = Epilogue {
        bias: bias.as_ref(),
        clamp: options.clamp,
        row_scale: rows.as_ref(),
        column_scale: columns.as_ref(),
    };
    let (alpha, beta) = options.factors;
    let (x, y, out) = (described(&mut a), described(&mut b), described(&mut c));
    // SAFETY: the tensors are valid.
    let status = unsafe { on.matmul((alpha, beta), [&x, &y, &out], &epilogue) };
    let what = format!(
        "{} {:?} x {} {:?} to {} {:?}, {alpha} {beta}",
        A::NAME,
        shapes.a,
        B::NAME,
        shapes.b,
        C::NAME,
        shapes.c
    );
    assert_eq!(status, Ok(()), "{what}");
    assert!(c.gaps_intact(), "{what}");
    for (index, want) in wants {
        let (got, want) = (c.get(&index).bits(), want.bits());
        assert_eq!(got, want, "{what}: at {index:?}, {got:#x} not {want:#x}");
    }
}

/// Random products of these types, and a few larger ones on three threads.
fn all<A, B, C, D>(after: After)
where
    A: Multiply<B, C> + Draw,
    B: Draw,
    C: Draw,
    D: Float + Draw,
{
    backend::each(1, 0..25, &|seed, on| {
        matmul::<A, B, C, D>(&mut Rng::with_seed(seed), on, after, 60);
    });
    backend::each(3, 100..104, &|seed, on| {
        matmul::<A, B, C, D>(&mut Rng::with_seed(seed), on, after, 250);
    });
}

per_product!(all);
