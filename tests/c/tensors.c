/* The functions over tensors give the bits of the typed functions, whatever the strides, and refuse what does not fit. */
#include "check.h"
#include "dtype.h"
#include "generated/operations.inc.h"

static dpt_tensor tensor(void *data, uint8_t code, uint8_t bits, int32_t ndim, int64_t *shape,
                         int64_t *strides)
{
    dpt_tensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device_type = 1;
    t.ndim = ndim;
    t.dtype_code = code;
    t.dtype_bits = bits;
    t.dtype_lanes = 1;
    t.shape = shape;
    t.strides = strides;
    return t;
}

#define ARGS(...) __VA_ARGS__
#define NO_DDOF
#define ONE_DDOF 1,

#define T float
#define SUFFIX _f32
#include "tensors.inc.h"
#undef T
#undef SUFFIX

#define T double
#define SUFFIX _f64
#include "tensors.inc.h"
#undef T
#undef SUFFIX

#include "integers.inc.h"
#include "products.inc.h"
#include "packed.inc.h"

static void check_text(const char *expected, const char *file, int line)
{
    check(strcmp(dpt_last_error(), expected) == 0, dpt_last_error(), file, line, "");
}
#define TEXT(expected) check_text(expected, __FILE__, __LINE__)

/* Each mistake has its status, and a text that names the argument and what it is. */
static void mistakes(void)
{
    float numbers[12] = {0}, result[12];
    double doubles[4] = {0};
    int64_t integers[4] = {0};
    int64_t shape[2] = {3, 4}, four[1] = {4}, five[1] = {5}, negative[1] = {-1};
    int64_t ones[2] = {1, 1};
    dpt_tensor x = tensor(numbers, 2, 32, 2, shape, NULL), y = tensor(numbers, 2, 32, 1, four, NULL);
    dpt_tensor out = tensor(result, 2, 32, 2, shape, NULL), bad;
    OK(dpt_add(NULL, &x, &y, &out));
    STATUS(DPT_NULL_POINTER, dpt_add(NULL, &x, NULL, &out));
    TEXT("dpt_add: y is NULL but elements are needed there");
    STATUS(DPT_NULL_POINTER, dpt_add(NULL, &x, &y, NULL));
    STATUS(DPT_MISALIGNED, dpt_add(NULL, (const dpt_tensor *)((const char *)&x + 1), &y, &out));

    bad = y;
    bad.shape = five;
    STATUS(DPT_SHAPE_MISMATCH, dpt_add(NULL, &x, &bad, &out));
    TEXT("dpt_add: y does not have the right shape: x is float32 (3, 4), y is float32 (5,), "
         "out is float32 (3, 4)");
    bad = tensor(doubles, 2, 64, 1, four, NULL);
    STATUS(DPT_TYPE_MISMATCH, dpt_add(NULL, &x, &bad, &out));
    TEXT("dpt_add: y has another element type than it should: x is float32 (3, 4), y is float64 "
         "(4,), out is float32 (3, 4)");
    dpt_tensor of_integers = tensor(integers, 0, 64, 1, four, NULL);
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_div(NULL, &of_integers, &of_integers, &of_integers));

    bad = y;
    bad.ndim = -1;
    STATUS(DPT_INVALID_VALUE, dpt_add(NULL, &x, &bad, &out));
    bad.ndim = 65;
    STATUS(DPT_INVALID_VALUE, dpt_add(NULL, &x, &bad, &out));
    bad = y;
    bad.shape = NULL;
    STATUS(DPT_NULL_POINTER, dpt_add(NULL, &x, &bad, &out));
    bad.shape = negative;
    STATUS(DPT_NEGATIVE_SIZE, dpt_add(NULL, &x, &bad, &out));
    bad = y;
    bad.dtype_lanes = 4;
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_add(NULL, &x, &bad, &out));
    TEXT("dpt_add: y has an element type that this operation does not take: x is float32 (3, 4), "
         "y is float32x4 (4,), out is float32 (3, 4)");
    bad = out;
    bad.strides = ones;
    STATUS(DPT_OVERLAP, dpt_add(NULL, &x, &y, &bad));
    bad = y;
    bad.data = result;
    bad.byte_offset = 2;
    STATUS(DPT_MISALIGNED, dpt_add(NULL, &x, &bad, &out));
    bad.device_type = 2;
    STATUS(DPT_UNSUPPORTED, dpt_add(NULL, &x, &bad, &out));
    TEXT("dpt_add: y has memory or strides that the call does not take");

    dpt_exec exec = plain_exec();
    exec.device = DPT_DEVICE_AUTO;
    OK(dpt_add(&exec, &x, &y, &out));
    exec.device = 3;
    STATUS(DPT_UNKNOWN_ENUM, dpt_add(&exec, &x, &y, &out));
}

/* Tensors without elements, and page-locked and managed memory. */
static void memory(void)
{
    int64_t none[3] = {2, 0, 3}, four[1] = {4};
    float x[4] = {1, 2, 3, 4}, y[4];
    dpt_tensor empty = tensor(NULL, 2, 32, 3, none, NULL);
    OK(dpt_add(NULL, &empty, &empty, &empty));
    const int32_t types[] = {1, 3, 13};
    for (int i = 0; i < 3; i++) {
        dpt_tensor in = tensor(x, 2, 32, 1, four, NULL), out = tensor(y, 2, 32, 1, four, NULL);
        in.device_type = out.device_type = types[i];
        OK(dpt_neg(NULL, &in, &out));
        CHECK(y[3] == -4);
    }
}

int main(void)
{
    tensors_f32();
    tensors_f64();
    integers();
    products();
    packed_products();
    packed_refusals();
    mistakes();
    memory();
    return check_result("tensors");
}
