/* dpt_matmul_packed has the bits of dpt_matmul, and refuses what is no packed matrix of this machine. */

enum { PACKED_BYTES = 1 << 20 };

/* Memory with an alignment of its own. */
static void *packed_memory(void)
{
    static unsigned char memory[PACKED_BYTES + 128];
    const uintptr_t misfit = (uintptr_t)memory % 64;
    return memory + (misfit ? 64 - misfit : 0);
}

/* Compares the two products. */
static void packed_product(const dpt_tensor *a, const dpt_tensor *b, const dpt_tensor_epilogue *last)
{
    static float want[ROWS * COLUMNS], result[ROWS * COLUMNS];
    void *packed = packed_memory();
    size_t size = 0;
    const int is_float = b->dtype_code != 0;
    dpt_tensor c = tensor(want, is_float ? 2 : 0, 32, 2, of_c, NULL);
    OK(dpt_matmul(NULL, 1, a, b, 0, &c, last));
    OK(dpt_matmul_packed_size(NULL, b, &size));
    CHECK(size > 64 && size % 64 == 0 && size <= PACKED_BYTES);
    OK(dpt_matmul_pack(NULL, b, packed, size));
    c.data = result;
    memset(result, 0x55, sizeof result);
    OK(dpt_matmul_packed(NULL, 1, a, packed, size, 0, &c, last));
    CHECK(memcmp(want, result, sizeof want) == 0);
}

static void packed_products(void)
{
    static float a_floats[ROWS * STEPS], b_floats[STEPS * COLUMNS];
    static uint16_t a_halves[ROWS * STEPS], b_halves[STEPS * COLUMNS];
    for (int i = 0; i < ROWS * STEPS; i++) {
        a_floats[i] = 0.1f * (float)left[i];
        a_halves[i] = (uint16_t)(0x3F80 + left[i]);
    }
    for (int i = 0; i < STEPS * COLUMNS; i++) {
        b_floats[i] = 0.01f * (float)right[i] - 1;
        b_halves[i] = (uint16_t)(0xBF80 + right[i]);
    }
    dpt_tensor a = tensor(a_floats, 2, 32, 2, of_a, NULL), b = tensor(b_floats, 2, 32, 2, of_b, NULL);
    float biases[COLUMNS] = {1, -2, 3};
    const dpt_tensor bias = tensor(biases, 2, 32, 1, of_columns, NULL);
    dpt_tensor_epilogue epilogue;
    memset(&epilogue, 0, sizeof epilogue);
    epilogue.struct_size = sizeof epilogue;
    epilogue.bias = &bias;
    packed_product(&a, &b, NULL);
    packed_product(&a, &b, &epilogue);
    /* A transposed b. */
    int64_t down[2] = {1, STEPS};
    b.strides = down;
    packed_product(&a, &b, NULL);
    a = tensor(a_halves, 4, 16, 2, of_a, NULL);
    b = tensor(b_halves, 4, 16, 2, of_b, NULL);
    packed_product(&a, &b, &epilogue);
    b = tensor(right, 0, 8, 2, of_b, NULL);
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        a = tensor(left, is_signed ? 0 : 1, 8, 2, of_a, NULL);
        packed_product(&a, &b, NULL);
    }
}

static void packed_refusals(void)
{
    float floats[6] = {1, 2, 3, 4, 5, 6}, result[6];
    int64_t of_left[2] = {2, 3}, of_right[2] = {3, 2}, of_result[2] = {2, 2}, one[1] = {6};
    const dpt_tensor a = tensor(floats, 2, 32, 2, of_left, NULL);
    dpt_tensor b = tensor(floats, 2, 32, 2, of_right, NULL), bad = b;
    dpt_tensor c = tensor(result, 2, 32, 2, of_result, NULL);
    char *packed = packed_memory();
    size_t size = 0;

    bad.shape = one;
    bad.ndim = 1;
    STATUS(DPT_SHAPE_MISMATCH, dpt_matmul_packed_size(NULL, &bad, &size));
    bad = b;
    bad.dtype_code = 1;
    STATUS(DPT_UNSUPPORTED_TYPE, dpt_matmul_packed_size(NULL, &bad, &size));
    bad = b;
    bad.device_type = 2;
    STATUS(DPT_UNSUPPORTED, dpt_matmul_packed_size(NULL, &bad, &size));
    STATUS(DPT_NULL_POINTER, dpt_matmul_packed_size(NULL, &b, NULL));
    STATUS(DPT_NULL_POINTER, dpt_matmul_packed_size(NULL, NULL, &size));
    OK(dpt_matmul_packed_size(NULL, &b, &size));

    STATUS(DPT_NULL_POINTER, dpt_matmul_pack(NULL, &b, NULL, size));
    STATUS(DPT_MISALIGNED, dpt_matmul_pack(NULL, &b, packed + 8, size));
    STATUS(DPT_INVALID_VALUE, dpt_matmul_pack(NULL, &b, packed, size - 1));
    bad = b;
    bad.data = packed;
    STATUS(DPT_OVERLAP, dpt_matmul_pack(NULL, &bad, packed, size));
    OK(dpt_matmul_pack(NULL, &b, packed, size));

    OK(dpt_matmul_packed(NULL, 1, &a, packed, size, 0, &c, NULL));
    CHECK(result[0] == 22 && result[1] == 28 && result[2] == 49 && result[3] == 64);
    memset(result, 0x55, sizeof result);
    STATUS(DPT_NULL_POINTER, dpt_matmul_packed(NULL, 1, &a, NULL, size, 0, &c, NULL));
    STATUS(DPT_MISALIGNED, dpt_matmul_packed(NULL, 1, &a, packed + 8, size, 0, &c, NULL));
    STATUS(DPT_INVALID_VALUE, dpt_matmul_packed(NULL, 1, &a, packed, size - 1, 0, &c, NULL));
    STATUS(DPT_INVALID_VALUE, dpt_matmul_packed(NULL, 1, &a, packed, 3, 0, &c, NULL));
    STATUS(DPT_SHAPE_MISMATCH, dpt_matmul_packed(NULL, 1, &b, packed, size, 0, &c, NULL));
    CHECK(strstr(dpt_last_error(), "packed does not have the right shape") != NULL);
    bad = c;
    bad.data = packed + 64;
    STATUS(DPT_OVERLAP, dpt_matmul_packed(NULL, 1, &a, packed, size, 0, &bad, NULL));
    /* A header of another layout, and none at all. */
    packed[8 * 4] ^= 1;
    STATUS(DPT_PACKED_LAYOUT, dpt_matmul_packed(NULL, 1, &a, packed, size, 0, &c, NULL));
    CHECK(strstr(dpt_last_error(), "packed was packed for another CPU level") != NULL);
    packed[8 * 4] ^= 1;
    packed[0] ^= 1;
    STATUS(DPT_INVALID_VALUE, dpt_matmul_packed(NULL, 1, &a, packed, size, 0, &c, NULL));
    int is_intact = 1;
    for (size_t i = 0; i < sizeof result; i++) {
        is_intact &= ((unsigned char *)result)[i] == 0x55;
    }
    CHECK(is_intact);
}
