//! Matrix products, single, batched and with an epilogue, and the query of their scratch memory.

use core::ffi::c_void;
use core::ptr;

use diptych_ffi::{dpt_epilogue, dpt_exec, dpt_status_code as Code};

use super::functions::Functions;
use super::judge::Verdict;
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::model::{self, Dense};
use crate::random::Input;

pub fn run(input: &mut Input<'_>) -> Outcome {
    match (input.rarely(2), input.rarely(12)) {
        (false, false) => product::<f32>(input),
        (true, false) => product::<f64>(input),
        (false, true) => query::<f32>(input),
        (true, true) => query::<f64>(input),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Batched,
    Fused,
}

/// All sizes, strides and factors of a product, without its epilogue.
#[derive(Clone, Copy)]
struct Numbers<T> {
    form: Form,
    m: i64,
    n: i64,
    k: i64,
    batch: i64,
    alpha: T,
    beta: T,
    /// Row, column and batch stride of A, B and C.
    strides: [(i64, i64, i64); 3],
}

impl<T: Functions> Numbers<T> {
    fn draw(input: &mut Input<'_>) -> Numbers<T> {
        let form = input.pick(&[Form::Plain, Form::Fused, Form::Batched, Form::Plain]);
        let batch = if form == Form::Batched {
            input.size(4)
        } else {
            1
        };
        let most = input.pick(&[20, 20, 50]);
        let (m, n) = (input.size(most), input.size(most));
        let most = input.pick(&[20, 20, 60, 600]);
        let k = input.size(most);
        let mut matrix = |rows: i64, cols: i64| {
            let (rs, cs) = input.strides(rows, cols);
            let step = rows.clamp(0, 1 << 20) * cols.clamp(0, 1 << 20);
            (rs, cs, input.stride(step.max(1)))
        };
        let strides = [matrix(m, k), matrix(k, n), matrix(m, n)];
        Numbers {
            form,
            m,
            n,
            k,
            batch,
            alpha: input.scalar(),
            beta: input.scalar(),
            strides,
        }
    }

    fn sizes(&self) -> Vec<i64> {
        let mut sizes = vec![self.m, self.n, self.k];
        if self.form == Form::Batched {
            sizes.push(self.batch);
        }
        sizes
    }

    fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.batch == 0
    }

    fn operand(&self, which: usize) -> Operand {
        let (rows, cols) = [(self.m, self.k), (self.k, self.n), (self.m, self.n)][which];
        let (rs, cs, bs) = self.strides[which];
        let dims = [(self.batch, bs), (rows, rs), (cols, cs)];
        let dims = if self.form == Form::Batched {
            &dims[..]
        } else {
            &dims[1..]
        };
        if which == 2 {
            return Operand::output::<T>("c", dims);
        }
        let read = !self.is_empty() && self.alpha != T::zero();
        Operand::input::<T>(["a", "b"][which], dims).only_if(read)
    }

    fn expected(&self, elements: &[Vec<u64>], epilogue: &model::Epilogue<T>) -> Vec<u64> {
        let (m, n) = (self.m as usize, self.n as usize);
        let read = self.alpha != T::zero();
        // With k = 0 the model reads neither A nor B.
        let k = if read { self.k as usize } else { 0 };
        let part = |which: usize, item: usize, rows: usize, cols: usize| {
            let all = &elements[which][item * rows * cols..(item + 1) * rows * cols];
            Dense {
                rows,
                cols,
                data: numbers::<T>(all),
            }
        };
        let item = |item: usize| {
            let (a, b, c) = (
                part(0, item, m, k),
                part(1, item, k, n),
                part(2, item, m, n),
            );
            let product = model::gemm(self.alpha, &a, &b, self.beta, &c);
            bits(&model::fuse(product, epilogue).data)
        };
        let batch = if self.is_empty() {
            0
        } else {
            self.batch as usize
        };
        (0..batch).flat_map(item).collect()
    }
}

/// An epilogue, and the kind and length of its bias.
struct Epilogue {
    given: dpt_epilogue,
    is_null: bool,
    kind: i32,
    length: i64,
}

impl Epilogue {
    fn draw<T: Functions>(input: &mut Input<'_>, numbers: &Numbers<T>) -> Epilogue {
        let kind = input.below(3) as i32;
        Epilogue {
            given: dpt_epilogue {
                struct_size: size_of::<dpt_epilogue>(),
                flags: u32::from(input.rarely(2)),
                bias_kind: kind,
                bias: ptr::null(),
                bias_inc: input.stride(1),
                lo: input.scalar::<T>().wide(),
                hi: input.scalar::<T>().wide(),
            },
            is_null: false,
            kind,
            length: [0, numbers.m, numbers.n][kind as usize],
        }
    }

