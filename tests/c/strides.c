/* Strides of every kind: a strided call gives the same bits as the contiguous call on a copy. */
#include "check.h"
#include "dtype.h"
#include "generated/operations.inc.h"
#include <stdlib.h>

#define T float
#define SUFFIX _f32
#include "strides.inc.h"
#undef T
#undef SUFFIX

#define T double
#define SUFFIX _f64
#include "strides.inc.h"

int main(void)
{
    strides_f32();
    strides_f64();
    return check_result("strides");
}
