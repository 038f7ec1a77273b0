/* dpt_matmul of integers and of 16-bit floats, against loops. */

enum { ROWS = 9, COLUMNS = 37, STEPS = 1100 };
static int64_t of_a[2] = {ROWS, STEPS}, of_b[2] = {STEPS, COLUMNS}, of_c[2] = {ROWS, COLUMNS};
static int64_t of_rows[1] = {ROWS}, of_columns[1] = {COLUMNS};

static uint8_t left[ROWS * STEPS], right[STEPS * COLUMNS];

/* Any bytes. */
static void fill_bytes(void)
{
    uint32_t state = 11;
    for (int i = 0; i < ROWS * STEPS; i++) {
        state = state * 1664525u + 1013904223u;
        left[i] = (uint8_t)(state >> 24);
    }
    for (int i = 0; i < STEPS * COLUMNS; i++) {
        state = state * 1664525u + 1013904223u;
        right[i] = (uint8_t)(state >> 24);
    }
}

static int as_signed(uint8_t byte)
{
    return byte < 128 ? byte : byte - 256;
}

/* The sum of products of bytes; a is signed or not. */
static int32_t sum_of_bytes(int i, int j, int is_signed)
{
    int32_t sum = 0;
    for (int l = 0; l < STEPS; l++) {
        const uint8_t a = left[i * STEPS + l], b = right[l * COLUMNS + j];
        sum += (is_signed ? as_signed(a) : a) * as_signed(b);
    }
    return sum;
}

/* int8 times int8, and uint8 times int8, to int32: stored, then added. */
static void integer_products(void)
{
    int32_t result[ROWS * COLUMNS];
    const dpt_tensor b = tensor(right, 0, 8, 2, of_b, NULL);
    dpt_tensor c = tensor(result, 0, 32, 2, of_c, NULL);
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const dpt_tensor a = tensor(left, is_signed ? 0 : 1, 8, 2, of_a, NULL);
        memset(result, 0x55, sizeof result);
        for (int times = 1; times <= 2; times++) {
            OK(dpt_matmul(NULL, 1, &a, &b, times == 2, &c, NULL));
            int is_right = 1;
            for (int i = 0; i < ROWS * COLUMNS; i++) {
                is_right &= result[i] == times * sum_of_bytes(i / COLUMNS, i % COLUMNS, is_signed);
            }
            CHECK(is_right);
        }
    }
}

/* uint8 times int8 to float, with factors, a bias and a clamp; each step is rounded. */
static void scaled_products(void)
{
    float result[ROWS * COLUMNS], rows[ROWS], columns[COLUMNS], biases[COLUMNS];
    for (int i = 0; i < ROWS; i++) {
        rows[i] = 0.01f + 0.003f * (float)i;
    }
    for (int j = 0; j < COLUMNS; j++) {
        columns[j] = 0.07f - 0.001f * (float)j;
        biases[j] = 0.3f * (float)(j - 20);
    }
    const dpt_tensor a = tensor(left, 1, 8, 2, of_a, NULL), b = tensor(right, 0, 8, 2, of_b, NULL);
    dpt_tensor c = tensor(result, 2, 32, 2, of_c, NULL);
    const dpt_tensor row_scale = tensor(rows, 2, 32, 1, of_rows, NULL);
    const dpt_tensor column_scale = tensor(columns, 2, 32, 1, of_columns, NULL);
    const dpt_tensor bias = tensor(biases, 2, 32, 1, of_columns, NULL);
    dpt_tensor_epilogue epilogue;
    memset(&epilogue, 0, sizeof epilogue);
    epilogue.struct_size = sizeof epilogue;
    epilogue.flags = DPT_EPILOGUE_CLAMP;
    epilogue.lo = -100;
    epilogue.hi = 250;
    epilogue.bias = &bias;
    epilogue.row_scale = &row_scale;
    epilogue.column_scale = &column_scale;
    OK(dpt_matmul(NULL, 1, &a, &b, 0, &c, &epilogue));
    int is_right = 1;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            volatile float want = (float)sum_of_bytes(i, j, 0);
            want = want * rows[i];
            want = want * columns[j];
            want = want + biases[j];
            want = want < -100.0f ? -100.0f : want > 250.0f ? 250.0f : want;
            is_right &= result[i * COLUMNS + j] == want;
        }
    }
    CHECK(is_right);

    /* The struct before it had factors: what lies behind it is not read. */
    epilogue.struct_size = offsetof(dpt_tensor_epilogue, row_scale);
    epilogue.flags = 0;
    epilogue.row_scale = &bias;
    OK(dpt_matmul(NULL, 1, &a, &b, 0, &c, &epilogue));
    is_right = 1;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            volatile float want = (float)sum_of_bytes(i, j, 0);
            want = want + biases[j];
            is_right &= result[i * COLUMNS + j] == want;
        }
    }
    CHECK(is_right);
}

