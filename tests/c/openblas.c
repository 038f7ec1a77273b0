/* Diptych and OpenBLAS in one process: neither affects the other, and their products agree.
 * The build defines the names of OpenBLAS's function and integer type. */
#include "check.h"
#include <math.h>

#ifndef CBLAS_SGEMM
#define CBLAS_SGEMM cblas_sgemm
#define BLAS_INT int
#endif

enum { ROW_MAJOR = 101, NO_TRANS = 111 };

extern void CBLAS_SGEMM(int order, int trans_a, int trans_b, BLAS_INT m, BLAS_INT n, BLAS_INT k,
                        float alpha, const float *a, BLAS_INT lda, const float *b, BLAS_INT ldb,
                        float beta, float *c, BLAS_INT ldc);

enum { M = 65, N = 70, K = 300 };

static float a[M * K], b[K * N], ours[M * N], again[M * N], theirs[M * N];

static void fill_random(float *x, int n, unsigned *state)
{
    for (int i = 0; i < n; i++) {
        *state = *state * 1664525u + 1013904223u;
        x[i] = (float)(*state >> 8) / 8388608.0f - 1.0f;
    }
}

int main(void)
{
    unsigned state = 1;
    fill_random(a, M * K, &state);
    fill_random(b, K * N, &state);
    OK(dpt_gemm_f32(NULL, M, N, K, 1.0f, a, K, 1, b, N, 1, 0.0f, ours, N, 1));
    CBLAS_SGEMM(ROW_MAJOR, NO_TRANS, NO_TRANS, M, N, K, 1.0f, a, K, b, N, 0.0f, theirs, N);
    OK(dpt_gemm_f32(NULL, M, N, K, 1.0f, a, K, 1, b, N, 1, 0.0f, again, N, 1));
    float worst = 0.0f;
    for (int i = 0; i < M * N; i++) {
        worst = fmaxf(worst, fabsf(ours[i] - theirs[i]));
    }
    /* |a|, |b| <= 1, so every partial sum is at most K. A generous bound: K roundings with the error of K. */
    CHECK(worst <= K * K * 6e-8f);
    CHECK(memcmp(ours, again, sizeof ours) == 0);
    return check_result("openblas");
}
