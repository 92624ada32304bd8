#pragma once

#include "engine/kernels/attention/tiles.h"
#include "engine/processor/row_math.h"

// Attention by blocks of keys (Dao, "FlashAttention-2", 2023, algorithm 1): scores, weights and sums
// of a few queries are in the L1 cache, and only the output and the logarithms of the sums are kept.
// Scores and all sums are float32; weights are rounded once, for the product with v.

#ifdef ACC_HAS_AVX512

#include <cmath>
#include <limits>

namespace acc::attention::vectors {

constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

// What is added to the scores of one head, if anything.
struct Mask {
  const void* data = nullptr;
  bool is_float32 = true;
  int64_t query_stride = 0, key_stride = 0;
  // What is taken off the mask of each query, if anything.
  const float* shifts = nullptr;
  int64_t shift_stride = 0;

  float shift_of(int64_t query) const { return shifts == nullptr ? 0.f : shifts[query * shift_stride]; }
};

// The sum of scores and a mask less its shift, in exponents of 2. Scores are rounded as their sums with
// the whole mask are.
ACC_AVX512_INLINE __m512 shifted(__m512 scores, __m512 mask, __m512 shift) {
  const auto rounded = _mm512_sub_ps(_mm512_add_ps(scores, shift), shift);
  const auto infinity = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  // With a NaN, the maximum is the second operand.
  const auto finite = _mm512_sub_ps(_mm512_max_ps(_mm512_set1_ps(-kLargestShift), mask), shift);
  const auto less = _mm512_mask_mov_ps(finite, _mm512_cmp_ps_mask(mask, infinity, _CMP_EQ_OQ), infinity);
  return _mm512_mul_ps(_mm512_add_ps(rounded, less), _mm512_set1_ps(kLog2E));
}

// 16 numbers of the mask: a query's, from key j on.
ACC_AVX512_INLINE __m512 mask_of_query(const Mask& mask, int64_t i, int64_t j, __mmask16 lanes) {
  const int64_t at = i * mask.query_stride + j * mask.key_stride;
  const auto* floats = static_cast<const float*>(mask.data) + at;
  const auto* halves = static_cast<const uint16_t*>(mask.data) + at;
  if (mask.key_stride == 0) {
    return _mm512_set1_ps(mask.is_float32 ? *floats : rows::of_bfloat16_bits(*halves));
  }
  if (mask.is_float32) return _mm512_maskz_loadu_ps(lanes, floats);
  const auto half = _mm512_castsi512_si256(_mm512_maskz_loadu_epi16(lanes, halves));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

// A head of the inputs and results. The mask's stride of keys is 0 or 1.
template <class Type>
struct ForwardHead {
  using Number = typename Type::Number;
  Rows<const Number> q, k, v;
  Rows<Number> output;
  float* sums;
  Mask mask;
  bool is_causal;
  float scale;
};

// The number of queries that one thread computes together: they share packed keys and values.
constexpr int64_t kQueries = 256;

// The working memory of one thread.
template <class Type>
class Forward {
 public:
  explicit Forward(int64_t queries, int64_t keys, int64_t width)
      : width_(width),
        block_(std::min(kKeys, up_to(kLanes, keys))),
        q_(up_to(kRows, std::min(kQueries, queries)) * steps_of(width)),
        k_(block_ * steps_of(width)),
        v_(steps_of(up_to(kLanes, block_)) * width),
        weights_(kRows * steps_of(block_)),
        output_(up_to(kRows, std::min(kQueries, queries)) * width),
        scores_(kRows * block_),
        maxima_(kQueries),
        sums_(kQueries) {}

  // Computes the queries from `first` on, up to kQueries.
  ACC_AVX512 void compute(const ForwardHead<Type>& head, int64_t first) {
    const int64_t count = std::min(kQueries, head.q.count - first);
    // Rows of a tile that no query has are 0, or what earlier queries left.
    copy_rows<Number>({head.q.row(first), count, head.q.stride}, width_, q_.data());
    output_.clear();
    std::fill_n(maxima_.data(), count, -std::numeric_limits<float>::infinity());
    std::fill_n(sums_.data(), count, 0.f);
    const int64_t keys = head.is_causal ? std::min(head.k.count, first + count) : head.k.count;
    for (int64_t j = 0; j < keys; j += block_) {
      const int64_t in_block = std::min(block_, keys - j);
      pack_transposed<Type>({head.k.row(j), in_block, head.k.stride}, width_, up_to(kLanes, in_block), k_.data());
      pack_rows<Type>({head.v.row(j), in_block, head.v.stride}, width_, steps_of(up_to(kLanes, in_block)), v_.data());
      for (int64_t row = 0; row < count; row += kRows) {
        const int64_t seen = head.is_causal ? std::min(in_block, first + row + kRows - j) : in_block;
        if (seen > 0) add_keys(head, {first, row, std::min(kRows, count - row), j, in_block, up_to(kLanes, seen)});
      }
    }
    for (int64_t row = 0; row < count; ++row) finish(head, first, row);
  }

 private:
  using Number = typename Type::Number;
  // The number of keys in a block: their packed rows fit into the L2 cache.
  static constexpr int64_t kKeys = 256;
  static constexpr int64_t steps_of(int64_t numbers) { return numbers / Type::kPerStep; }

  // A block of scores: `rows` queries from first + row on, and `keys` keys from j on, of which the
  // products take the first `columns`.
  struct Block {
    int64_t first, row, rows, j, keys, columns;
  };

  ACC_AVX512 void add_keys(const ForwardHead<Type>& head, const Block& block) {
    const int64_t steps = steps_of(width_);
    const Right keys{k_.data(), up_to(kLanes, block.keys), steps};
    multiply<Type, Start::kZero>({q_.data() + block.row * steps, steps, 1}, keys, {0, block.columns, 0, steps},
                                 scores_.data(), block_);
    float factors[kRows] = {};
    for (int64_t r = 0; r < block.rows; ++r) factors[r] = weigh(head, block, r);
    const Right values{v_.data(), width_, steps_of(up_to(kLanes, block.keys))};
    multiply<Type, Start::kScaled>({weights_.data(), steps_of(block_), 1}, values,
                                   {0, width_, 0, steps_of(block.columns)}, output_.data() + block.row * width_, width_,
                                   factors);
  }

  // Turns the scores of a query into weights, with its new maximum as zero of the exponents. Returns
  // the factor of what was summed with the old one. Exponents are those of 2.
  ACC_AVX512 float weigh(const ForwardHead<Type>& head, const Block& block, int64_t r) {
    const int64_t row = block.row + r, query = block.first + row;
    const int64_t seen = head.is_causal ? std::min(block.keys, query + 1 - block.j) : block.keys;
    float* scores = scores_.data() + r * block_;
    auto* weights = reinterpret_cast<Number*>(weights_.data()) + r * block_;
    const auto scale = _mm512_set1_ps(head.scale * kLog2E);
    const auto hidden = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    const auto shift = _mm512_set1_ps(head.mask.shift_of(query));
    auto highest = hidden;
    for (int64_t c = 0; c < block.columns; c += kLanes) {
      const auto lanes = avx512::lanes_below(seen - c);
      const auto product = _mm512_load_ps(scores + c);
      auto score = _mm512_mul_ps(product, scale);
      if (head.mask.data != nullptr) {
        const auto mask = mask_of_query(head.mask, query, block.j + c, lanes);
        score = head.mask.shifts == nullptr ? _mm512_fmadd_ps(mask, _mm512_set1_ps(kLog2E), score)
                                            : shifted(_mm512_mul_ps(product, _mm512_set1_ps(head.scale)), mask, shift);
      }
      score = _mm512_mask_mov_ps(hidden, lanes, score);
      _mm512_store_ps(scores + c, score);
      highest = _mm512_max_ps(highest, score);
    }
    float& maximum = maxima_.data()[row];
    float& sum = sums_.data()[row];
    const float next = std::max(maximum, _mm512_reduce_max_ps(highest));
    // While all scores are -Infinity, so are the exponents.
    const auto zero = _mm512_set1_ps(next == -std::numeric_limits<float>::infinity() ? 0.f : next);
    auto total = _mm512_setzero_ps();
    for (int64_t c = 0; c < block.columns; c += kLanes) {
      const auto weight = power_of_two(_mm512_sub_ps(_mm512_load_ps(scores + c), zero));
      total = _mm512_add_ps(total, weight);
      Type::store(weights + c, weight);
    }
    const float factor = _mm512_cvtss_f32(power_of_two(_mm512_sub_ps(_mm512_set1_ps(maximum), zero)));
    sum = sum * factor + _mm512_reduce_add_ps(total);
    maximum = next;
    return factor;
  }

  // A query that sees no key has the output 0, and 0 as logarithm.
  ACC_AVX512 void finish(const ForwardHead<Type>& head, int64_t first, int64_t row) {
    const float sum = sums_.data()[row];
    const auto factor = _mm512_set1_ps(sum == 0.f ? 0.f : 1.f / sum);
    const float* from = output_.data() + row * width_;
    Number* to = head.output.row(first + row);
    for (int64_t d = 0; d < width_; d += kLanes) Type::store(to + d, _mm512_mul_ps(_mm512_load_ps(from + d), factor));
    head.sums[first + row] = sum == 0.f ? 0.f : maxima_.data()[row] * kLn2 + std::log(sum);
  }

  int64_t width_, block_;
  Lines<Step> q_, k_, v_, weights_;
  Lines<float> output_, scores_, maxima_, sums_;
};

}  // namespace acc::attention::vectors

#endif
