#pragma once

// The beginning of every program for CUDA. NVRTC has no headers, so it declares what the texts of
// row_math.h and scalars.h use.

namespace acc::fused {

inline constexpr char kCudaHelpers[] = R"cuda(
#define ACC_INLINE __device__ __forceinline__
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;

namespace rows {
ACC_INLINE int32_t bits_of(float x) { return __float_as_int(x); }
ACC_INLINE float of_bits(int32_t bits) { return __int_as_float(bits); }
ACC_INLINE float root_of(float x) { return sqrtf(x); }
ACC_INLINE float magnitude_of(float x) { return fabsf(x); }
ACC_INLINE float with_sign_of(float x, float sign) { return copysignf(x, sign); }
}
)cuda";

// Reading, writing and reducing. `kLanes` threads work on a row.
inline constexpr char kCudaMemory[] = R"cuda(
struct Bfloat16 {
  uint16_t bits;
};

ACC_INLINE float number_of(float x) { return x; }
ACC_INLINE float number_of(Bfloat16 x) { return rows::of_bfloat16_bits(x.bits); }
ACC_INLINE float number_of(bool x) { return x ? 1.f : 0.f; }
ACC_INLINE float number_of(int x) { return (float)x; }
ACC_INLINE float number_of(long long x) { return (float)x; }

ACC_INLINE void write(float* to, float x) { *to = x; }
ACC_INLINE void write(Bfloat16* to, float x) { to->bits = rows::bfloat16_bits(x); }
ACC_INLINE void write(bool* to, float x) { *to = x != 0.f; }

// The greater of two numbers. A NaN gives NaN, and of 0 and -0 it is 0.
ACC_INLINE float greatest(float a, float b) {
  return a == b ? rows::of_bits(rows::bits_of(a) & rows::bits_of(b)) : scalar::max(a, b);
}

// The operators are commutative, so all threads of a row get the same bits.
#define ACC_REDUCTION(name, operator, neutral)                                       \
  ACC_INLINE float name##_of_warp(float x) {                                         \
    for (int width = 16; width > 0; width /= 2) {                                    \
      x = operator(x, __shfl_xor_sync(0xFFFFFFFFu, x, width));                       \
    }                                                                                \
    return x;                                                                        \
  }                                                                                  \
  ACC_INLINE float name##_of_row(float x, float* of_warps) {                         \
    x = name##_of_warp(x);                                                           \
    if (kLanes == 32) return x;                                                      \
    /* Nobody reads what an earlier reduction left there any more. */                \
    __syncthreads();                                                                 \
    const int lane = threadIdx.x % 32;                                               \
    if (lane == 0) of_warps[threadIdx.x / 32] = x;                                   \
    __syncthreads();                                                                 \
    return name##_of_warp(lane < kLanes / 32 ? of_warps[lane] : neutral);            \
  }
ACC_REDUCTION(sum, scalar::add, 0.f)
ACC_REDUCTION(max, greatest, rows::of_bits(0xFF800000))
)cuda";

}  // namespace acc::fused
