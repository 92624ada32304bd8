#pragma once

#include "engine/kernels/attention/vector_forward.h"

// The gradients of attention by blocks of keys and queries (Dao et al. 2022, "FlashAttention",
// algorithm 4). Scores and their gradients are transposed, with one row per key, so that they are
// left factors for dk and dv as they are. For dq, rows of two keys are interleaved.

#ifdef ACC_HAS_AVX512

namespace acc::attention::vectors {

// A head of keys, and a group of heads of queries that see it.
template <class Type>
struct BackwardHead {
  using Number = typename Type::Number;
  Rows<const Number> dy, q, k, v, output;
  const float* sums;
  Rows<Number> dq, dk, dv;
  Mask mask;  // float32
  bool is_causal;
  float scale;
};

// The working memory of one thread. `begin` starts with a head of keys, `add` adds the gradients from
// one head of queries and writes dq, `finish` writes dk and dv.
template <class Type>
class Backward {
 public:
  Backward(int64_t queries, int64_t keys, int64_t width)
      : width_(width),
        steps_(width / Type::kPerStep),
        queries_(up_to(kLanes, queries)),
        keys_(up_to(kLanes, keys)),
        k_(keys_ * steps_),
        v_(keys_ * steps_),
        k_rows_(steps_of(keys_) * width),
        q_columns_(queries_ * steps_),
        dy_columns_(queries_ * steps_),
        q_rows_(steps_of(queries_) * width),
        dy_rows_(steps_of(queries_) * width),
        weights_(kBlock * steps_of(kBlock)),
        dscores_(kBlock * steps_of(kBlock)),
        dscores_of_keys_(Type::kPerStep == 1 ? 0 : kBlock * steps_of(kBlock)),
        scores_(kRows * kBlock),
        dweights_(kRows * kBlock),
        sums_(queries_),
        shifts_(queries_),
        products_(queries_),
        dq_(queries_ * width),
        dk_(keys_ * width),
        dv_(keys_ * width) {}

  ACC_AVX512 void begin(const BackwardHead<Type>& head) {
    copy_rows(head.k, width_, k_.data());
    copy_rows(head.v, width_, v_.data());
    pack_rows<Type>(head.k, width_, steps_of(keys_), k_rows_.data());
    dk_.clear();
    dv_.clear();
  }

  ACC_AVX512 void add(const BackwardHead<Type>& head) {
    pack_transposed<Type>(head.q, width_, queries_, q_columns_.data());
    pack_transposed<Type>(head.dy, width_, queries_, dy_columns_.data());
    pack_rows<Type>(head.q, width_, steps_of(queries_), q_rows_.data());
    pack_rows<Type>(head.dy, width_, steps_of(queries_), dy_rows_.data());
    for (int64_t i = 0; i < head.q.count; ++i) {
      sums_.data()[i] = head.sums[i] * kLog2E;
      shifts_.data()[i] = head.mask.shift_of(i);
      products_.data()[i] = product_of(head.dy.row(i), head.output.row(i));
    }
    dq_.clear();
    for (int64_t j = 0; j < head.k.count; j += kBlock) {
      for (int64_t i = head.is_causal ? j : 0; i < head.q.count; i += kBlock) {
        add_block(head, {j, std::min(kBlock, head.k.count - j), i, std::min(kBlock, head.q.count - i)});
      }
    }
    write(dq_, head.dq);
  }

  ACC_AVX512 void finish(const BackwardHead<Type>& head) {
    write(dk_, head.dk);
    write(dv_, head.dv);
  }

 private:
  using Number = typename Type::Number;
  static constexpr int64_t kBlock = 128;
  static constexpr int64_t steps_of(int64_t numbers) { return numbers / Type::kPerStep; }

  // `keys` keys from j on, and `count` queries from i on.
  struct Block {
    int64_t j, keys, i, count;
  };

  ACC_AVX512 float product_of(const Number* a, const Number* b) const {
    auto sum = _mm512_setzero_ps();
    for (int64_t d = 0; d < width_; d += kLanes) sum = _mm512_fmadd_ps(Type::load(a + d), Type::load(b + d), sum);
    return _mm512_reduce_add_ps(sum);
  }

  // The first column that the tile of keys from `row` on needs. Queries before it see none of them.
  static int64_t first_column(const BackwardHead<Type>& head, const Block& block, int64_t row) {
    return head.is_causal ? std::max<int64_t>(0, block.j + row - block.i) / kLanes * kLanes : 0;
  }

