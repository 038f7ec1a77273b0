/* Operations over tensors of integers: results that wrap, the types of results, and what is refused. */

enum { WORDS = 1000 };

/* int8: what wraps, and an upper bound below the lower one. */
static void elements_of_int8(void)
{
    int8_t x[4] = {-128, -1, 5, 127}, y[4] = {-128, 1, 100, 127}, out[4];
    int8_t numbers[3] = {8, 3, 2};
    int64_t four[1] = {4};
    const dpt_tensor tx = tensor(x, 0, 8, 1, four, NULL), ty = tensor(y, 0, 8, 1, four, NULL);
    const dpt_tensor eight = tensor(numbers, 0, 8, 0, NULL, NULL);
    const dpt_tensor three = tensor(numbers + 1, 0, 8, 0, NULL, NULL);
    const dpt_tensor two = tensor(numbers + 2, 0, 8, 0, NULL, NULL);
    dpt_tensor tout = tensor(out, 0, 8, 1, four, NULL);
#define GIVES(call, a, b, c, d)                                                                    \
    do {                                                                                           \
        memset(out, 0x55, sizeof out);                                                             \
        OK(call);                                                                                  \
        CHECK(out[0] == (a) && out[1] == (b) && out[2] == (c) && out[3] == (d));                   \
    } while (0)
    GIVES(dpt_add(NULL, &tx, &ty, &tout), 0, 0, 105, -2);
    GIVES(dpt_sub(NULL, &tx, &ty, &tout), 0, -2, -95, 0);
    GIVES(dpt_mul(NULL, &tx, &ty, &tout), 0, -1, -12, 1);
    GIVES(dpt_scale(NULL, &two, &tx, &tout), 0, -2, 10, -2);
    GIVES(dpt_square(NULL, &tx, &tout), 0, 1, 25, 1);
    GIVES(dpt_abs(NULL, &tx, &tout), -128, 1, 5, 127);
    GIVES(dpt_neg(NULL, &tx, &tout), -128, 1, -5, -127);
    GIVES(dpt_minimum(NULL, &tx, &ty, &tout), -128, -1, 5, 127);
    GIVES(dpt_maximum(NULL, &tx, &ty, &tout), -128, 1, 100, 127);
    GIVES(dpt_clamp(NULL, &tx, &three, &eight, &tout), 3, 3, 5, 8);
    GIVES(dpt_clamp(NULL, &tx, &eight, &three, &tout), 3, 3, 3, 3);
    GIVES(dpt_clamp(NULL, &tx, NULL, &three, &tout), -128, -1, 3, 3);
    GIVES(dpt_clamp(NULL, &tx, NULL, NULL, &tout), -128, -1, 5, 127);
    GIVES(dpt_clamp_backward(NULL, &tx, &ty, NULL, &eight, &tout), -128, 1, 100, 0);
    GIVES(dpt_fill(NULL, &three, &tout), 3, 3, 3, 3);
    OK(dpt_axpy(NULL, &two, &ty, &tout));
    CHECK(out[0] == 3 && out[1] == 5 && out[2] == -53 && out[3] == 1);
#undef GIVES
}

/* uint8: negatives wrap, absolute values are the numbers, and comparisons have no sign. */
static void elements_of_uint8(void)
{
    uint8_t x[3] = {0, 1, 200}, limit[1] = {150}, out[3];
    int64_t three[1] = {3};
    const dpt_tensor tx = tensor(x, 1, 8, 1, three, NULL);
    const dpt_tensor bound = tensor(limit, 1, 8, 0, NULL, NULL);
    dpt_tensor tout = tensor(out, 1, 8, 1, three, NULL);
    OK(dpt_neg(NULL, &tx, &tout));
    CHECK(out[0] == 0 && out[1] == 255 && out[2] == 56);
    OK(dpt_abs(NULL, &tx, &tout));
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 200);
    OK(dpt_clamp(NULL, &tx, NULL, &bound, &tout));
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 150);
}

