// The header in C++17: it compiles, the functions have C linkage, the constants convert.
#include <diptych.h>

#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <vector>

static_assert(std::is_same_v<dpt_status, std::int32_t>);
static_assert(std::is_same_v<decltype(dpt_exec::device), std::int32_t>);
static_assert(std::is_trivial_v<dpt_exec> && std::is_standard_layout_v<dpt_exec>);
static_assert(std::is_trivial_v<dpt_epilogue> && std::is_standard_layout_v<dpt_epilogue>);

int main()
{
    dpt_exec exec{};
    exec.struct_size = sizeof exec;
    exec.device = DPT_DEVICE_CPU;
    const std::vector<double> x{1.0, 2.0, 3.0, 4.0};
    double sum = 0.0;
    const dpt_status status = dpt_sum_f64(&exec, static_cast<std::int64_t>(x.size()), x.data(), 1, &sum);
    if (status != DPT_OK || sum != 10.0) {
        std::printf("dpt_sum_f64: %s, sum %g\n", dpt_status_string(status), sum);
        return 1;
    }
    return 0;
}
