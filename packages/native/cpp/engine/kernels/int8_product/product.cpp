#include "engine/kernels/int8_product/product.h"

#include "engine/kernels/int8_product/vectors.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "engine/kernels/product/blocking.h"

namespace acc::int8 {
namespace {

using at::Tensor;
using product::ceil_div;
using product::Parts;
using product::parts_of;

// The most bytes of rows that are multiplied by one panel after the other: a quarter of an L2 cache.
constexpr int64_t kChunkBytes = 1 << 18;
// The numbers of k that are packed at once for all lanes, so that lines which several lanes share stay in the cache.
constexpr int64_t kPackedNumbers = 128;
// Smaller work runs on one thread.
constexpr int64_t kThreadedProducts = 1 << 24, kThreadedNumbers = 1 << 17;

Tensor memory_of(int64_t words) { return at::empty({words}, at::kInt); }

// Calls use(begin, end) for parts of `count` things, on several threads if the work is large enough.
template <typename Use>
void divide(int64_t count, bool is_large, const Use& use) {
  if (is_large) at::parallel_for(0, count, 1, use);
  else use(0, count);
}

template <typename Number>
std::vector<LaneScale> scales_of(const Operand& x, int64_t depth) {
  std::vector<uint32_t> largest(static_cast<size_t>(x.lanes), 0);
  std::vector<LaneScale> scales(static_cast<size_t>(x.lanes));
  const auto* data = static_cast<const Number*>(x.data);
  const auto groups = ceil_div(x.lanes, kLanes);
  divide(groups, x.lanes * depth >= kThreadedNumbers, [&](int64_t begin, int64_t end) {
    const auto first = begin * kLanes, last = std::min(end * kLanes, x.lanes);
    if (x.stride == 1) {
      for (int64_t i = first; i < last; ++i) largest[static_cast<size_t>(i)] = largest_of(data + i * x.lane_stride, depth);
    } else {
      for (int64_t k = 0; k < depth; ++k) add_to_largest(data + k * x.stride + first, last - first, largest.data() + first);
    }
    for (int64_t i = first; i < last; ++i) {
      scales[static_cast<size_t>(i)] = lane_scale(largest[static_cast<size_t>(i)], x.seed);
    }
  });
  return scales;
}

std::vector<LaneScale> scales_of(const Operand& x, int64_t depth) {
  return x.is_float ? scales_of<float>(x, depth) : scales_of<uint16_t>(x, depth);
}

// Numbers of k that are packed together.
struct Piece {
  int64_t first, numbers;
};

template <typename Number, bool kIsStochastic>
void pack_lanes(const Operand& x, int64_t lane, int count, const Piece& piece, const LaneScale* scales,
                const Packed& packed, int32_t* sums) {
  const auto* from = static_cast<const Number*>(x.data) + lane * x.lane_stride + piece.first * x.stride;
  if (x.stride == 1) {
    pack_adjacent<Number, kIsStochastic>(from, x.lane_stride, count, piece.first, piece.numbers, scales + lane, packed, sums);
  } else {
    pack_rows<Number, kIsStochastic>(from, x.stride, count, piece.first, piece.numbers, scales + lane, packed, sums);
  }
}

using PackLanes = void (*)(const Operand&, int64_t, int, const Piece&, const LaneScale*, const Packed&, int32_t*);

PackLanes packing_of(const Operand& x) {
  if (x.is_float) return x.is_stochastic ? pack_lanes<float, true> : pack_lanes<float, false>;
  return x.is_stochastic ? pack_lanes<uint16_t, true> : pack_lanes<uint16_t, false>;
}

// A product of rounded matrices: blocks of rows and panels of columns for one block of k after the other.
class Run {
 public:
  Run(const Operand& left, const Operand& right, int64_t depth, const Ending& ending, const Out& out)
      : left_(left), right_(right), ending_(ending), out_(out), depth_(depth), depths_(parts_of(depth, kDepth)),
        blocks_(parts_of(left.lanes, kMaxRows)), panels_(ceil_div(right.lanes, kPanel)),
        left_scales_(scales_of(left, depth)), right_scales_(scales_of(right, depth)),
        sums_(static_cast<size_t>(left.lanes)) {}

