#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/processor/row_math.h"

// How numbers become 8-bit integers with one scale for each lane: a row of the left matrix, or a column
// of the right one. The formulas are here once as plain code. vectors.h has the same ones in AVX-512, and both
// give the same bits.
namespace acc::int8 {

// The largest magnitude of an integer. −128 is not used, so that the range is symmetric.
inline constexpr float kLargest = 127.f;
// A lane whose numbers are all smaller than this counts as 0: its factor would be infinite.
inline constexpr float kTiny = 1e-36f;

// The scale of a lane, and the factor by which its numbers are multiplied. With a NaN or an infinity in a
// lane, its results are NaN.
struct LaneScale {
  float scale, factor;
  // Of the random numbers of the lane.
  uint32_t key;
};

// The bits of a float without sign have the order of their magnitudes, and those of NaN are the largest.
inline uint32_t magnitude_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu; }

// The random numbers of a lane depend on its numbers and on the seed alone. So a row is rounded alike wherever
// it lies: in another batch, or on another rank.
inline LaneScale lane_scale(uint32_t largest_bits, uint32_t seed) {
  const float largest = std::bit_cast<float>(largest_bits);
  const float factor = largest < kTiny ? 0.f : kLargest / largest;
  return {largest / kLargest, factor, (seed ^ largest_bits) * 0x9E3779B1u};
}

// Mixes the bits of a number and its place in the lane (lowbias32 by C. Wellons).
inline uint32_t random_bits(uint32_t number_bits, uint32_t place, uint32_t key) {
  uint32_t x = (number_bits ^ key) + place * 0x85EBCA6Bu;
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

inline int32_t nearest(float x, const LaneScale& lane) {
  const float scaled = x * lane.factor;
  return scaled != scaled ? 0 : static_cast<int32_t>(std::nearbyint(scaled));
}

// Rounds down or up, so that the mean over random numbers is the number itself.
inline int32_t stochastic(float x, uint32_t place, const LaneScale& lane) {
  const auto random = static_cast<float>(random_bits(std::bit_cast<uint32_t>(x), place, lane.key) >> 8) * 0x1p-24f;
  const float rounded = std::floor(std::fma(x, lane.factor, random));
  if (rounded != rounded) return 0;
  return static_cast<int32_t>(rounded > kLargest ? kLargest : rounded < -kLargest ? -kLargest : rounded);
}

}  // namespace acc::int8
