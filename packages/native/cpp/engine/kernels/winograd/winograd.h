#pragma once

#include <cstdint>

// Convolutions of float32 by Winograd's algorithm (Lavin and Gray 2016, arXiv:1509.09308) on CPUs with
// AVX-512, for windows of 3 × 3 and 5 × 5 pixels and stride 1. Images, filters and results are cut into
// tiles of 6 × 6 pixels and transformed. Then a convolution is 36 products of matrices with 4 (3 × 3)
// or 2.8 (5 × 5) times fewer multiplications. Tiles are transformed and multiplied in groups that fit
// in the L2 cache.
//
// No result depends on the number of threads. A pixel that is infinite or NaN makes every result of its
// tiles NaN, not only those whose windows contain it.
namespace acc::winograd {

// Whether this CPU has the instructions.
bool is_supported();

// Images in memory, channels innermost: [count, height, width, channels].
struct Images {
  const float* data;
  int64_t count, height, width, channels;
};

struct Result {
  float* data;
  int64_t height, width, channels;
};

// `window` is 3 or 5. Numbers of channels are multiples of 16.
struct Window {
  int64_t window, pad_y, pad_x;
};

// `weight` is [out, window, window, in] in memory, `bias` [out] or null. If `is_turned`, the result has
// the input channels of the weight, and its taps are turned by 180°, as a gradient needs them.
void convolve(const Images& x, const float* weight, bool is_turned, const float* bias, const Window& window,
              const Result& y);

// Writes the gradient of a weight, [window, window, in, out].
void weight_gradient(const Images& x, const Images& dy, const Window& window, float* gradient);

}  // namespace acc::winograd
