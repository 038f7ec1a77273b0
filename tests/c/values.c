/* Every function with its expected results: the values are small whole numbers, so that results are exact. */
#include "check.h"
#include "dtype.h"
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#define T float
#define SUFFIX _f32
#include "values_elementwise.inc.h"
#include "values_gemm.inc.h"
#include "values_reduce.inc.h"
#include "values_row_map.inc.h"
#undef T
#undef SUFFIX

#define T double
#define SUFFIX _f64
#include "values_elementwise.inc.h"
#include "values_gemm.inc.h"
#include "values_reduce.inc.h"
#include "values_row_map.inc.h"

static void levels(void)
{
    OK(dpt_force_cpu_level(DPT_LEVEL_PORTABLE));
    CHECK(strcmp(dpt_cpu_level(), "portable") == 0);
    OK(dpt_force_cpu_level(DPT_LEVEL_AUTO));
    CHECK(strcmp(dpt_cpu_level(), "unknown") != 0);
}

/* Without DPT_EPILOGUE_CLAMP the bounds are ignored, even if they do not fit in a float: no flag is raised. */
static void flags(void)
{
    const float a[4] = {1, 2, 3, 4};
    float c[4];
    dpt_epilogue epilogue = {0};
    epilogue.struct_size = sizeof epilogue;
    epilogue.lo = 1e300;
    epilogue.hi = 0.1;
    feclearexcept(FE_ALL_EXCEPT);
    OK(dpt_gemm_fused_f32(NULL, 2, 2, 2, 1, a, 2, 1, a, 2, 1, 0, c, 2, 1, &epilogue));
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(c[0] == 7 && c[3] == 22);
}

int main(void)
{
    elementwise_f32();
    elementwise_f64();
    products_f32();
    products_f64();
    reductions_f32();
    reductions_f64();
    row_maps_f32();
    row_maps_f64();
    flags();
    levels();
    CHECK(dpt_last_error()[0] == '\0');
    return check_result("values");
}
