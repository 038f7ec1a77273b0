/* With DLPack's header before ours, dpt_tensor is DLTensor. */
#include <dlpack/dlpack.h>

#include "check.h"
#include <stddef.h>

#define FIXED(name, condition) typedef char fixed_##name[(condition) ? 1 : -1]
#if UINTPTR_MAX == 0xFFFFFFFFFFFFFFFFu
FIXED(data, offsetof(DLTensor, data) == 0);
FIXED(device_type, offsetof(DLTensor, device.device_type) == 8);
FIXED(device_id, offsetof(DLTensor, device.device_id) == 12);
FIXED(ndim, offsetof(DLTensor, ndim) == 16);
FIXED(code, offsetof(DLTensor, dtype.code) == 20);
FIXED(bits, offsetof(DLTensor, dtype.bits) == 21);
FIXED(lanes, offsetof(DLTensor, dtype.lanes) == 22);
FIXED(shape, offsetof(DLTensor, shape) == 24);
FIXED(strides, offsetof(DLTensor, strides) == 32);
FIXED(byte_offset, offsetof(DLTensor, byte_offset) == 40);
FIXED(size, sizeof(DLTensor) == 48);
#endif
FIXED(codes, kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLBfloat == 4);
FIXED(devices, kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3 && kDLCUDAManaged == 13);

int main(void)
{
    float numbers[6] = {1, 2, 3, 4, 5, 6}, ones[3] = {10, 20, 30}, sums[6];
    int64_t shape[2] = {2, 3}, row[1] = {3};
    DLTensor x, y, out;
    memset(&x, 0, sizeof x);
    x.device.device_type = kDLCPU;
    x.dtype.code = kDLFloat;
    x.dtype.bits = 32;
    x.dtype.lanes = 1;
    y = out = x;
    x.data = numbers;
    x.ndim = out.ndim = 2;
    x.shape = out.shape = shape;
    y.data = ones;
    y.ndim = 1;
    y.shape = row;
    out.data = sums;
    OK(dpt_add(NULL, &x, &y, &out));
    for (int i = 0; i < 6; i++) {
        CHECK(sums[i] == numbers[i] + ones[i % 3]);
    }
    return check_result("dlpack");
}
