/* libdiptych_blas.so under all of its names: the bits are those of libdiptych.so, which has the same on every CPU level
 * and with any number of threads. The build also makes a program without CBLAS_XERBLA, in which CBLAS finds no
 * cblas_xerbla. */
#include "../check.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, UPPER = 121, LOWER = 122 };
static const int OPS[3] = {111, 112, 113};
static const char LETTERS[3] = {'N', 't', 'C'};

/* Whether fused multiply-adds are made in software, which takes a hundred times as long. */
static int is_slow(void)
{
    const char *level = getenv("DIPTYCH_CPU_LEVEL");
    return level != NULL && strcmp(level, "portable") == 0;
}

/* What was reported last: the routine, and the number of the argument. */
static char reported[16];
static int64_t number;

/* The integer has 32 bits or 64: the low half serves both. */
void xerbla_(const char *name, const int32_t *argument, size_t length)
{
    snprintf(reported, sizeof reported, "%.*s", (int)length, name);
    number = *argument;
}

#ifdef CBLAS_XERBLA
int RowMajorStrg;
static int row_major;

void cblas_xerbla(int argument, const char *name, const char *format, ...)
{
    (void)format;
    snprintf(reported, sizeof reported, "%s", name);
    number = argument;
    row_major = RowMajorStrg;
}
#endif

static int is_reported(const char *name, int64_t argument)
{
    int is = strcmp(reported, name) == 0 && number == argument;
    if (!is) {
        printf("expected %s %d, got %s %d\n", name, (int)argument, reported, (int)number);
    }
    reported[0] = 0;
    number = -1;
    return is;
}

/* Each type with each kind of names: T and SUFFIX as in dtype.h, INT, and FORTRAN(name), CBLAS(name). */
#define INT int32_t
#define T float
#define SUFFIX _f32
#define LETTER "S"
#define SMALL "s"
#define KIND plain
#define FORTRAN(name) s##name##_
#define CBLAS(name) cblas_s##name
#define IAMAX isamax_
#define CBLAS_IAMAX cblas_isamax
#include "blas.inc.h"
#define KIND scipy
#define FORTRAN(name) scipy_s##name##_
#define CBLAS(name) scipy_cblas_s##name
#define IAMAX scipy_isamax_
#define CBLAS_IAMAX scipy_cblas_isamax
#include "blas.inc.h"
#undef INT
#define INT int64_t
#define KIND plain64
#define FORTRAN(name) s##name##_64_
#define CBLAS(name) cblas_s##name##64_
#define IAMAX isamax_64_
#define CBLAS_IAMAX cblas_isamax64_
#include "blas.inc.h"
#define KIND scipy64
#define FORTRAN(name) scipy_s##name##_64_
#define CBLAS(name) scipy_cblas_s##name##64_
#define IAMAX scipy_isamax_64_
#define CBLAS_IAMAX scipy_cblas_isamax64_
#include "blas.inc.h"
#undef INT
#undef T
#undef SUFFIX
#undef LETTER
#undef SMALL
#define INT int32_t
#define T double
#define SUFFIX _f64
#define LETTER "D"
#define SMALL "d"
#define KIND plain
#define FORTRAN(name) d##name##_
#define CBLAS(name) cblas_d##name
#define IAMAX idamax_
#define CBLAS_IAMAX cblas_idamax
#include "blas.inc.h"
#define KIND scipy
#define FORTRAN(name) scipy_d##name##_
#define CBLAS(name) scipy_cblas_d##name
#define IAMAX scipy_idamax_
#define CBLAS_IAMAX scipy_cblas_idamax
#include "blas.inc.h"
#undef INT
#define INT int64_t
#define KIND plain64
#define FORTRAN(name) d##name##_64_
#define CBLAS(name) cblas_d##name##64_
#define IAMAX idamax_64_
#define CBLAS_IAMAX cblas_idamax64_
#include "blas.inc.h"
#define KIND scipy64
#define FORTRAN(name) scipy_d##name##_64_
#define CBLAS(name) scipy_cblas_d##name##64_
#define IAMAX scipy_idamax_64_
#define CBLAS_IAMAX scipy_cblas_idamax64_
#include "blas.inc.h"

/* A product that is large enough for threads. */
static void *large_product(void *failed)
{
    const int N = is_slow() ? 80 : 320;
    float *a = malloc(3 * N * N * sizeof *a), *ours = a + N * N, *right = ours + N * N;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i * 7919 % 1013) / 509.0f - 1.0f;
    }
    for (int i = 0; i < 5; i++) {
        cblas_sgemm(ROW_MAJOR, 111, 112, N, N, N, 1, a, N, a, N, 0, ours, N);
    }
    OK(dpt_gemm_f32(NULL, N, N, N, 1, a, N, 1, a, 1, N, 0, right, N, 1));
    *(int *)failed = memcmp(ours, right, N * N * sizeof *a) != 0;
    free(a);
    return NULL;
}

int main(void)
{
    all_plain_f32();
    all_scipy64_f64();
    if (!is_slow()) {
        all_plain_f64();
        all_scipy_f32();
        all_scipy_f64();
        all_plain64_f32();
        all_plain64_f64();
        all_scipy64_f32();
    }

    int failed[4] = {1, 1, 1, 1};
    large_product(&failed[0]);
    CHECK(!failed[0]);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, large_product, &failed[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!failed[i]);
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        large_product(&failed[0]);
        _exit(failed[0]);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    large_product(&failed[0]);
    CHECK(!failed[0]);
    return check_result("blas");
}
