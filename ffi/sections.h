/* ---- INFORMATION ------------------------------------------------------------------------- */

FUNCTIONS(status, error, info, fingerprint)

/* ---- THREAD POOLS ------------------------------------------------------------------------ */

FUNCTIONS(pool)

/* ---- DEVICE FUNCTIONS --------------------------------------------------------------------
 *
 * All except dpt_cuda_available work in the CUDA context that operations use (see GPU above). exec
 * may be NULL: dpt_copy then runs on the CPU, and the others use the default stream. Of exec the
 * others use only exec->stream.
 */

FUNCTIONS(cuda)

/* ---- ELEMENTWISE OPERATIONS --------------------------------------------------------------
 *
 * Shapes     Every array has n elements without gaps; i runs over 0 .. n.
 * NaN        A NaN operand gives a NaN. A function that differs has a line "NaN:".
 * Aliasing   The output may be exactly any of the input arrays, or several of them.
 * Empty      n = 0 succeeds; the arrays may then be NULL.
 */

FUNCTIONS(elementwise)

/* ---- OUTER PRODUCTS ----------------------------------------------------------------------
 *
 * Shapes     x has m elements, x[i * incx]; y has n elements, y[j * incy]; incx and incy may be 0
 *            or negative. The output is m x n, out[i * out_rs + j * out_cs] or
 *            a[i * a_rs + j * a_cs]; its strides may be negative.
 * NaN        A NaN operand gives a NaN; 0 * NaN is NaN.
 * Empty      m = 0 or n = 0 succeeds and writes nothing; the arrays may then be NULL.
 */

FUNCTIONS(outer)

/* ---- MATRIX PRODUCTS ---------------------------------------------------------------------
 *
 * Everything that dpt_gemm_f32 says holds for the other products too, unless they say otherwise.
 */

FUNCTIONS(gemm)

/* ---- REDUCTIONS OF VECTORS ---------------------------------------------------------------
 *
 * Each writes one result to *out. "The canonical order" is reduce(n) above.
 *
 * Shapes     x has n elements, x[i * incx]; incx may be 0 or negative.
 * NaN        A NaN in x gives the canonical NaN. A function that differs has a line "NaN:".
 * Aliasing   *out must not overlap an element of x.
 * Empty      Each function says what n = 0 gives. x may be NULL if n = 0.
 * Scratch    On the CPU none. On the GPU long vectors need scratch memory (see GPU).
 */

FUNCTIONS(reduce, dot)

/* ---- REDUCTIONS ALONG ROWS ---------------------------------------------------------------
 *
 * out[i * inc_out] = the result of the vector form for row i of X, with exactly its bits, for i in
 * 0 .. m.
 *
 * Shapes     X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. To reduce the columns
 *            of a matrix, exchange m with n and rs with cs. out has m elements; inc_out may be
 *            negative.
 * NaN        As in the vector form.
 * Empty      m = 0 succeeds and writes nothing. With m > 0 and n = 0 every result is that of the
 *            vector form, and x may be NULL; if the vector form refuses n = 0, the call returns
 *            DPT_EMPTY_REDUCTION.
 * Errors     As in the vector form.
 * Scratch    On the CPU optional: with an exec->workspace of about 256 bytes per column, reductions
 *            down the columns of matrices over 1 MiB are faster. Any size is accepted. On the GPU
 *            long rows need scratch memory (see GPU).
 */

FUNCTIONS(reduce_rows)

/* ---- MAPS OVER ROWS ----------------------------------------------------------------------
 *
 * Each row is reduced, and each of its elements then computed from itself and from the results,
 * which have the bits of the reductions of the same name.
 *
 * Shapes     X is m x n, x[i * x_rs + j * x_cs]; x_rs and x_cs may be 0 or negative. The output is
 *            m x n, out[i * out_rs + j * out_cs]; its strides may be negative. For the columns of a
 *            matrix exchange m with n and each _rs with its _cs; a vector is a matrix of one row.
 * Aliasing   The output may be exactly x, with its strides.
 * Empty      m = 0 or n = 0 succeeds and writes nothing; the arrays may then be NULL.
 * Scratch    On the CPU optional, as for reductions along rows. On the GPU m results of each
 *            reduction, beside what the reductions need (see GPU); with less, the rows are done in
 *            parts.
 */

