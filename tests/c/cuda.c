/* The GPU backend from C: memory, copies, an operation on the device, advice; without a device, the status
 * that says so. */
#include "check.h"

static dpt_exec on_device(void)
{
    dpt_exec exec = plain_exec();
    exec.device = DPT_DEVICE_CUDA;
    return exec;
}

static void without_device(dpt_status none)
{
    const dpt_exec exec = on_device();
    float x[2] = {1, 2}, out[2] = {0, 0};
    void *memory = x;
    STATUS(none, dpt_square_f32(&exec, 2, x, out));
    STATUS(none, dpt_copy(&exec, sizeof x, x, out));
    CHECK(out[0] == 0 && out[1] == 0);
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
