// The operators acc::adamw_packed_, acc::lion_packed_ and acc::momentum_packed_: steps of optimizers whose
// moments lie packed in 8 or 4 bits, in one pass over memory, in place. Each block of elements is unpacked
// into the L1 cache, updated and packed again (Dettmers et al., "8-bit Optimizers via Block-wise
// Quantization", 2022; Li et al., "Memory Efficient Optimizers with 4-bit States", 2023).
//
// A packed moment is an int32 tensor [blocks, words]. A row has the codes of one block, 4 or 8 in a word,
// and in its last word the bits of the block's scale, a float: the largest magnitude. Of two codes in a
// byte, the first is in the upper 4 bits. The value of a code is codebook[code] · scale.
//
// Results have the bits of kernels/src/optimizer-steps/packed/plain-step.ts. So no multiplication and
// addition may become one operation.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// AVX-512 would bring fused multiplications; AVX2 alone does not.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define ACC_ROUNDED __attribute__((target_clones("avx2", "default")))
#elif defined(__GNUC__) && !defined(__clang__)
#define ACC_ROUNDED __attribute__((optimize("fp-contract=off")))
#else
#define ACC_ROUNDED
#endif
#if defined(__clang__)
#define ACC_UNFUSED _Pragma("clang fp contract(off)")
#else
#define ACC_UNFUSED
#endif

namespace acc {
namespace {

using at::Tensor;
using Values = c10::List<double>;

constexpr int64_t kLargestBlock = 256;
/** Blocks that are worth another thread: 0.1 ms. */
constexpr int64_t kBlocksForThread = 256;

/** The values of codes, ascending, and the code of each value. */
class Codebook {
 public:
  explicit Codebook(const std::vector<float>& values) : starts_(1 << 16) {
    std::copy(values.begin(), values.end(), values_.begin());
    limits_.fill(std::numeric_limits<float>::infinity());
    const auto count = static_cast<int64_t>(values.size());
    for (int64_t code = 0; code + 1 < count; ++code) {
      limits_[code] = static_cast<float>((static_cast<double>(values_[code]) + values_[code + 1]) / 2);
    }
    for (uint32_t index = 0; index < starts_.size(); ++index) {
      // The lowest of the floats with these upper bits.
      const float lowest = std::bit_cast<float>(index << 16 | (index & 0x8000 ? 0xffffu : 0u));
      starts_[index] = static_cast<uint8_t>(std::upper_bound(limits_.begin(), limits_.begin() + count - 1, lowest) - limits_.begin());
    }
  }

  const float* values() const { return values_.data(); }

  /** The code of the nearest value, and of the higher one of two that are as near. */
  uint8_t code_of(float x) const {
    // Floats with the same upper 16 bits have one of at most two codes.
    const uint8_t code = starts_[std::bit_cast<uint32_t>(x) >> 16];
    return code + (x >= limits_[code]);
  }

 private:
  std::array<float, 256> values_{};
  /** Where the next code begins. */
  std::array<float, 256> limits_{};
  std::vector<uint8_t> starts_;
};

const Codebook& codebook_of(const Values& values) {
  static std::mutex mutex;
  static std::map<std::vector<float>, std::unique_ptr<const Codebook>> known;
  std::vector<float> key;
  for (size_t i = 0; i < values.size(); ++i) key.push_back(static_cast<float>(values.get(i)));
  TORCH_CHECK(key.size() == 256 || key.size() == 16, "A codebook has 16 or 256 values, not ", key.size(), ".");
  const std::lock_guard lock(mutex);
  auto& book = known[key];
  if (!book) book = std::make_unique<const Codebook>(key);
  return *book;
}

/** One moment of one tensor. */
struct Moment {
  uint8_t* rows;
  int64_t row_bytes;
  const Codebook* codebook;
  bool has_bytes;

  int64_t code_bytes() const { return row_bytes - 4; }

  void unpack(int64_t block, int64_t count, float* to) const {
    const uint8_t* codes = rows + block * row_bytes;
    const float* values = codebook->values();
    float scale;
    std::memcpy(&scale, codes + code_bytes(), 4);
    if (has_bytes) {
      for (int64_t i = 0; i < count; ++i) to[i] = values[codes[i]] * scale;
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = values[i % 2 ? codes[i / 2] & 15 : codes[i / 2] >> 4] * scale;
    }
  }