FUNCTIONS(row_map)

/* ---- FUSED OPERATIONS -------------------------------------------------------------------- */

FUNCTIONS(fused)

/* ---- TENSORS -----------------------------------------------------------------------------
 *
 * One function for each operation, for tensors of any rank, shape, strides and element type; see
 * dpt_tensor. The float form of the same name says what it computes.
 *
 * Shapes     Elementwise: operands are broadcast as in NumPy; a scalar of the typed form is a
 *            tensor too, usually without axes. The output has exactly the broadcast shape, or is an
 *            operand that the operation updates. Reductions: naxes axes are reduced, all if naxes
 *            is negative; negative axes count from the end; an axis that is out of range or named
 *            twice is DPT_INVALID_VALUE. The output has the other axes, and may keep the reduced
 *            ones with length 1. Maps over rows: the same axes make a row, and the output has the
 *            shape of x. Shapes that do not fit are DPT_SHAPE_MISMATCH; the error text
 *            gives them.
 * Types      float, double, float16 and bfloat16; functions that say so also int8, uint8, int32
 *            and int64. The operands of a call have one type, else DPT_TYPE_MISMATCH; indices and
 *            counts go to int64. Other types are DPT_UNSUPPORTED_TYPE, except in dpt_convert.
 *            float16 and bfloat16 are computed in float and rounded once; the results of
 *            reductions, of dpt_dot and of dpt_outer, and the loss of dpt_mse_grad, may also be
 *            float, which are not rounded.
 * Integers   Results are exact modulo 2^bits: they wrap, in two's complement, as -(-128) and |-128|
 *            of int8 are -128. dpt_sum, dpt_prod, dpt_sumsq and dpt_asum write to an output of the
 *            type of x, of int32 or of int64: the exact result, modulo 2^bits of that type.
 * Bits       An element of an elementwise result has the bits that the operation gives for it
 *            alone. A reduction, also within a map over rows, has the bits of the reduction of the
 *            same elements, taken in row-major order of the reduced axes. A product has the bits of
 *            each pair of matrices alone.
 * Memory     Plain, page-locked or managed memory. On the CPU, tensors that no kernel fits are
 *            read and written block by block, through the stack or scratch memory. A call runs on
 *            the GPU as exec->device says; with DPT_DEVICE_AUTO it does if a tensor is in device or
 *            managed memory. Arrays must then be in device or managed memory, and scalars in plain
 *            or page-locked memory, which is read before the call returns. An input without axes,
 *            of an elementwise operation or of dpt_convert, may be in any of these. On the GPU, a
 *            reduction of integers over more than eight axes that cannot be merged is
 *            DPT_UNSUPPORTED.
 * Scratch    On the CPU optional: reductions over several axes, or of many vectors of float16 or
 *            bfloat16, are faster with a buffer of up to 4 MiB for each thread, in exec->workspace
 *            or the thread's own. Any size is accepted.
 *
 *            On the GPU some tensors are copied to scratch memory first: the rows of a reduction
 *            over axes that cannot be merged into one, and tensors of dpt_mse_grad and vectors of
 *            dpt_lsq_grad that are not contiguous; of float16 and bfloat16 all tensors of these
 *            two, as float. exec->workspace then needs room for the copies, each rounded up to a
 *            multiple of 16 bytes, beside what other calls need (see GPU). A reduction needs room
 *            for one row; it is fastest with room for all rows, or for 16 MiB of them.
 * Aliasing   As in the typed functions. Two tensors are "exactly" the same if they have the same
 *            elements in the same order.
 * Errors     Also DPT_SHAPE_MISMATCH, DPT_TYPE_MISMATCH, DPT_UNSUPPORTED_TYPE, DPT_UNSUPPORTED, and
 *            DPT_INVALID_VALUE for a bad ndim.
 */

FUNCTIONS(generated/tensors, tensor/products, tensor/packed)

/* ---- ADVICE ------------------------------------------------------------------------------
 *
 * Provisional: the library's figures for devices come from published specifications, and none of
 * them has been measured. Until they are, everything in this section and in its structs may change
 * in any version. In a build without GPU support the functions return DPT_UNSUPPORTED.
 */

FUNCTIONS(advice)