  ACC_AVX512 void add_block(const BackwardHead<Type>& head, const Block& block) {
    const int64_t columns = up_to(kLanes, block.count), rows = up_to(kRows, block.keys);
    for (int64_t row = 0; row < rows; row += kRows) {
      const int64_t first = first_column(head, block, row);
      if (first >= columns) continue;
      const int64_t at = (block.j + row) * steps_;
      const Part part{block.i + first, block.i + columns, 0, steps_};
      multiply<Type, Start::kZero>({k_.data() + at, steps_, 1}, {q_columns_.data(), queries_, steps_}, part,
                                   scores_.data() + first, kBlock);
      multiply<Type, Start::kZero>({v_.data() + at, steps_, 1}, {dy_columns_.data(), queries_, steps_}, part,
                                   dweights_.data() + first, kBlock);
      for (int64_t r = 0; r < kRows; r += 2) {
        for (int64_t c = first; c < columns; c += kLanes) weigh(head, block, row, r, c);
      }
      const Part of_queries{0, width_, steps_of(block.i + first), steps_of(columns - first)};
      const int64_t start = row * steps_of(kBlock) + steps_of(first);
      multiply<Type, Start::kSum>({weights_.data() + start, steps_of(kBlock), 1},
                                  {dy_rows_.data(), width_, steps_of(queries_)}, of_queries,
                                  dv_.data() + (block.j + row) * width_, width_);
      multiply<Type, Start::kSum>({dscores_.data() + start, steps_of(kBlock), 1},
                                  {q_rows_.data(), width_, steps_of(queries_)}, of_queries,
                                  dk_.data() + (block.j + row) * width_, width_);
    }
    const Step* left = Type::kPerStep == 1 ? dscores_.data() : dscores_of_keys_.data();
    for (int64_t row = 0; row < block.count; row += kRows) {
      const int64_t keys = head.is_causal ? std::min(rows, block.i + row + kRows - block.j) : rows;
      multiply<Type, Start::kSum>({left + row, 1, kBlock}, {k_rows_.data(), width_, steps_of(keys_)},
                                  {0, width_, steps_of(block.j), steps_of(keys)},
                                  dq_.data() + (block.i + row) * width_, width_);
    }
  }

  // The weights and the gradients of the scores, for two keys and 16 queries from column c on. Both are 0
  // for queries that do not see the key.
  ACC_AVX512_INLINE void weigh(const BackwardHead<Type>& head, const Block& block, int64_t tile, int64_t r, int64_t c) {
    __m512 weights[2], dscores[2];
    const auto sums = _mm512_load_ps(sums_.data() + block.i + c);
    const auto shifts = _mm512_load_ps(shifts_.data() + block.i + c);
    const auto products = _mm512_load_ps(products_.data() + block.i + c);
    const auto scale = _mm512_set1_ps(head.scale), scale_of_exponents = _mm512_set1_ps(head.scale * kLog2E);
#pragma GCC unroll 2
    for (int64_t n = 0; n < 2; ++n) {
      const int64_t row = tile + r + n;
      auto seeing = row < block.keys ? avx512::lanes_below(block.count - c) : __mmask16{0};
      if (head.is_causal) seeing &= static_cast<__mmask16>(~avx512::lanes_below(block.j + row - block.i - c));
      const auto score = _mm512_load_ps(scores_.data() + (r + n) * kBlock + c);
      auto exponent = _mm512_fmsub_ps(score, scale_of_exponents, sums);
      if (head.mask.data != nullptr) {
        const auto mask = mask_of_key(head.mask, block.i + c, block.j + row, seeing);
        exponent = head.mask.shifts == nullptr
                       ? _mm512_fmadd_ps(mask, _mm512_set1_ps(kLog2E), exponent)
                       : _mm512_sub_ps(shifted(_mm512_mul_ps(score, scale), mask, shifts), sums);
      }
      weights[n] = _mm512_maskz_mov_ps(seeing, power_of_two(exponent));
      const auto dweights = _mm512_load_ps(dweights_.data() + (r + n) * kBlock + c);
      dscores[n] = _mm512_maskz_mul_ps(seeing, _mm512_mul_ps(weights[n], scale), _mm512_sub_ps(dweights, products));
    }
    const int64_t at = (tile + r) * kBlock + c;
    auto* to = reinterpret_cast<Number*>(weights_.data()) + at;
    auto* dto = reinterpret_cast<Number*>(dscores_.data()) + at;
    Type::store(to, weights[0]);
    Type::store(to + kBlock, weights[1]);
    Type::store(dto, dscores[0]);
    Type::store(dto + kBlock, dscores[1]);
    if constexpr (Type::kPerStep == 2) Type::store_steps(dscores_of_keys_.data() + at / 2 + c / 2, dto, dto + kBlock);
  }

  // 16 numbers of the mask: those of a key, for the queries from i on.
  ACC_AVX512_INLINE static __m512 mask_of_key(const Mask& mask, int64_t i, int64_t j, __mmask16 lanes) {
    const auto* from = static_cast<const float*>(mask.data) + i * mask.query_stride + j * mask.key_stride;
    if (mask.query_stride == 0) return _mm512_set1_ps(*from);
    const auto stride = _mm512_set1_epi32(static_cast<int>(mask.query_stride));
    const auto lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const auto indices = _mm512_mullo_epi32(stride, lane);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), lanes, indices, from, 4);
  }

  ACC_AVX512 void write(const Lines<float>& from, const Rows<Number>& to) const {
    for (int64_t i = 0; i < to.count; ++i) {
      const float* row = from.data() + i * width_;
      for (int64_t d = 0; d < width_; d += kLanes) Type::store(to.row(i) + d, _mm512_load_ps(row + d));
    }
  }

  int64_t width_, steps_, queries_, keys_;
  Lines<Step> k_, v_, k_rows_, q_columns_, dy_columns_, q_rows_, dy_rows_, weights_, dscores_, dscores_of_keys_;
  Lines<float> scores_, dweights_, sums_, shifts_, products_, dq_, dk_, dv_;
};

}  // namespace acc::attention::vectors

#endif
