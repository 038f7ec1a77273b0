/* Every function once and more, with right answers: small whole numbers, so that they are exact. */
#include "check.h"
#include "dtype.h"
#include <math.h>
#include <stdlib.h>

#define T float
#define SUFFIX _f32
#include "values_elementwise.inc.h"
#include "values_gemm.inc.h"
#include "values_reduce.inc.h"
#undef T
#undef SUFFIX

#define T double
#define SUFFIX _f64
#include "values_elementwise.inc.h"
#include "values_gemm.inc.h"
#include "values_reduce.inc.h"

static void levels(void)
{
    OK(dpt_force_cpu_level(DPT_LEVEL_PORTABLE));
    CHECK(strcmp(dpt_cpu_level(), "portable") == 0);
    OK(dpt_force_cpu_level(DPT_LEVEL_AUTO));
    CHECK(strcmp(dpt_cpu_level(), "unknown") != 0);
}

int main(void)
{
    elementwise_f32();
    elementwise_f64();
    products_f32();
    products_f64();
    reductions_f32();
    reductions_f64();
    levels();
    CHECK(dpt_last_error()[0] == '\0');
    return check_result("values");
}