/* bfloat16 to float and to bfloat16: small integers, whose sums are exact in any order. */
static void half_products(void)
{
    static uint16_t a_bits[ROWS * STEPS], b_bits[STEPS * COLUMNS], halves[ROWS * COLUMNS];
    /* -2, -1, 0, 1, 2, 3, 4, 5 */
    const uint16_t patterns[8] = {0xC000, 0xBF80, 0, 0x3F80, 0x4000, 0x4040, 0x4080, 0x40A0};
    float result[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * STEPS; i++) {
        a_bits[i] = patterns[left[i] % 8];
    }
    for (int i = 0; i < STEPS * COLUMNS; i++) {
        b_bits[i] = patterns[right[i] % 8];
    }
    const dpt_tensor a = tensor(a_bits, 4, 16, 2, of_a, NULL);
    const dpt_tensor b = tensor(b_bits, 4, 16, 2, of_b, NULL);
    dpt_tensor c = tensor(result, 2, 32, 2, of_c, NULL);
    dpt_tensor narrow = tensor(halves, 4, 16, 2, of_c, NULL);
    OK(dpt_matmul(NULL, 0.5, &a, &b, 0, &c, NULL));
    OK(dpt_matmul(NULL, 0.5, &a, &b, 0, &narrow, NULL));
    int is_right = 1, is_rounded = 1;
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            int sum = 0;
            for (int l = 0; l < STEPS; l++) {
                sum += (left[i * STEPS + l] % 8 - 2) * (right[l * COLUMNS + j] % 8 - 2);
            }
            const float want = 0.5f * (float)sum;
            is_right &= result[i * COLUMNS + j] == want;
            uint32_t bits;
            memcpy(&bits, &want, sizeof bits);
            bits += 0x7FFF + (bits >> 16 & 1);
            is_rounded &= halves[i * COLUMNS + j] == bits >> 16;
        }
    }
    CHECK(is_right);
    CHECK(is_rounded);
}

/* Sizes of no version of the struct. */
static void epilogue_sizes(const dpt_tensor *a, const dpt_tensor *b, dpt_tensor *c)
{
    const size_t sizes[4] = {0, offsetof(dpt_tensor_epilogue, row_scale) - 1,
                             offsetof(dpt_tensor_epilogue, column_scale),
                             sizeof(dpt_tensor_epilogue) + 8};
    for (int i = 0; i < 4; i++) {
        dpt_tensor_epilogue epilogue;
        memset(&epilogue, 0, sizeof epilogue);
        epilogue.struct_size = sizes[i];
        STATUS(DPT_BAD_STRUCT_SIZE, dpt_matmul(NULL, 1, a, b, 0, c, &epilogue));
    }
}

/* Types and options that the products do not have: a call with them writes nothing. */
static void product_refusals(void)
{
    int32_t integers[ROWS * COLUMNS];
    float floats[ROWS * COLUMNS], factors[COLUMNS] = {0};
    const dpt_tensor a = tensor(left, 0, 8, 2, of_a, NULL), b = tensor(right, 0, 8, 2, of_b, NULL);
    const dpt_tensor unsigned_b = tensor(right, 1, 8, 2, of_b, NULL);
    dpt_tensor c = tensor(integers, 0, 32, 2, of_c, NULL);
    dpt_tensor c_float = tensor(floats, 2, 32, 2, of_c, NULL);
    dpt_tensor factor = tensor(factors, 2, 32, 1, of_columns, NULL), bad = a;
    memset(integers, 0x55, sizeof integers);
    memset(floats, 0x55, sizeof floats);

    STATUS(DPT_TYPE_MISMATCH, dpt_matmul(NULL, 1, &a, &unsigned_b, 0, &c, NULL));
    c.dtype_code = 1;
    STATUS(DPT_TYPE_MISMATCH, dpt_matmul(NULL, 1, &a, &b, 0, &c, NULL));
    c.dtype_code = 0;
    bad.dtype_code = 6;
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_matmul(NULL, 1, &bad, &b, 0, &c, NULL));
    STATUS(DPT_INVALID_VALUE, dpt_matmul(NULL, 2, &a, &b, 0, &c, NULL));
    STATUS(DPT_INVALID_VALUE, dpt_matmul(NULL, 1, &a, &b, 0.5, &c, NULL));

    dpt_tensor_epilogue epilogue, none;
    memset(&none, 0, sizeof none);
    none.struct_size = sizeof none;
    OK(dpt_matmul(NULL, 1, &a, &b, 0, &c, &none));
    memset(integers, 0x55, sizeof integers);
    epilogue = none;
    epilogue.bias = &factor;
    STATUS(DPT_INVALID_VALUE, dpt_matmul(NULL, 1, &a, &b, 0, &c, &epilogue));
    epilogue = none;
    epilogue.column_scale = &factor;
    STATUS(DPT_INVALID_VALUE, dpt_matmul(NULL, 1, &a, &b, 0, &c, &epilogue));
    epilogue = none;
    epilogue.flags = DPT_EPILOGUE_CLAMP;
    STATUS(DPT_INVALID_VALUE, dpt_matmul(NULL, 1, &a, &b, 0, &c, &epilogue));
    epilogue = none;
    epilogue.row_scale = &factor;
    STATUS(DPT_SHAPE_MISMATCH, dpt_matmul(NULL, 1, &a, &b, 0, &c_float, &epilogue));
    epilogue = none;
    epilogue.column_scale = &factor;
    factor.dtype_code = 0;
    STATUS(DPT_TYPE_MISMATCH, dpt_matmul(NULL, 1, &a, &b, 0, &c_float, &epilogue));
    factor.dtype_code = 2;
    factor.data = NULL;
    STATUS(DPT_NULL_POINTER, dpt_matmul(NULL, 1, &a, &b, 0, &c_float, &epilogue));
    epilogue_sizes(&a, &b, &c_float);
    int is_intact = 1;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        uint32_t bits;
        memcpy(&bits, &floats[i], sizeof bits);
        is_intact &= bits == 0x55555555 && integers[i] == 0x55555555;
    }
    CHECK(is_intact);
}

static void products(void)
{
    fill_bytes();
    integer_products();
    scaled_products();
    half_products();
    product_refusals();
}
