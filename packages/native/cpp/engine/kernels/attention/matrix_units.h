#pragma once

// The gradients of attention in bfloat16 on the CPU's matrix units (AMX), through libtorch's brgemm.
// Scores are recomputed block by block from the sums that the forward pass kept (Dao et al. 2022,
// "FlashAttention", algorithm 4).

#include <ATen/ATen.h>
#include <ATen/native/CPUBlas.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "engine/kernels/attention/call.h"
#include "engine/processor/row_math.h"

namespace acc::attention::matrix_units {
namespace {

using at::BFloat16;
using at::Tensor;
namespace blas = at::native::cpublas;

// The number of keys and of queries in a block of scores. It is the largest number of columns in a
// packed factor of brgemm.
constexpr int64_t kBlock = 64;
// A block of columns of a packed factor must be a multiple of this.
constexpr int64_t kColumns = 16;

int64_t whole_blocks(int64_t count) { return (count + kBlock - 1) / kBlock * kBlock; }

using Bits = uint16_t;

// The rows of one head in memory.
struct Rows {
  const Bits* data;
  int64_t count;
  int64_t stride;
  const Bits* row(int64_t i) const { return data + i * stride; }
  const BFloat16* numbers(int64_t i) const { return reinterpret_cast<const BFloat16*>(row(i)); }
};

Rows rows_of(const Tensor& x, int64_t batch, int64_t head) {
  const auto* data = static_cast<const Bits*>(x.const_data_ptr());
  return {data + batch * x.stride(0) + head * x.stride(1), x.size(2), x.stride(2)};
}

// Packs `x[rows, D]` as right factor of brgemm: in blocks of columns, with pairs of rows
// interleaved in each block.
ACC_EVERY_CPU void pack_rows(const Rows& x, int64_t width, Bits* out) {
  const int64_t count = whole_blocks(x.count);
  const std::vector<Bits> nothing(static_cast<size_t>(width));
  for (int64_t first = 0; first < width; first += kBlock) {
    const int64_t columns = std::min(kBlock, width - first);
    Bits* to = out + first * count;
    for (int64_t i = 0; i < count; i += 2, to += 2 * columns) {
      const Bits* even = i < x.count ? x.row(i) + first : nothing.data();
      const Bits* odd = i + 1 < x.count ? x.row(i + 1) + first : nothing.data();
      for (int64_t j = 0; j < columns; ++j) {
        to[2 * j] = even[j];
        to[2 * j + 1] = odd[j];
      }
    }
  }
}

// Packs the transpose of `x[rows, D]` as right factor, in blocks of rows of x. Elements that are
// adjacent there are adjacent in x, so pairs are moved as one number.
ACC_EVERY_CPU void pack_transposed(const Rows& x, int64_t width, Bits* out) {
  const int64_t pairs = width / 2;
  for (int64_t i = 0; i < whole_blocks(x.count); ++i) {
    auto* to = reinterpret_cast<uint32_t*>(out + i / kBlock * kBlock * width) + i % kBlock;
    for (int64_t d = 0; d < pairs; ++d, to += kBlock) {
      if (i < x.count) std::memcpy(to, x.row(i) + 2 * d, sizeof(*to));
      else *to = 0;
    }
  }
}

// The transpose of `x[rows, D]`, of shape `[D, whole blocks of rows]`.
ACC_EVERY_CPU void transpose(const Rows& x, int64_t width, Bits* out) {
  const int64_t count = whole_blocks(x.count);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t d = 0; d < width; ++d) out[d * count + i] = i < x.count ? x.row(i)[d] : 0;
  }
}

// The dot product of each row of x with the same row of y. It is summed in kColumns parts, so that
// the compiler can vectorize it.
ACC_EVERY_CPU void products_of_rows(const Rows& x, const Rows& y, int64_t width, float* out) {
  for (int64_t i = 0; i < x.count; ++i) {
    const Bits *a = x.row(i), *b = y.row(i);
    float parts[kColumns] = {};
    for (int64_t first = 0; first < width; first += kColumns) {
      for (int64_t d = 0; d < kColumns; ++d) {
        parts[d] += rows::of_bfloat16_bits(a[first + d]) * rows::of_bfloat16_bits(b[first + d]);
      }
    }
    out[i] = std::accumulate(parts, parts + kColumns, 0.f);
  }
}

