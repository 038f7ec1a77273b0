/* Before including a template, a test defines T, the element type, and SUFFIX, _f32 or _f64. */
#ifndef DTYPE_H
#define DTYPE_H

#define PASTE2_(a, b) a##b
#define PASTE2(a, b) PASTE2_(a, b)
#define PASTE3_(a, b, c) a##b##c
#define PASTE3(a, b, c) PASTE3_(a, b, c)

#define FN(op) PASTE3(dpt_, op, SUFFIX)                  /* dpt_sum_f32 */
#define ROWS(op) PASTE3(dpt_, PASTE2(op, _rows), SUFFIX) /* dpt_sum_rows_f32 */
#define QUERY(op) PASTE2(FN(op), _workspace)             /* dpt_gemm_f32_workspace */
#define LOCAL(name) PASTE2(name, SUFFIX)                 /* a test's own function */

#endif
