// Runs fused programs: for each block of elements, all steps, then the results are written.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <memory>
#include <new>

#include "engine/error.h"
#include "engine/flush_denormals.h"
#include "engine/fused/blocks.h"
#include "engine/fused/program.h"

namespace acc::fused {
namespace {

// The number of elements that justifies a separate thread.
constexpr int64_t kThreadElements = 16384;

// Whether nobody but the caller holds the tensor or its memory.
bool is_held_once(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1 &&
         tensor.storage().nbytes() == static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

// Vectors that lie across two cache lines are read and written at half the speed.
constexpr std::align_val_t kCacheLine{64};
struct Free {
  void operator()(float* memory) const { ::operator delete[](memory, kCacheLine); }
};
float* allocate(size_t count) { return static_cast<float*>(::operator new[](count * sizeof(float), kCacheLine)); }

struct Output {
  at::Tensor tensor;
  // Whether the memory is that of an input: it is written after all steps of a block.
  bool is_reused;
};

class Run {
 public:
  Run(const Program& program, std::vector<at::Tensor> inputs) : program_(program) {
    if (inputs.size() != program.inputs.size()) throw Error(kInvalidArgument, "A fused program got other inputs.");
    sources_.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].is_cpu()) throw Error(kInvalidArgument, "A fused program got an input that is not on the CPU.");
      sources_.emplace_back(std::move(inputs[i]), program.inputs[i]);
    }
    make_outputs();
  }

  std::vector<at::Tensor> results() {
    const int64_t count = program_.count;
    const int64_t blocks = (count + kBlock - 1) / kBlock;
    at::parallel_for(0, blocks, kThreadElements / kBlock, [&](int64_t begin, int64_t end) {
      run_blocks(begin, end, count);
    });
    std::vector<at::Tensor> results;
    for (auto& output : outputs_) results.push_back(std::move(output.tensor));
    return results;
  }

 private:
  void make_outputs() {
    std::vector<bool> is_taken(sources_.size());
    for (const auto& result : program_.results) {
      size_t i = 0;
      while (i < sources_.size() && (is_taken[i] || !can_take(sources_[i], result))) ++i;
      if (i < sources_.size()) {
        is_taken[i] = true;
        outputs_.push_back({sources_[i].tensor(), true});
      } else {
        outputs_.push_back({at::empty(result.shape, at::TensorOptions().dtype(result.dtype)), false});
      }
    }
  }

  static bool can_take(const Source& source, const Result& result) {
    const auto& tensor = source.tensor();
    return source.is_whole() && tensor.scalar_type() == result.dtype && tensor.sizes() == at::IntArrayRef(result.shape) &&
           is_held_once(tensor);
  }

  void run_blocks(int64_t begin, int64_t end, int64_t count) const {
    const FlushDenormals flush;
    const size_t registers = program_.register_count;
    const std::unique_ptr<float[], Free> memory(allocate(registers * kBlock));
    std::vector<const float*> from(registers);
    std::vector<float*> to(registers);
    for (size_t r = 0; r < registers; ++r) from[r] = to[r] = memory.get() + r * kBlock;
    for (const auto& [reg, number] : program_.constants) std::fill_n(to[reg], kBlock, number);
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlock;
      run_block(first, std::min(kBlock, count - first), memory.get(), from, to);
    }
  }

  void run_block(int64_t first, int64_t n, float* memory, std::vector<const float*>& from,
                 std::vector<float*>& to) const {
    for (size_t i = 0; i < sources_.size(); ++i) from[i] = sources_[i].read(first, n, memory + i * kBlock);
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (!is_written_directly(k)) continue;
      const auto reg = program_.results[k].reg;
      from[reg] = to[reg] = outputs_[k].tensor.mutable_data_ptr<float>() + first;
    }
    for (const auto& step : program_.steps) step.loop(from[step.a], from[step.b], from[step.c], to[step.out], n);
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (!is_written_directly(k)) write_block(from[program_.results[k].reg], outputs_[k].tensor, first, n);
    }
  }

  // A register of a step can lie in the memory of the result.
  bool is_written_directly(size_t k) const {
    return !outputs_[k].is_reused && program_.results[k].dtype == at::kFloat;
  }

  const Program& program_;
  std::vector<Source> sources_;
  std::vector<Output> outputs_;
};

}  // namespace

std::vector<at::Tensor> run(const Program& program, std::vector<at::Tensor> inputs) {
  return Run(program, std::move(inputs)).results();
}

}  // namespace acc::fused