    /// Makes the epilogue invalid in one of 12 cases, and returns the status of the fault.
    fn corrupt(&mut self, input: &mut Input<'_>) -> Option<Code> {
        if !input.rarely(12) {
            return None;
        }
        let given = &mut self.given;
        Some(match input.below(4) {
            0 => {
                given.struct_size = input.pick(&[0, 40, 47, 49, 56, usize::MAX]);
                Code::DPT_BAD_STRUCT_SIZE
            }
            1 => {
                given.flags |= 2 << input.below(31);
                Code::DPT_UNKNOWN_FLAG
            }
            2 => {
                given.bias_kind = input.pick(&[3, -1, i32::MAX, i32::MIN]);
                Code::DPT_UNKNOWN_ENUM
            }
            _ => {
                self.is_null = true;
                Code::DPT_NULL_POINTER
            }
        })
    }

    fn model<T: Functions>(&self, bias: &[u64]) -> model::Epilogue<T> {
        let bias = numbers::<T>(bias);
        let clamps = self.given.flags & 1 != 0;
        model::Epilogue {
            per_row: (self.kind == 1).then(|| bias.clone()),
            per_column: (self.kind == 2).then_some(bias),
            clamp: clamps.then(|| (T::of(self.given.lo), T::of(self.given.hi))),
        }
    }
}

fn product<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let s = Numbers::<T>::draw(input);
    let mut epilogue = Epilogue::draw(input, &s);
    let mut operands = vec![s.operand(0), s.operand(1)];
    let mut broken = None;
    if s.form == Form::Fused {
        broken = epilogue.corrupt(input);
        let bias = Operand::input::<T>("bias", &[(epilogue.length, epilogue.given.bias_inc)]);
        operands.push(bias.only_if(epilogue.kind != 0 && !s.is_empty()));
    }
    operands.push(s.operand(2));
    let query = |exec: *const dpt_exec| {
        let mut size = 0usize;
        // SAFETY: a valid exec, and a valid pointer to the result.
        let status = unsafe { T::GEMM_SIZE(exec, s.m, s.n, s.k, &mut size) };
        (status == 0).then_some(size)
    };
    let name = match s.form {
        Form::Plain => "gemm",
        Form::Batched => "gemm_batched",
        Form::Fused => "gemm_fused",
    };
    let fault = |verdict: &mut Verdict| {
        if let Some(code) = broken {
            verdict.fault(code);
        }
    };
    let case = Case::new(input, name, &s.sizes(), operands, Some(&query), fault);
    let call = |exec, p: &[usize]| {
        let c = p[p.len() - 1] as *mut T;
        let given = dpt_epilogue {
            bias: p[2] as *const c_void,
            ..epilogue.given
        };
        let after = if epilogue.is_null {
            ptr::null()
        } else {
            &raw const given
        };
        call(&s, exec, (p[0] as *const T, p[1] as *const T, c), after)
    };
    case.check(call, |elements| {
        let last = elements.len() - 1;
        let after = match s.form {
            Form::Fused => epilogue.model(&elements[2]),
            _ => model::Epilogue {
                per_row: None,
                per_column: None,
                clamp: None,
            },
        };
        let three = [
            elements[0].clone(),
            elements[1].clone(),
            elements[last].clone(),
        ];
        Some(vec![(last, s.expected(&three, &after))])
    })
}

fn call<T: Functions>(
    s: &Numbers<T>,
    exec: *const dpt_exec,
    (a, b, c): (*const T, *const T, *mut T),
    epilogue: *const dpt_epilogue,
) -> i32 {
    let Numbers {
        m,
        n,
        k,
        alpha,
        beta,
        batch,
        ..
    } = *s;
    let [(a_rs, a_cs, a_bs), (b_rs, b_cs, b_bs), (c_rs, c_cs, c_bs)] = s.strides;
    // SAFETY: a call that may succeed has valid operands; the library refuses the others.
    unsafe {
        match s.form {
            Form::Plain => T::GEMM(
                exec, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs,
            ),
            Form::Batched => T::GEMM_BATCHED(
                exec, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs, batch,
                a_bs, b_bs, c_bs,
            ),
            Form::Fused => T::GEMM_FUSED(
                exec, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs, epilogue,
            ),
        }
    }
}

fn query<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let sizes = [input.size(3000), input.size(3000), input.size(3000)];
    let operands = vec![Operand::output::<usize>("size", &[(1, 1)])];
    let mut case = Case::new(input, "gemm_workspace", &sizes, operands, None, |verdict| {
        if sizes.iter().any(|&size| size > 1 << 30) {
            verdict.may(Code::DPT_SIZE_OVERFLOW);
        }
    });
    // A query computes nothing, however large the sizes.
    case.sizes.clear();
    let call = |exec, p: &[usize]| {
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { T::GEMM_SIZE(exec, sizes[0], sizes[1], sizes[2], p[0] as *mut usize) }
    };
    case.check(call, |_| None)
}
