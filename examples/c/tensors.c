/* Arrays of any rank in C: broadcasting, strides, reductions over axes, conversion.
 *
 *   cc tensors.c $(pkg-config --cflags --libs diptych) -o tensors && ./tensors
 */
#include <diptych.h>
#include <stdio.h>
#include <string.h>

/* A row-major array of floats in host memory; strides may be given later. */
static dpt_tensor array(float *data, int32_t ndim, int64_t *shape)
{
    dpt_tensor t;
    memset(&t, 0, sizeof t);
    t.data = data;
    t.device_type = 1; /* host memory, as in DLPack */
    t.ndim = ndim;
    t.dtype_code = 2; /* floating point */
    t.dtype_bits = 32;
    t.dtype_lanes = 1;
    t.shape = shape;
    return t;
}

/* Prints the text of an error; 1 if there is one. */
static int failed(dpt_status status)
{
    if (status != DPT_OK) {
        fprintf(stderr, "%s\n", dpt_last_error());
    }
    return status != DPT_OK;
}

int main(void)
{
    /* Two images of 2 x 3 pixels with 8 bits each, as floats. */
    uint8_t pixels[2 * 2 * 3] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
    float images[2 * 2 * 3];
    int64_t images_shape[3] = {2, 2, 3};
    dpt_tensor x = array(images, 3, images_shape), bytes = x;
    bytes.data = pixels;
    bytes.dtype_code = 1; /* unsigned */
    bytes.dtype_bits = 8;
    if (failed(dpt_convert(NULL, &bytes, &x))) {
        return 1;
    }

    /* The mean image: a reduction over the first axis. Axes may be negative, and several. */
    float mean[2 * 3];
    int64_t image_shape[2] = {2, 3};
    const int32_t first = 0;
    dpt_tensor mean_image = array(mean, 2, image_shape);
    if (failed(dpt_mean(NULL, &x, 1, &first, &mean_image))) {
        return 1;
    }

    /* Each image less the mean image, in place: the smaller operand is broadcast. */
    if (failed(dpt_sub(NULL, &x, &mean_image, &x))) {
        return 1;
    }
    printf("centred: %g %g %g ... %g %g %g\n", images[0], images[1], images[2], images[9],
           images[10], images[11]);

    /* The largest element of each column, with the last two axes exchanged by their strides. */
    float largest[2 * 3];
    int64_t exchanged_shape[3] = {2, 3, 2}, exchanged_strides[3] = {6, 1, 3}, columns[2] = {2, 3};
    dpt_tensor exchanged = array(images, 3, exchanged_shape), out = array(largest, 2, columns);
    exchanged.strides = exchanged_strides;
    const int32_t last = -1;
    if (failed(dpt_max(NULL, &exchanged, 1, &last, &out))) {
        return 1;
    }
    printf("largest: %g ... %g\n", largest[0], largest[5]);

    /* A mistake: the text gives all shapes. */
    columns[1] = 4;
    printf("error: %s\n", dpt_max(NULL, &exchanged, 1, &last, &out) != DPT_OK ? dpt_last_error() : "");
    return 0;
}