  void pack(int64_t block, int64_t count, const float* from, float scale) const {
    uint8_t* codes = rows + block * row_bytes;
    // A block of zeros has the scale 0.
    const float divisor = scale == 0 ? 1 : scale;
    std::memcpy(codes + code_bytes(), &scale, 4);
    if (has_bytes) {
      for (int64_t i = 0; i < count; ++i) codes[i] = codebook->code_of(from[i] / divisor);
      return;
    }
    for (int64_t i = 0; i < count; i += 2) {
      const uint8_t second = i + 1 < count ? codebook->code_of(from[i + 1] / divisor) : 0;
      codes[i / 2] = static_cast<uint8_t>(codebook->code_of(from[i] / divisor) << 4 | second);
    }
  }
};

/** NaN if one of them is NaN: its bits are the largest. */
ACC_ROUNDED float largest_magnitude(const float* values, int64_t count) {
  uint32_t bits = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t each;
    std::memcpy(&each, values + i, 4);
    bits = std::max(bits, each & 0x7fffffffu);
  }
  return std::bit_cast<float>(bits);
}

struct AdamW {
  static constexpr size_t kMoments = 2;
  float kept, weight1, weight2, rate, root, epsilon;
};

ACC_ROUNDED void update(const AdamW& by, int64_t count, float* w, const float* g, std::array<float*, 2> moments) {
  ACC_UNFUSED
  float *m = moments[0], *v = moments[1];
  for (int64_t i = 0; i < count; ++i) {
    m[i] = m[i] + (g[i] - m[i]) * by.weight1;
    v[i] = v[i] + (g[i] * g[i] - v[i]) * by.weight2;
    const float direction = m[i] / (std::sqrt(v[i]) / by.root + by.epsilon);
    w[i] = w[i] * by.kept - direction * by.rate;
  }
}

struct Lion {
  static constexpr size_t kMoments = 1;
  float kept, weight1, weight2, rate;
};

ACC_ROUNDED void update(const Lion& by, int64_t count, float* w, const float* g, std::array<float*, 1> moments) {
  ACC_UNFUSED
  float* m = moments[0];
  for (int64_t i = 0; i < count; ++i) {
    const float direction = m[i] + (g[i] - m[i]) * by.weight1;
    // NaN stays NaN.
    const float sign = direction > 0 ? 1.f : direction < 0 ? -1.f : direction;
    w[i] = w[i] * by.kept - sign * by.rate;
    m[i] = m[i] + (g[i] - m[i]) * by.weight2;
  }
}

struct Momentum {
  static constexpr size_t kMoments = 1;
  float kept, momentum, rate;
  bool is_nesterov;
};

ACC_ROUNDED void update(const Momentum& by, int64_t count, float* w, const float* g, std::array<float*, 1> moments) {
  ACC_UNFUSED
  float* a = moments[0];
  for (int64_t i = 0; i < count; ++i) {
    a[i] = a[i] * by.momentum + g[i];
    const float ahead = a[i] * by.momentum + g[i];
    w[i] = w[i] * by.kept - (by.is_nesterov ? ahead : a[i]) * by.rate;
  }
}

template <size_t kMoments>
struct Parameter {
  float* weights;
  const float* grads;
  int64_t count;
  std::array<Moment, kMoments> moments;
  /** The number of blocks of the parameters before it. */
  int64_t first_block;
};

template <class Rule>
void update_block(const Rule& rule, const Parameter<Rule::kMoments>& parameter, int64_t block, int64_t block_length) {
  float unpacked[Rule::kMoments][kLargestBlock];
  std::array<float*, Rule::kMoments> moments;
  const int64_t begin = block * block_length;
  const int64_t count = std::min(block_length, parameter.count - begin);
  for (size_t k = 0; k < Rule::kMoments; ++k) {
    moments[k] = unpacked[k];
    parameter.moments[k].unpack(block, count, moments[k]);
  }
  update(rule, count, parameter.weights + begin, parameter.grads + begin, moments);
  for (size_t k = 0; k < Rule::kMoments; ++k) {
    parameter.moments[k].pack(block, count, moments[k], largest_magnitude(moments[k], count));
  }
}

void require_floats(const Tensor& x) {
  TORCH_CHECK(x.is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous(), "Weights and gradients must be contiguous floats on the CPU.");
}

template <class Rule>
void step(const Rule& rule, at::TensorList weights, at::TensorList grads, std::array<at::TensorList, Rule::kMoments> moments,
          std::array<const Codebook*, Rule::kMoments> codebooks, size_t code_count) {
  const bool has_bytes = code_count == 256;
  const int64_t block_length = has_bytes ? 256 : 128;
  const int64_t words = block_length / (has_bytes ? 4 : 8) + 1;
  std::vector<Parameter<Rule::kMoments>> parameters;
  int64_t blocks = 0;
  TORCH_CHECK(grads.size() == weights.size(), "Each weight needs a gradient.");
  for (size_t i = 0; i < weights.size(); ++i) {
    require_floats(weights[i]);
    require_floats(grads[i]);
    const int64_t count = weights[i].numel(), own = (count + block_length - 1) / block_length;
    TORCH_CHECK(grads[i].numel() == count, "A gradient has the size of its weight.");
    Parameter<Rule::kMoments> parameter{weights[i].mutable_data_ptr<float>(), grads[i].const_data_ptr<float>(), count, {}, blocks};
    for (size_t k = 0; k < Rule::kMoments; ++k) {
      TORCH_CHECK(moments[k].size() == weights.size(), "Each weight needs its moments.");
      const Tensor& state = moments[k][i];
      TORCH_CHECK(state.is_cpu() && state.scalar_type() == at::kInt && state.is_contiguous() && state.numel() == own * words,
                  "A packed moment of ", count, " elements has ", own, " rows of ", words, " int32.");
      parameter.moments[k] = {reinterpret_cast<uint8_t*>(state.mutable_data_ptr<int32_t>()), words * 4, codebooks[k], has_bytes};
    }
    parameters.push_back(parameter);
    blocks += own;
  }
  at::parallel_for(0, blocks, kBlocksForThread, [&](int64_t from, int64_t end) {
    const auto after = [](int64_t block, const auto& parameter) { return block < parameter.first_block; };
    auto at = std::upper_bound(parameters.begin(), parameters.end(), from, after) - 1;
    for (int64_t block = from; block < end; ++block) {
      while (at + 1 != parameters.end() && block >= (at + 1)->first_block) ++at;
      update_block(rule, *at, block - at->first_block, block_length);
    }
  });
}

float as_float(double x) { return static_cast<float>(x); }

void adamw(at::TensorList weights, at::TensorList grads, at::TensorList first_moments, at::TensorList second_moments,
           Values signed_values, Values unsigned_values, double kept, double weight1, double weight2, double rate,
           double root, double epsilon) {
  const AdamW rule{as_float(kept), as_float(weight1), as_float(weight2), as_float(rate), as_float(root), as_float(epsilon)};
  step<AdamW>(rule, weights, grads, {first_moments, second_moments},
              {&codebook_of(signed_values), &codebook_of(unsigned_values)}, signed_values.size());
}

void lion(at::TensorList weights, at::TensorList grads, at::TensorList moments, Values values, double kept, double weight1,
          double weight2, double rate) {
  const Lion rule{as_float(kept), as_float(weight1), as_float(weight2), as_float(rate)};
  step<Lion>(rule, weights, grads, {moments}, {&codebook_of(values)}, values.size());
}

void momentum(at::TensorList weights, at::TensorList grads, at::TensorList moments, Values values, double kept,
              double momentum, double rate, bool is_nesterov) {
  const Momentum rule{as_float(kept), as_float(momentum), as_float(rate), is_nesterov};
  step<Momentum>(rule, weights, grads, {moments}, {&codebook_of(values)}, values.size());
}

}  // namespace
}  // namespace acc

TORCH_LIBRARY_FRAGMENT(acc, library) {
  const std::string tensors = "_packed_(Tensor(a!)[] weights, Tensor[] grads, ";
  library.def(("adamw" + tensors +
               "Tensor(b!)[] first_moments, Tensor(c!)[] second_moments, float[] signed_values, float[] unsigned_values, "
               "float kept, float weight1, float weight2, float rate, float root, float epsilon) -> ()")
                  .c_str(),
              acc::adamw);
  library.def(("lion" + tensors +
               "Tensor(b!)[] moments, float[] values, float kept, float weight1, float weight2, float rate) -> ()")
                  .c_str(),
              acc::lion);
  library.def(("momentum" + tensors +
               "Tensor(b!)[] moments, float[] values, float kept, float momentum, float rate, bool is_nesterov) -> ()")
                  .c_str(),
              acc::momentum);
}