  void run() {
    const auto most_words = ceil_div(std::min(depth_, kDepth), kWordNumbers);
    const auto left_memory = memory_of(left_.lanes * most_words);
    const auto right_memory = memory_of(ceil_div(right_.lanes, kLanes) * kLanes * most_words);
    const auto partials = depths_.count > 1 ? at::empty({left_.lanes * right_.lanes}, at::kFloat) : Tensor();
    left_words_ = left_memory.mutable_data_ptr<int32_t>();
    right_words_ = right_memory.mutable_data_ptr<int32_t>();
    partials_ = partials.defined() ? partials.mutable_data_ptr<float>() : nullptr;
    right_factors_.resize(static_cast<size_t>(panels_ * kPanel));
    for (int64_t i = 0; i < right_.lanes; ++i) right_factors_[static_cast<size_t>(i)] = right_scales_[static_cast<size_t>(i)].scale;
    for (int64_t block = 0; block < depths_.count; ++block) {
      first_ = depths_.begin(block);
      numbers_ = depths_.begin(block + 1) - first_;
      words_ = ceil_div(numbers_, kWordNumbers);
      is_first_ = block == 0;
      is_last_ = block + 1 == depths_.count;
      pack_left();
      pack_right();
      multiply_rows();
    }
  }

 private:
  // The pieces of a block of k, each with its first word.
  template <typename Use>
  void for_pieces(const Use& use) const {
    for (int64_t at = 0; at < numbers_; at += kPackedNumbers) {
      use(Piece{first_ + at, std::min(kPackedNumbers, numbers_ - at)}, at / kWordNumbers);
    }
  }

  void pack_left() {
    const auto pack = packing_of(left_);
    std::fill(sums_.begin(), sums_.end(), 0);
    divide(blocks_.count, left_.lanes * numbers_ >= kThreadedNumbers, [&](int64_t begin, int64_t end) {
      for_pieces([&](const Piece& piece, int64_t word) {
        for (int64_t block = begin; block < end; ++block) {
          const auto row = blocks_.begin(block);
          const auto count = static_cast<int>(blocks_.begin(block + 1) - row);
          const Packed packed{left_words_ + row * words_ + word * count, count, count, 0};
          pack(left_, row, count, piece, left_scales_.data(), packed, sums_.data() + row);
        }
      });
    });
  }

  int vectors_of(int64_t panel) const {
    return static_cast<int>(std::min<int64_t>(kMaxVectors, ceil_div(right_.lanes - panel * kPanel, kLanes)));
  }

  void pack_right() {
    const auto pack = packing_of(right_);
    divide(panels_, right_.lanes * numbers_ >= kThreadedNumbers, [&](int64_t begin, int64_t end) {
      for_pieces([&](const Piece& piece, int64_t word) {
        for (int64_t panel = begin; panel < end; ++panel) {
          const auto vectors = vectors_of(panel);
          for (int j = 0; j < vectors; ++j) {
            const auto column = panel * kPanel + j * kLanes;
            const auto count = static_cast<int>(std::min<int64_t>(kLanes, right_.lanes - column));
            auto* const to = right_words_ + panel * kPanel * words_ + word * vectors * kLanes + j * kLanes;
            int32_t unused[kLanes] = {};
            pack(right_, column, count, piece, right_scales_.data(), {to, vectors * kLanes, kLanes, kOffset}, unused);
          }
        }
      });
    });
  }

