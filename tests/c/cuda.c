/* The GPU backend from C: memory, copies, an operation on the device, advice; without a device, the status
 * that says so. */
#include "check.h"

static dpt_exec on_device(void)
{
    dpt_exec exec = plain_exec();
    exec.device = DPT_DEVICE_CUDA;
    return exec;
}

/* A tensor of 4 floats, on the device if memory is there. */
static dpt_tensor of_four(void *data, int32_t device_type)
{
    static int64_t shape[1] = {4};
    dpt_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    tensor.data = data;
    tensor.device_type = device_type;
    tensor.ndim = 1;
    tensor.dtype_code = 2;
    tensor.dtype_bits = 32;
    tensor.dtype_lanes = 1;
    tensor.shape = shape;
    return tensor;
}

static void without_device(dpt_status none)
{
    const dpt_exec exec = on_device();
    float x[2] = {1, 2}, out[2] = {0, 0};
    void *memory = x;
    STATUS(none, dpt_square_f32(&exec, 2, x, out));
    STATUS(none, dpt_copy(&exec, sizeof x, x, out));
    CHECK(out[0] == 0 && out[1] == 0);
    const dpt_tensor there = of_four(memory, 2);
    dpt_tensor to = there;
    STATUS(none, dpt_square(&exec, &there, &to));
    STATUS(none, dpt_cuda_alloc(16, &memory));
    CHECK(memory == NULL);
    STATUS(none, dpt_cuda_alloc_pinned(16, &memory));
    STATUS(none, dpt_cuda_synchronize(&exec));
    STATUS(none, dpt_cuda_release(&exec));
    OK(dpt_cuda_free(NULL));
    OK(dpt_cuda_free_pinned(NULL));
}

static void with_device(void)
{
    const dpt_exec exec = on_device();
    dpt_exec look = on_device();
    float x[4] = {1, 2, 3, 4}, y[4] = {0, 0, 0, 0};
    void *device, *pinned;
    look.device = DPT_DEVICE_AUTO;
    OK(dpt_cuda_alloc(sizeof x, &device));
    OK(dpt_cuda_alloc_pinned(sizeof x, &pinned));
    OK(dpt_copy(&exec, sizeof x, x, device));
    OK(dpt_square_f32(&exec, 4, device, device));
    OK(dpt_scale_f32(&look, 4, 2, device, device));
    /* A number beside tensors on the device is in host memory. */
    float half = 0.5f;
    const dpt_tensor there = of_four(device, 2), here = of_four(x, 1);
    dpt_tensor alpha = of_four(&half, 1), to = there;
    alpha.ndim = 0;
    OK(dpt_scale(&look, &alpha, &there, &to));
    OK(dpt_add(&exec, &there, &there, &to));
    STATUS(DPT_UNSUPPORTED, dpt_add(&exec, &there, &here, &to));
    OK(dpt_copy(&look, sizeof x, device, pinned));
    OK(dpt_cuda_synchronize(&exec));
    memcpy(y, pinned, sizeof y);
    CHECK(y[0] == 2 && y[1] == 8 && y[2] == 18 && y[3] == 32);
    STATUS(DPT_HOST_POINTER, dpt_square_f32(&exec, 4, x, device));
    STATUS(DPT_MIXED_POINTERS, dpt_square_f32(&look, 4, device, y));
    OK(dpt_cuda_release(&exec));
    OK(dpt_cuda_free(device));
    OK(dpt_cuda_free_pinned(pinned));
}

static void advice(void)
{
    dpt_advice found, batch;
    dpt_advice_constants constants;
    memset(&found, 0, sizeof found);
    memset(&constants, 0, sizeof constants);
    STATUS(DPT_BAD_STRUCT_SIZE, dpt_advise_constants(&constants));
    STATUS(DPT_NULL_POINTER, dpt_advise_constants(NULL));
    constants.struct_size = sizeof constants;
    OK(dpt_advise_constants(&constants));
    CHECK(constants.measured == 0 && constants.cpu_read[4] > 0 && constants.copy_back > 0);
    STATUS(DPT_BAD_STRUCT_SIZE, dpt_advise_f32(NULL, "add", 0, 4, 0, DPT_DEVICE_CPU, &found));
    found.struct_size = sizeof found;
    OK(dpt_advise_f32(NULL, "add", 0, 4, 0, DPT_DEVICE_CPU, &found));
    CHECK(found.device == DPT_DEVICE_CPU && found.measured == 0 && found.cpu_seconds > 0);
    OK(dpt_advise_measure(NULL));
    OK(dpt_advise_f64(NULL, "gemm", 64, 64, 64, DPT_DEVICE_CPU, &found));
    CHECK(found.measured == 1 && found.cpu_seconds > 0 && found.cuda_seconds > 0);
    batch = found;
    OK(dpt_advise_batched_f64(NULL, "gemm_batched", 10, 64, 64, 64, DPT_DEVICE_CPU, &batch));
    CHECK(batch.cpu_seconds > 2 * found.cpu_seconds);
    OK(dpt_advise_batched_f32(NULL, "gemm_batched", 1, 64, 64, 64, DPT_DEVICE_CPU, &batch));
    STATUS(DPT_NEGATIVE_SIZE,
           dpt_advise_batched_f32(NULL, "gemm_batched", -1, 64, 64, 64, DPT_DEVICE_CPU, &batch));
    OK(dpt_advise_constants(&constants));
    CHECK(constants.measured == 1 && constants.cpu_flops[0] > 0);
    STATUS(DPT_INVALID_VALUE, dpt_advise_f32(NULL, "", 0, 4, 0, DPT_DEVICE_CPU, &found));
    STATUS(DPT_UNKNOWN_ENUM, dpt_advise_f32(NULL, "add", 0, 4, 0, DPT_DEVICE_AUTO, &found));
    STATUS(DPT_NULL_POINTER, dpt_advise_f32(NULL, NULL, 0, 4, 0, DPT_DEVICE_CPU, &found));
    STATUS(DPT_NULL_POINTER, dpt_advise_f32(NULL, "add", 0, 4, 0, DPT_DEVICE_CPU, NULL));
}

int main(void)
{
    const dpt_status status = dpt_cuda_preload(NULL);
    char from[4] = "abc", to[4] = "";
    CHECK((status == DPT_OK) == dpt_cuda_available());
    OK(dpt_copy(NULL, sizeof from, from, to));
    CHECK(strcmp(to, "abc") == 0);
    STATUS(DPT_OVERLAP, dpt_copy(NULL, 2, from, from + 1));
    if (status == DPT_OK) {
        with_device();
    } else {
        without_device(status);
    }
    advice();
    return check_result("cuda");
}