// The weights and the gradients of the scores, for one key and a block of queries. Both are 0 for
// queries that do not see the key: those before `first` and from `end` on.
ACC_EVERY_CPU void weights_of_key(const float* __restrict scores, const float* __restrict dweights,
                                  const float* __restrict sums, const float* __restrict products, float scale,
                                  int32_t first, int32_t end, Bits* __restrict weights, Bits* __restrict dscores) {
  // Uses 32-bit numbers and no branch, so that the compiler vectorizes the loop.
  for (int32_t i = 0; i < static_cast<int32_t>(kBlock); ++i) {
    const float weight = rows::exp(scores[i] * scale - sums[i]);
    const float dscore = weight * (dweights[i] - products[i]) * scale;
    const uint32_t mask = (i >= first) & (i < end) ? 0xFFFFu : 0u;
    weights[i] = static_cast<Bits>(rows::bfloat16_bits(weight) & mask);
    dscores[i] = static_cast<Bits>(rows::bfloat16_bits(dscore) & mask);
  }
}

ACC_EVERY_CPU void round_row(const float* from, int64_t stride, int64_t count, Bits* to) {
  for (int64_t d = 0; d < count; ++d) to[d] = rows::bfloat16_bits(from[d * stride]);
}

const BFloat16* numbers(const Bits* bits) { return reinterpret_cast<const BFloat16*>(bits); }

// A block of scores, for `keys` keys from `j` on and `count` queries from `i` on. Scores and their
// gradients are transposed, with one row per key, so that they are left factors for dk and dv.
struct Block {
  int64_t j, keys, i, count;
  alignas(64) float scores[kBlock * kBlock], dweights[kBlock * kBlock];
  alignas(64) Bits weights[kBlock * kBlock], dscores[kBlock * kBlock], packed_dscores[kBlock * kBlock];
};

// The matrix unit must be set up again when the shape of products changes, which takes as long as
// several products. So this many blocks are computed together, as many as the L2 cache holds.
constexpr size_t kTogether = 16;

// The working memory of one thread, and the computation of one head in it.
class Head {
 public:
  Head(int64_t queries, int64_t keys, int64_t width)
      : width_(width),
        queries_(whole_blocks(queries)),
        keys_(whole_blocks(keys)),
        q_(size(queries_)),
        dy_(size(queries_)),
        q_transposed_(size(queries_)),
        dy_transposed_(size(queries_)),
        k_transposed_(size(keys_)),
        sums_(static_cast<size_t>(queries_)),
        products_(static_cast<size_t>(queries_)),
        dq_(size(queries_)),
        dk_(size(keys_)),
        dv_(size(keys_)),
        blocks_(kTogether) {}

  void compute(const Call& call, int64_t batch, int64_t head) {
    const auto q = rows_of(call.q, batch, head), dy = rows_of(call.dy, batch, head);
    const auto k = rows_of(call.k, batch, head), v = rows_of(call.v, batch, head);
    pack_rows(q, width_, q_.data());
    pack_rows(dy, width_, dy_.data());
    pack_transposed(q, width_, q_transposed_.data());
    pack_transposed(dy, width_, dy_transposed_.data());
    transpose(k, width_, k_transposed_.data());
    products_of_rows(dy, rows_of(call.output, batch, head), width_, products_.data());
    const auto* sums = call.sums.const_data_ptr<float>() + (batch * call.sums.size(1) + head) * q.count;
    std::copy_n(sums, q.count, sums_.data());
    for (auto* of_head : {&dq_, &dk_, &dv_}) std::fill(of_head->begin(), of_head->end(), 0.f);
    size_t count = 0;
    for (int64_t j = 0; j < k.count; j += kBlock) {
      for (int64_t i = call.is_causal ? j : 0; i < q.count; i += kBlock) {
        auto& block = blocks_[count++];
        block.j = j;
        block.keys = std::min(kBlock, k.count - j);
        block.i = i;
        block.count = std::min(kBlock, q.count - i);
        if (count == kTogether) add_blocks(std::exchange(count, 0), k, v, call);
      }
    }
    add_blocks(count, k, v, call);
    for (int64_t i = 0; i < q.count; ++i) round_row(&dq_[at(i)], queries_, width_, row_at(call.dq, batch, head, i));
    for (int64_t j = 0; j < k.count; ++j) {
      round_row(&dk_[size(j)], 1, width_, row_at(call.dk, batch, head, j));
      round_row(&dv_[size(j)], 1, width_, row_at(call.dv, batch, head, j));
    }
  }

