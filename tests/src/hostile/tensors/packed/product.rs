//! `dpt_matmul_packed`, against the function with a matrix that is not packed.

use diptych::tensor::{self, Epilogue as Last};
use diptych_ffi::{dpt_exec, dpt_matmul_packed, dpt_status, dpt_status_code as Code, dpt_tensor};

use super::super::super::judge::Verdict;
use super::super::super::kind::Kind;
use super::super::super::{Outcome, Written};
use super::super::argument::{self, Argument};
use super::super::epilogue::Epilogue;
use super::super::pair::Sizes;
use super::super::{case, judge_shapes, plain, products, shapes};
use super::block::{Array, Block};
use super::damage::Damage;
use super::fail;
use crate::random::Input;

const I8: Kind = Kind { code: 0, bits: 8 };
const U8: Kind = Kind { code: 1, bits: 8 };
const F16: Kind = Kind::HALVES[0];
const BF16: Kind = Kind::HALVES[1];

/// The types of a, b and c.
const TYPES: [[Kind; 3]; 12] = [
    [Kind::F32; 3],
    [Kind::F64; 3],
    [F16; 3],
    [BF16; 3],
    [F16, F16, Kind::F32],
    [BF16, BF16, Kind::F32],
    [I8, I8, Kind::I32],
    [U8, I8, Kind::I32],
    [I8, I8, Kind::F32],
    [U8, I8, Kind::F32],
    [Kind::I32; 3],
    [Kind::I64; 3],
];

/// A call.
struct Product {
    /// a, c, and the bias if there is one.
    tensors: Vec<Argument>,
    b: Array,
    /// The types of a, b and c before any description was made false.
    types: [Kind; 3],
    size: [i64; 3],
    alpha: f64,
    beta: f64,
    last: Epilogue,
    damage: Damage,
}

/// Whether c holds sums of integers, to which nothing but c is added.
fn holds_sums([a, _, c]: [Kind; 3]) -> bool {
    let is_float = |kind| Kind::FLOATS.contains(&kind);
    !is_float(a) && !is_float(c)
}

impl Product {
    fn draw(input: &mut Input<'_>) -> Product {
        let types = input.pick(&TYPES);
        // Mostly what microkernels of f32 and f64 compute.
        let types = if input.rarely(2) {
            TYPES[input.below(2)]
        } else {
            types
        };
        let (most, deep) = (
            input.pick(&[20, 20, 40, 80]),
            input.pick(&[20, 40, 300, 1100]),
        );
        let m = input.size(most);
        let (n, k) = (
            input.size(most).clamp(0, most),
            input.size(deep).clamp(0, deep),
        );
        let is_row = input.rarely(8);
        let [_, lead, _] = products::batch(input);
        let a = if is_row {
            vec![k]
        } else {
            [&lead[..], &[m, k]].concat()
        };
        let c = Sizes::of(&a, &[k, n]).map_or(vec![m, n], |sizes| sizes.c);
        let mut spoiled = |shape| shapes::rarely_spoil(input, shape);
        let (a, c) = (spoiled(a), spoiled(c));
        let [of_a, of_b, of_c] = types;
        let (values, seed) = (input.values(), input.word());
        let words = of_b.words(values, (k * n) as usize / (8 / of_b.bytes()) + 1, seed);
        let b = Array::new(of_b, &[k, n], &of_b.unpacked(&words, (k * n) as usize));
        let a = Argument::input(input, "a", of_a, &a);
        let c = Argument::output(input, "c", of_c, &c);
        let m = if is_row { 1 } else { m };
        let (alpha, beta) = factors(input, types);
        let last = if holds_sums(types) && !input.rarely(8) {
            Epilogue::none()
        } else {
            let of_bias = if Kind::FLOATS.contains(&of_a) {
                of_a
            } else {
                Kind::F32
            };
            Epilogue::draw(input, of_bias, (m, n))
        };
        let has_results = argument::count(&c) != 0;
        let is_read = has_results && a.shape.last() != Some(&0) && !is_zero(types, alpha);
        let mut tensors = vec![a.only_if(is_read), c];
        tensors.extend(last.bias.clone().map(|bias| bias.only_if(has_results)));
        Product {
            tensors,
            b,
            types,
            size: [m, n, k],
            alpha,
            beta,
            last,
            damage: Damage::draw(input),
        }
    }

    fn has_results(&self) -> bool {
        argument::count(&self.tensors[1]) != 0
    }

    /// Returns the sizes, with this shape of b; `None` if the shapes do not fit each other.
    fn sizes(&self, b: &[i64]) -> Option<Sizes> {
        let sizes = Sizes::of(&self.tensors[0].shape, b)?;
        let fits = sizes.c == self.tensors[1].shape && self.last.fits(sizes.m, sizes.n);
        fits.then_some(sizes)
    }

    /// Returns whether there are products of these types, with this one of b.
    fn types_fit(&self, b: Kind) -> bool {
        let (a, c) = (self.tensors[0].kind, self.tensors[1].kind);
        let bias = self.tensors.get(2).map_or(Kind::F32, |bias| bias.kind);
        let is_wide = Kind::WIDE.contains(&a);
        let bias_fits = match self.tensors.get(2) {
            None => true,
            Some(_) if is_wide => bias == a,
            Some(_) => bias == Kind::F32 || bias == a && Kind::HALVES.contains(&a),
        };
        TYPES.contains(&[a, b, c]) && bias_fits
    }

