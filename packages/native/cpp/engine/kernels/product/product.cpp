#include "engine/kernels/product/product.h"

#include "engine/error.h"
#include "engine/processor/avx512.h"

#ifdef ACC_HAS_AVX512

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/kernels/product/blocking.h"
#include "engine/processor/aligned_floats.h"

namespace acc::product {
namespace {

// The blocks of rows that are multiplied by one panel before the next one: with their packed words
// they take 500 KiB of the L2 cache.
constexpr int64_t kChunk = 18;

// Memory for packed words, which a thread keeps for its next product, as BLAS libraries do. Blocks bound
// its size: 600 KiB for each thread that multiplies.
class Packed {
 public:
  // Two parts, whose words are whatever was there.
  std::pair<float*, float*> parts(int64_t first, int64_t second) {
    const auto start = static_cast<size_t>(ceil_div(first, kVector) * kVector);
    auto* const memory = memory_.at_least(start + static_cast<size_t>(second));
    return {memory, memory + start};
  }

 private:
  AlignedFloats memory_;
};

// One product. The right matrix is packed panel by panel.
template <typename Word>
class Run {
  using Number = typename Word::Number;

 public:
  Run(const Matrix& left, const Matrix& right, const Sizes& sizes, const Ending& ending, const Out& out)
      : blocking_(sizes), left_(left), right_(right), ending_(ending), out_(out),
        chunks_(parts_of(blocking_.rows.count, kChunk)) {}

  void run() {
    const auto most = ceil_div(blocking_.words, blocking_.depths.count);
    const auto threads = at::get_num_threads();
    const auto tasks = chunks_.count * blocking_.panels;
    const bool is_threaded = blocking_.sizes.m * blocking_.sizes.n * blocking_.words >= kThreadedWork;
    const bool has_partials = Word::kNumbers > 1 && blocking_.depths.count > 1;
    left_words_ = most * std::min(blocking_.sizes.m, ceil_div(blocking_.rows.count, chunks_.count) * kMaxRows);
    panel_words_ = most * kPanel;
    static thread_local Packed packed;
    std::tie(left_memory_, panel_memory_) = packed.parts(left_words_ * threads, panel_words_ * threads);
    const auto partials = at::empty({has_partials ? blocking_.sizes.m * blocking_.sizes.n : 0}, at::kFloat);
    partials_ = has_partials ? partials.template mutable_data_ptr<float>() : nullptr;
    // Threads that share a chunk each pack it: that takes less time than to wait for each other.
    at::parallel_for(0, tasks, is_threaded ? 1 : tasks, [&](int64_t begin, int64_t end) {
      for (int64_t block = 0; block < blocking_.depths.count; ++block) run_tasks(block, begin, end);
    });
  }

 private:
  void run_tasks(int64_t block, int64_t begin, int64_t end) const {
    int64_t packed_chunk = -1;
    for (int64_t task = begin; task < end; ++task) {
      const auto chunk = task / blocking_.panels;
      if (chunk != packed_chunk) {
        for (int64_t rows = chunks_.begin(chunk); rows < chunks_.begin(chunk + 1); ++rows) pack_rows_of(block, rows);
      }
      packed_chunk = chunk;
      run_chunk(block, task % blocking_.panels, chunk);
    }
  }

  // The packed block `rows` of the left matrix, of this thread.
  float* left_at(int64_t block, int64_t rows) const {
    const auto chunk = ((rows + 1) * chunks_.count - 1) / chunks_.size;
    auto* const memory = left_memory_ + left_words_ * at::get_thread_num();
    return memory + (blocking_.rows.begin(rows) - blocking_.rows.begin(chunks_.begin(chunk))) * blocking_.words_of(block);
  }

  void pack_rows_of(int64_t block, int64_t rows) const {
    const auto first = blocking_.rows.begin(rows);
    const auto count = static_cast<int>(blocking_.rows.begin(rows + 1) - first);
    const auto lanes = lanes_at<Word>(left_, left_.row_stride, first, left_.column_stride, blocking_.first_number(block));
    pack_lanes(lanes, count, blocking_.numbers_of(block), left_at(block, rows), count, count);
  }

  Panel<Word> panel_at(int64_t block, int64_t panel) const {
    const auto in_last = blocking_.columns_of(panel) - (blocking_.vectors_of(panel) - 1) * kVector;
    Panel<Word> right{nullptr, nullptr, 0, avx512::lanes_below(in_last)};
    right.packed = panel_memory_ + panel_words_ * at::get_thread_num();
    if (right_.column_stride != 1 || blocking_.numbers_of(block) % Word::kNumbers != 0) {
      pack_panel(blocking_, right_, block, panel, right.packed);
      return right;
    }
    right.stride = right_.row_stride;
    right.source = static_cast<const Number*>(right_.data) + blocking_.first_number(block) * right.stride + panel * kPanel;
    return right;
  }