 private:
  static size_t at(int64_t index) { return static_cast<size_t>(index); }
  size_t size(int64_t rows) const { return at(rows * width_); }

  static Bits* row_at(const Tensor& x, int64_t batch, int64_t head, int64_t row) {
    return static_cast<Bits*>(x.mutable_data_ptr()) + batch * x.stride(0) + head * x.stride(1) + row * x.stride(2);
  }

  void add_blocks(size_t count, const Rows& k, const Rows& v, const Call& call) {
    const auto for_blocks = [&](const auto& compute) {
      for (size_t b = 0; b < count; ++b) compute(blocks_[b]);
    };
    for_blocks([&](Block& block) { score(k, block.j, q_transposed_, block, block.scores); });
    for_blocks([&](Block& block) { score(v, block.j, dy_transposed_, block, block.dweights); });
    for_blocks([&](Block& block) { weigh(block, call); });
    for_blocks([&](Block& block) { add_product(block.weights, dy_, block, dv_); });
    for_blocks([&](Block& block) { add_product(block.dscores, q_, block, dk_); });
    // The gradients of queries are also transposed: [D, T].
    for_blocks([&](Block& block) {
      blas::brgemm(width_, kBlock, kBlock, keys_, kBlock, queries_, true, numbers(&k_transposed_[at(block.j)]),
                   numbers(block.packed_dscores), &dq_[at(block.i)]);
    });
  }

  // Multiplies the rows of `left` from j on by the transposed rows of the block's queries.
  void score(const Rows& left, int64_t j, const std::vector<Bits>& transposed, const Block& block, float* out) const {
    blas::brgemm(block.keys, kBlock, width_, left.stride, kBlock, kBlock, false, left.numbers(j),
                 numbers(&transposed[size(block.i)]), out);
  }

  void weigh(Block& block, const Call& call) const {
    for (int64_t row = 0; row < kBlock; ++row) {
      const int64_t seen = call.is_causal ? std::max<int64_t>(0, block.j + row - block.i) : 0;
      const int64_t first = row < block.keys ? seen : kBlock;
      const int64_t start = row * kBlock;
      weights_of_key(block.scores + start, block.dweights + start, &sums_[at(block.i)], &products_[at(block.i)],
                     call.scale, static_cast<int32_t>(first), static_cast<int32_t>(block.count),
                     block.weights + start, block.dscores + start);
    }
    pack_rows({block.dscores, kBlock, kBlock}, kBlock, block.packed_dscores);
  }

  // Multiplies `left` by the packed rows of the block's queries, and adds the product to the rows
  // of the block's keys in `out`.
  void add_product(const Bits* left, const std::vector<Bits>& packed, const Block& block, std::vector<float>& out) {
    for (int64_t first = 0; first < width_; first += kBlock) {
      const int64_t columns = std::min(kBlock, width_ - first);
      blas::brgemm(block.keys, columns, kBlock, kBlock, columns, width_, true, numbers(left),
                   numbers(&packed[at(first * queries_ + block.i * columns)]), &out[size(block.j) + at(first)]);
    }
  }

  int64_t width_, queries_, keys_;
  std::vector<Bits> q_, dy_, q_transposed_, dy_transposed_, k_transposed_;
  std::vector<float> sums_, products_, dq_, dk_, dv_;
  std::vector<Block> blocks_;
};

}  // namespace
}  // namespace acc::attention::matrix_units
