// Runs fused programs on a CPU: for each block of elements, all steps, then the results are written.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/fused/block_runner.h"
#include "engine/fused/blocks.h"
#include "engine/fused/column_sums.h"
#include "engine/fused/cuda_run.h"
#include "engine/fused/machine_code/code.h"
#include "engine/fused/program.h"
#include "engine/processor/flush_denormals.h"
#include "engine/processor/thread_elements.h"

namespace acc::fused {
namespace {

// Whether nobody but the caller holds the tensor or its memory.
bool is_held_once(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1 &&
         tensor.storage().nbytes() == static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

class Run {
 public:
  Run(const Program& program, std::vector<at::Tensor> inputs)
      : program_(program), block_(block_of(program)) {
    sources_.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      sources_.emplace_back(std::move(inputs[i]), program.inputs[i].shape);
    }
    make_outputs();
    if (program.code && program.count > 0) {
      code_ = program.code->find(program, machine_code::layout_of(program, sources_, outputs_), block_);
    }
  }

  std::vector<at::Tensor> results() {
    // Sums of columns depend on the number of parts, so it depends on nothing but sizes and threads.
    const int64_t blocks = (program_.count + block_ - 1) / block_;
    const int64_t least = std::max<int64_t>(kThreadElements / block_, 1);
    const int64_t parts = std::clamp<int64_t>(blocks / least, 1, at::get_num_threads());
    std::vector<std::vector<ColumnSums>> sums(static_cast<size_t>(parts));
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        sums[static_cast<size_t>(part)] = run_blocks(blocks * part / parts, blocks * (part + 1) / parts);
      }
    });
    add_columns(sums);
    std::vector<at::Tensor> results;
    for (auto& output : outputs_) results.push_back(std::move(output.tensor));
    return results;
  }

 private:
  // The number of elements of a block: whole rows, if there are any.
  static int64_t block_of(const Program& program) {
    if (program.row > 0) return std::max<int64_t>(kBlock / program.row, 1) * program.row;
    return std::clamp<int64_t>(program.count, 1, kBlock);
  }

  void make_outputs() {
    std::vector<bool> is_taken(sources_.size());
    for (const auto& result : program_.results) {
      size_t i = 0;
      while (i < sources_.size() && (is_taken[i] || is_summed(i) || !can_take(sources_[i], result))) ++i;
      if (i < sources_.size()) {
        is_taken[i] = true;
        outputs_.push_back({sources_[i].tensor(), static_cast<int>(i)});
      } else {
        outputs_.push_back({at::empty(result.shape, at::TensorOptions().dtype(result.dtype)), -1});
      }
    }
  }

  // Whether an input is added to sums of columns, after the other results of a block were written.
  bool is_summed(size_t input) const {
    return std::any_of(program_.results.begin(), program_.results.end(), [input](const Result& result) {
      return result.extent == Extent::kColumns && result.reg == input;
    });
  }

  static bool can_take(const Source& source, const Result& result) {
    const auto& tensor = source.tensor();
    return result.extent != Extent::kColumns && source.is_whole() && tensor.scalar_type() == result.dtype &&
           tensor.sizes() == at::IntArrayRef(result.shape) && is_held_once(tensor);
  }

  // Returns the sums of columns, in the order of the results that are such.
  std::vector<ColumnSums> run_blocks(int64_t begin, int64_t end) const {
    const FlushDenormals flush;
    const auto runner = code_ ? machine_code::run_code(program_, code_, sources_, outputs_, block_)
                              : interpret(program_, sources_, outputs_, block_);
    std::vector<ColumnSums> sums;
    for (const auto& result : program_.results) {
      if (result.extent == Extent::kColumns) sums.emplace_back(program_.row);
    }
    for (int64_t block = begin; block < end; ++block) {
      const auto range = range_of(block);
      runner->run(range);
      auto sum = sums.begin();
      for (size_t k = 0; k < program_.results.size(); ++k) {
        if (program_.results[k].extent == Extent::kColumns) (sum++)->add(runner->numbers_of(k), range.rows);
      }
    }
    return sums;
  }

  Range range_of(int64_t block) const {
    const int64_t first = block * block_, count = std::min(block_, program_.count - first);
    if (program_.row == 0) return {first, count, 0, 0};
    return {first, count, first / program_.row, count / program_.row};
  }

  // Adds the sums of the parts in the order of the parts.
  void add_columns(const std::vector<std::vector<ColumnSums>>& sums) {
    size_t next = 0;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (program_.results[k].extent != Extent::kColumns) continue;
      std::vector<double> total(static_cast<size_t>(program_.row));
      for (const auto& of_part : sums) of_part[next].add_to(total);
      const std::vector<float> rounded(total.begin(), total.end());
      write_block(rounded.data(), outputs_[k].tensor, 0, program_.row);
      ++next;
    }
  }

  const Program& program_;
  const int64_t block_;
  std::vector<Source> sources_;
  std::vector<Output> outputs_;
  // Null: the interpreter runs.
  std::shared_ptr<const machine_code::Code> code_;
};

// A device without an index is the current one of its kind.
c10::Device indexed(c10::Device device) {
  return device.is_cpu() || device.has_index() ? device : c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

}  // namespace

void check_inputs(const Program& program, const std::vector<at::Tensor>& inputs, c10::Device device) {
  if (inputs.size() != program.inputs.size()) throw Error(kInvalidArgument, "A fused program got other inputs.");
  for (const auto& input : inputs) {
    if (input.device() == indexed(device)) continue;
    throw Error(kInvalidArgument, "A fused program for " + device.str() + " got an input on " + input.device().str() + ".");
  }
}

std::vector<at::Tensor> run(const Program& program, std::vector<at::Tensor> inputs, c10::Device device) {
  check_inputs(program, inputs, device);
  if (device.is_cpu()) return Run(program, std::move(inputs)).results();
  return run_on_cuda(program, inputs, indexed(device), CudaDriver::of_libtorch());
}

std::string reason_against(c10::Device device) {
  if (device.is_cpu()) return "";
  if (!device.is_cuda()) return "programs run on CPUs and on GPUs with CUDA, and the device is " + device.str() + ".";
  try {
    CudaDriver::of_libtorch();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace acc::fused