  bool is_last(int64_t block) const { return block + 1 == blocking_.depths.count; }

  // Whether the kernel writes the result, or for float32 a part of its sums.
  bool is_plain(int64_t block) const {
    if (Word::kNumbers > 1 && blocking_.depths.count > 1) return false;
    return !is_last(block) || (!ending_.bias && !ending_.is_relu);
  }

  // Whether sums are added to what the result holds. There the sums of float32 are kept.
  bool adds_out(int64_t block) const {
    return Word::kNumbers == 1 ? block > 0 || ending_.is_added : is_last(block) && ending_.is_added;
  }

  void run_chunk(int64_t block, int64_t panel, int64_t chunk) const {
    const auto vectors = static_cast<size_t>(blocking_.vectors_of(panel));
    const bool writes_out = is_plain(block);
    auto right = panel_at(block, panel);
    alignas(64) float sums[kMaxRows * kPanel];
    for (int64_t rows = chunks_.begin(chunk); rows < chunks_.begin(chunk + 1); ++rows) {
      const auto first = blocking_.rows.begin(rows);
      const auto count = blocking_.rows.begin(rows + 1) - first;
      if (count == 0) continue;
      auto* const out = static_cast<Number*>(out_.data) + first * out_.row_stride + panel * kPanel;
      for (int64_t i = 0; i < count; ++i) {
        __builtin_prefetch(out + i * out_.row_stride, 1);
        __builtin_prefetch(out + i * out_.row_stride + kVector, 1);
      }
      const Target<Word> target{sums, writes_out ? out : nullptr, out_.row_stride, adds_out(block)};
      const auto& kernels = right.source ? kKernels<Word, false> : kKernels<Word, true>;
      kernels[static_cast<size_t>(count) - 1][vectors - 1](left_at(block, rows), right, blocking_.words_of(block), target);
      right.source = nullptr;
      if (!writes_out) finish(block, panel, first, count, sums);
    }
  }

  ACC_AVX512 void finish(int64_t block, int64_t panel, int64_t first, int64_t count, const float* sums) const {
    const bool is_float = Word::kNumbers == 1;
    const bool adds_partials = !is_float && block > 0;
    for (int64_t j = 0; j < blocking_.vectors_of(panel); ++j) {
      const auto column = panel * kPanel + j * kVector;
      const auto mask = avx512::lanes_below(blocking_.sizes.n - column);
      const bool has_bias = is_last(block) && ending_.bias;
      const auto bias = has_bias ? Word::load_numbers(static_cast<const Number*>(ending_.bias) + column, mask)
                                 : _mm512_setzero_ps();
      for (int64_t i = 0; i < count; ++i) {
        auto x = _mm512_load_ps(sums + i * kPanel + j * kVector);
        auto* out = static_cast<Number*>(out_.data) + (first + i) * out_.row_stride + column;
        auto* partial = is_float ? nullptr : partials_ + (first + i) * blocking_.sizes.n + column;
        if (adds_out(block)) x = _mm512_add_ps(Word::load_numbers(out, mask), x);
        if (adds_partials) x = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, partial), x);
        if (has_bias) x = _mm512_add_ps(x, bias);
        // With a NaN, the result is the second operand.
        if (is_last(block) && ending_.is_relu) x = _mm512_max_ps(_mm512_setzero_ps(), x);
        if (is_float || is_last(block)) Word::store_numbers(out, mask, x);
        else _mm512_mask_storeu_ps(partial, mask, x);
      }
    }
  }

  Blocking<Word> blocking_;
  Matrix left_, right_;
  Ending ending_;
  Out out_;
  // Of the blocks of rows.
  Parts chunks_;
  int64_t panel_words_ = 0, left_words_ = 0;
  float *left_memory_ = nullptr, *panel_memory_ = nullptr, *partials_ = nullptr;
};

}  // namespace

bool is_supported(Dtype dtype) {
  return dtype == Dtype::kFloat ? avx512::is_supported() : avx512::has_bfloat16();
}

void multiply(Dtype dtype, const Matrix& left, const Matrix& right, const Sizes& sizes, const Ending& ending,
              const Out& out) {
  if (dtype == Dtype::kFloat) Run<Floats>(left, right, sizes, ending, out).run();
  else Run<Pairs>(left, right, sizes, ending, out).run();
}

}  // namespace acc::product

#else

namespace acc::product {

bool is_supported(Dtype) { return false; }
void multiply(Dtype, const Matrix&, const Matrix&, const Sizes&, const Ending&, const Out&) {}

}  // namespace acc::product

#endif