/* Sums of bytes, which no byte holds, to each type of results; extremes and where they are. */
static void reductions_of_integers(void)
{
    static uint8_t x[WORDS];
    int64_t shape[1] = {WORDS}, sum, index;
    int32_t word;
    uint8_t byte;
    for (int i = 0; i < WORDS; i++) {
        x[i] = (uint8_t)(255 - i % 7);
    }
    const dpt_tensor tx = tensor(x, 1, 8, 1, shape, NULL);
    dpt_tensor to_long = tensor(&sum, 0, 64, 0, NULL, NULL);
    dpt_tensor to_word = tensor(&word, 0, 32, 0, NULL, NULL);
    dpt_tensor to_byte = tensor(&byte, 1, 8, 0, NULL, NULL);
    dpt_tensor to_index = tensor(&index, 0, 64, 0, NULL, NULL);
    int64_t want = 0;
    for (int i = 0; i < WORDS; i++) {
        want += x[i];
    }
    OK(dpt_sum(NULL, &tx, -1, NULL, &to_long));
    OK(dpt_sum(NULL, &tx, -1, NULL, &to_word));
    OK(dpt_sum(NULL, &tx, -1, NULL, &to_byte));
    CHECK(sum == want && word == want && byte == want % 256);
    OK(dpt_min(NULL, &tx, -1, NULL, &to_byte));
    CHECK(byte == 249);
    OK(dpt_argmin(NULL, &tx, -1, NULL, &to_index));
    CHECK(index == 6);
    OK(dpt_count_nonzero(NULL, &tx, -1, NULL, &to_index));
    CHECK(index == WORDS);
    STATUS(DPT_TYPE_MISMATCH, dpt_min(NULL, &tx, -1, NULL, &to_long));
    STATUS(DPT_TYPE_MISMATCH, dpt_argmax(NULL, &tx, -1, NULL, &to_word));

    /* Columns and rows of a matrix. */
    int32_t numbers[6] = {3, -7, 2147483647, 1, 0, 1}, of_columns[3];
    int64_t of_rows[2], two_by_three[2] = {2, 3}, two[1] = {2}, three[1] = {3};
    const int32_t first[1] = {0}, last[1] = {-1};
    const dpt_tensor matrix = tensor(numbers, 0, 32, 2, two_by_three, NULL);
    dpt_tensor columns = tensor(of_columns, 0, 32, 1, three, NULL);
    dpt_tensor rows = tensor(of_rows, 0, 64, 1, two, NULL);
    OK(dpt_sum(NULL, &matrix, 1, first, &columns));
    CHECK(of_columns[0] == 4 && of_columns[1] == -7 && of_columns[2] == -2147483647 - 1);
    OK(dpt_sum(NULL, &matrix, 1, last, &rows));
    CHECK(of_rows[0] == 2147483643 && of_rows[1] == 2);
    OK(dpt_asum(NULL, &matrix, 1, last, &rows));
    CHECK(of_rows[0] == 2147483657 && of_rows[1] == 2);
    OK(dpt_argmax(NULL, &matrix, 1, last, &rows));
    CHECK(of_rows[0] == 2 && of_rows[1] == 0);
}

/* Outer products, which wrap, and those of float16, which need not be rounded. */
static void outer_products_of_integers(void)
{
    int8_t x[2] = {100, -128}, y[3] = {2, -1, 3}, out[6];
    uint16_t halves[2] = {0x3c01, 0x3c00}; /* 1 + 2^-10, 1 */
    float products[4];
    int64_t two[1] = {2}, three[1] = {3}, matrix[2] = {2, 3}, square[2] = {2, 2};
    const dpt_tensor tx = tensor(x, 0, 8, 1, two, NULL), ty = tensor(y, 0, 8, 1, three, NULL);
    const dpt_tensor half = tensor(halves, 2, 16, 1, two, NULL);
    dpt_tensor tout = tensor(out, 0, 8, 2, matrix, NULL);
    dpt_tensor wide = tensor(products, 2, 32, 2, square, NULL);
    OK(dpt_outer(NULL, &tx, &ty, &tout));
    CHECK(out[0] == -56 && out[1] == -100 && out[2] == 44);
    CHECK(out[3] == 0 && out[4] == -128 && out[5] == -128);
    OK(dpt_ger(NULL, -257.0, &tx, &ty, &tout));
    CHECK(out[0] == 0 && out[1] == 0 && out[2] == 0);
    CHECK(out[3] == 0 && out[4] == 0 && out[5] == 0);
    STATUS(DPT_INVALID_VALUE, dpt_ger(NULL, 0.5, &tx, &ty, &tout));
    OK(dpt_outer(NULL, &half, &half, &wide));
    CHECK(products[0] == 1.0f + 1.0f / 512 + 1.0f / 1048576 && products[3] == 1.0f);
    STATUS(DPT_TYPE_MISMATCH, dpt_ger(NULL, 1.0, &half, &half, &wide));
}

/* Operations that integers do not have, and types without operations. */
static void integers_refused(void)
{
    int32_t x[2] = {7, 2}, out[2] = {5, 5};
    int64_t two[1] = {2}, none[1] = {0};
    int16_t halves[2] = {1, 2};
    const dpt_tensor tx = tensor(x, 0, 32, 1, two, NULL);
    const dpt_tensor of_16_bits = tensor(halves, 0, 16, 1, two, NULL);
    const dpt_tensor empty = tensor(x, 0, 32, 1, none, NULL);
    dpt_tensor tout = tensor(out, 0, 32, 1, two, NULL), one = tensor(out, 0, 32, 0, NULL, NULL);
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_div(NULL, &tx, &tx, &tout));
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_mean(NULL, &tx, -1, NULL, &one));
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_var(NULL, &tx, -1, NULL, 0, &one));
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_nrm2(NULL, &tx, -1, NULL, &one));
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_sum(NULL, &of_16_bits, -1, NULL, &one));
    STATUS(DPT_TYPE_MISMATCH, dpt_add(NULL, &tx, &of_16_bits, &tout));
    STATUS(DPT_EMPTY_REDUCTION, dpt_max(NULL, &empty, -1, NULL, &one));
    CHECK(out[0] == 5 && out[1] == 5);
    OK(dpt_sum(NULL, &empty, -1, NULL, &one));
    CHECK(out[0] == 0);
}

static void integers(void)
{
    elements_of_int8();
    elements_of_uint8();
    reductions_of_integers();
    outer_products_of_integers();
    integers_refused();
}
