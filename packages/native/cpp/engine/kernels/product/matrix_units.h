#pragma once

#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/cpu/Utils.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <cstdint>

#include "engine/kernels/product/micro_kernel.h"

#define ACC_MATRIX_UNITS __attribute__((target("amx-tile,amx-bf16")))

// Sums of products of bfloat16 on matrix units (AMX). A tile has up to 16 rows of 64 bytes: 32 numbers of
// k of the left matrix, 16 pairs of k by 16 columns of a packed panel, or 16 columns of sums. Each sum is
// added up in the order of k.
namespace acc::product::matrix_units {

constexpr int64_t kTileRows = 16;
// The rows that are multiplied together, so that each tile of the right matrix is read once for two.
constexpr int64_t kMostRows = 2 * kTileRows;
// In words of k.
constexpr int64_t kDepth = 16;

// Whether the process may use them. Linux must be asked first.
inline bool is_supported() {
  static const bool may_use = at::native::cpublas::could_pack(at::kBFloat16) && at::cpu::init_amx();
  return may_use;
}

// The shapes of tiles: 0 to 3 are sums, 4 and 5 the left matrix, 6 and 7 the right one.
struct alignas(64) Shapes {
  explicit Shapes(int64_t rows) {
    const auto first = static_cast<uint8_t>(std::min(rows, kTileRows)), second = static_cast<uint8_t>(rows - first);
    for (const int tile : {0, 1, 4}) tile_rows[tile] = first;
    for (const int tile : {2, 3, 5}) tile_rows[tile] = second;
    for (const int tile : {6, 7}) tile_rows[tile] = kDepth;
    for (int tile = 0; tile < 8; ++tile) row_bytes[tile] = tile_rows[tile] == 0 ? 0 : 64;
  }

  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t tile_rows[16] = {};
};
static_assert(sizeof(Shapes) == 64);

// The rows of the left matrix, of which the numbers of k are adjacent. The stride is in numbers.
struct Left {
  const uint16_t* data;
  int64_t stride;
};

// Writes the sums of up to kMostRows rows and a panel of `kVectors` vectors, kPanel numbers apart.
template <int kVectors, bool kHasSecond>
ACC_MATRIX_UNITS void multiply_tiles(const Left& left, const float* right, int64_t words, float* sums) {
  const int64_t left_bytes = left.stride * 2, right_bytes = kVectors * 64;
  const auto* rows = left.data;
  const auto* second_rows = left.data + kTileRows * left.stride;
  _tile_zero(0);
  if constexpr (kVectors == 2) _tile_zero(1);
  if constexpr (kHasSecond) _tile_zero(2);
  if constexpr (kHasSecond && kVectors == 2) _tile_zero(3);
  for (int64_t k = 0; k < words; k += kDepth) {
    _tile_loadd(4, rows + 2 * k, left_bytes);
    _tile_loadd(6, right, right_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kVectors == 2) {
      _tile_loadd(7, right + kVector, right_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kHasSecond) {
      _tile_loadd(5, second_rows + 2 * k, left_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kVectors == 2) _tile_dpbf16ps(3, 5, 7);
    }
    right += kDepth * kVectors * kVector;
  }
  constexpr int64_t kSumsBytes = kPanel * 4;
  _tile_stored(0, sums, kSumsBytes);
  if constexpr (kVectors == 2) _tile_stored(1, sums + kVector, kSumsBytes);
  if constexpr (kHasSecond) _tile_stored(2, sums + kTileRows * kPanel, kSumsBytes);
  if constexpr (kHasSecond && kVectors == 2) _tile_stored(3, sums + kTileRows * kPanel + kVector, kSumsBytes);
}

// The tiles of one thread, for up to kMostRows rows.
class Tiles {
 public:
  ACC_MATRIX_UNITS explicit Tiles(int64_t rows) : has_second_(rows > kTileRows) {
    const Shapes shapes(rows);
    _tile_loadconfig(&shapes);
  }
  ACC_MATRIX_UNITS ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  void multiply(const Left& left, const float* right, int64_t vectors, int64_t words, float* sums) const {
    if (vectors == 2) (has_second_ ? multiply_tiles<2, true> : multiply_tiles<2, false>)(left, right, words, sums);
    else (has_second_ ? multiply_tiles<1, true> : multiply_tiles<1, false>)(left, right, words, sums);
  }

 private:
  bool has_second_;
};

}  // namespace acc::product::matrix_units

#endif