    fn judge(&self, verdict: &mut Verdict) {
        if !self.types_fit(self.b.kind) {
            verdict.fault(Code::DPT_TYPE_MISMATCH);
            verdict.fault(Code::DPT_UNSUPPORTED_TYPE);
        }
        judge_shapes(verdict, self.sizes(&self.b.shape).is_some());
        self.last.judge(verdict);
        self.damage.judge(self.has_results(), verdict);
        let types = [self.tensors[0].kind, self.b.kind, self.tensors[1].kind];
        let is_plain = self.alpha == 1.0 && [0.0, 1.0].contains(&self.beta);
        let is_followed = self.last.bias.is_some() || self.last.clamp.is_some();
        if holds_sums(types) && (!is_plain || is_followed) {
            verdict.fault(Code::DPT_INVALID_VALUE);
        }
    }

    /// Makes the call at the active level.
    fn call(
        &self,
        exec: *const dpt_exec,
        t: &[*const dpt_tensor],
        block: &mut Block,
        size: usize,
    ) -> dpt_status {
        let (mut moved, mut c) = (None, t[1].cast_mut());
        if let (Damage::Output(word), false) = (self.damage, c.is_null()) {
            let last = block.lines().len() * 8 - 1;
            let data = block.start().wrapping_add(8 * word.min(last));
            // SAFETY: not NULL, so a description.
            let tensor = moved.insert(dpt_tensor {
                data: data.cast(),
                byte_offset: 0,
                ..unsafe { *c }
            });
            c = tensor;
        }
        let packed = self.damage.address(block.start()).cast();
        let bias = t.get(2).copied();
        // SAFETY: a call that may succeed has valid tensors and a packed matrix of this size; the library refuses the others.
        self.last.with(bias, |last| unsafe {
            dpt_matmul_packed(exec, self.alpha, t[0], packed, size, self.beta, c, last)
        })
    }

    /// Returns what the product is; `None` if the packed elements are others than those of b.
    fn model(&self, elements: &[Vec<u64>]) -> Option<Written> {
        if !self.has_results() {
            // a may be large.
            return Some(vec![]);
        }
        if matches!(self.damage, Damage::Elements(..)) {
            return None;
        }
        let array = |at: usize| {
            let own = &self.tensors[at];
            Array::new(own.kind, &own.shape, &elements[at])
        };
        let (mut a, mut b, mut c) = (array(0), self.b.clone(), array(1));
        let mut bias = (self.tensors.len() > 2).then(|| array(2));
        let bias = bias.as_mut().map(Array::tensor);
        let last = Last {
            bias: bias.as_ref(),
            clamp: self.last.clamp,
            ..Last::default()
        };
        let (exec, out) = (plain(), c.tensor());
        // SAFETY: arrays of their own.
        let done = unsafe {
            let (a, b) = (a.tensor(), b.tensor());
            tensor::matmul(&exec, self.alpha, &a, &b, self.beta, &out, Some(&last))
        };
        done.expect("operands that the verdict allows");
        Some(vec![(1, c.elements())])
    }
}

/// Draws alpha and beta.
fn factors(input: &mut Input<'_>, types: [Kind; 3]) -> (f64, f64) {
    if holds_sums(types) && !input.rarely(8) {
        return (1.0, input.pick(&[0.0, 1.0]));
    }
    (input.scalar(), input.scalar())
}

/// Returns whether a is not read because alpha is 0.
fn is_zero([a, ..]: [Kind; 3], alpha: f64) -> bool {
    if Kind::WIDE.contains(&a) {
        products::is_zero(a, alpha)
    } else {
        alpha == 0.0
    }
}

/// `dpt_matmul_packed`.
pub fn matmul(input: &mut Input<'_>) -> Outcome {
    let product = Product::draw(input);
    let (claimed, shape) = product.damage.claimed(&product.b);
    let is_other = claimed != product.b.kind || shape != product.b.shape;
    if is_other && product.types_fit(claimed) && product.sizes(&shape).is_some() {
        // The spoiled header could be that of another matrix, by which the call would rightly multiply.
        return Outcome::default();
    }
    let results = argument::count(&product.tensors[1]);
    let sizes = product.sizes(&product.b.shape);
    let work = results.saturating_mul(sizes.map_or(1, |sizes| sizes.k.max(1)));
    let query = |exec: *const dpt_exec| products::workspace(exec, product.types[0], product.size);
    let mut case = case(input, "matmul_packed", &product.tensors, work, Some(&query));
    product.judge(&mut case.verdict);
    let Product {
        alpha,
        beta,
        last,
        damage,
        ..
    } = &product;
    let (of_b, shape) = (product.b.kind, &product.b.shape);
    case.details += &format!("\n  b: {of_b}, shape {shape:?}, {damage:?}");
    case.details += &format!("\n  alpha {alpha:?}, beta {beta:?}, {last}");
    let (edge, description) = (case.memory.edge, case.describe());
    let call = |exec, t: &[*const dpt_tensor]| {
        let (lines, size) = product.damage.pack(&mut product.b.clone());
        let mut block = Block::new(lines.clone(), edge);
        let status = product.call(exec, t, &mut block, size);
        if block.lines() != lines {
            fail("wrote to the packed matrix", &description);
        }
        status
    };
    case.check_tensors(&product.tensors, call, |elements| product.model(elements))
}