  void multiply_rows() const {
    const auto row_bytes = words_ * kWordNumbers;
    const auto chunk_blocks = std::max<int64_t>(1, kChunkBytes / (row_bytes * kMaxRows));
    const bool is_large = left_.lanes * right_.lanes * numbers_ >= kThreadedProducts;
    const auto chunks = parts_of(blocks_.count, chunk_blocks);
    divide(chunks.count * panels_, is_large, [&](int64_t begin, int64_t end) {
      alignas(64) int32_t sums[kMaxRows * kPanel];
      for (int64_t task = begin; task < end; ++task) {
        const auto chunk = task / panels_, panel = task % panels_;
        const auto vectors = static_cast<size_t>(vectors_of(panel));
        for (int64_t block = chunks.begin(chunk); block < chunks.begin(chunk + 1); ++block) {
          const auto row = blocks_.begin(block), count = blocks_.begin(block + 1) - row;
          kKernels[static_cast<size_t>(count) - 1][vectors - 1](left_words_ + row * words_,
                                                                right_words_ + panel * kPanel * words_, words_, sums);
          finish(row, count, panel, sums);
        }
      }
    });
  }

  ACC_VNNI void finish(int64_t row, int64_t count, int64_t panel, const int32_t* sums) const {
    for (int j = 0; j < vectors_of(panel); ++j) {
      const auto column = panel * kPanel + j * kLanes;
      const auto mask = avx512::lanes_below(right_.lanes - column);
      const auto scale = _mm512_loadu_ps(right_factors_.data() + column);
      const auto bias = ending_.bias ? _mm512_maskz_loadu_ps(mask, ending_.bias + column) : _mm512_setzero_ps();
      for (int64_t i = 0; i < count; ++i) {
        const auto at = (row + i) * right_.lanes + column;
        const auto added = _mm512_set1_epi32(sums_[static_cast<size_t>(row + i)] * kOffsetNumber);
        auto x = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(sums + i * kPanel + j * kLanes), added));
        if (!is_first_) x = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, partials_ + at), x);
        if (!is_last_) {
          _mm512_mask_storeu_ps(partials_ + at, mask, x);
          continue;
        }
        x = _mm512_mul_ps(x, _mm512_set1_ps(left_scales_[static_cast<size_t>(row + i)].scale));
        x = ending_.bias ? _mm512_fmadd_ps(x, scale, bias) : _mm512_mul_ps(x, scale);
        // With a NaN, the result is the second operand.
        if (ending_.is_relu) x = _mm512_max_ps(_mm512_setzero_ps(), x);
        store(at, mask, x);
      }
    }
  }

  ACC_VNNI_INLINE void store(int64_t at, __mmask16 mask, __m512 x) const {
    if (out_.is_float) return _mm512_mask_storeu_ps(static_cast<float*>(out_.data) + at, mask, x);
    // The nearest bfloat16; ties go to the even one.
    const auto bits = _mm512_castps_si512(x);
    const auto odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    auto rounded = _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd), 16);
    rounded = _mm512_mask_mov_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7FC0));
    _mm256_mask_storeu_epi16(static_cast<uint16_t*>(out_.data) + at, mask, _mm512_cvtepi32_epi16(rounded));
  }

  static constexpr int32_t kOffset = static_cast<int32_t>(0x80808080u), kOffsetNumber = 128;

  Operand left_, right_;
  Ending ending_;
  Out out_;
  int64_t depth_;
  // Of k, and of rows.
  Parts depths_, blocks_;
  int64_t panels_;
  std::vector<LaneScale> left_scales_, right_scales_;
  std::vector<float> right_factors_;
  // Of the integers of each row, in this block of k.
  std::vector<int32_t> sums_;
  int32_t *left_words_ = nullptr, *right_words_ = nullptr;
  float* partials_ = nullptr;
  // Of this block of k.
  int64_t first_ = 0, numbers_ = 0, words_ = 0;
  bool is_first_ = true, is_last_ = true;
};

}  // namespace

bool has_instructions() { return are_supported(); }

void multiply(const Operand& left, const Operand& right, int64_t depth, const Ending& ending, const Out& out) {
  Run(left, right, depth, ending, out).run();
}

}  // namespace acc::int8

#else

namespace acc::int8 {

bool has_instructions() { return false; }
void multiply(const Operand& left, const Operand& right, int64_t depth, const Ending& ending, const Out& out) {
  multiply_plainly(left, right, depth, ending, out);
}

}  // namespace acc::int8

#endif
