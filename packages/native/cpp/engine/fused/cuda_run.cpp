#include "engine/fused/cuda_run.h"

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/fused/blocks.h"
#include "engine/fused/cuda_source.h"

namespace acc::fused {

// The kernels of a program for inputs of some layouts.
struct CudaProgram {
  const CudaDriver* driver;
  c10::Device device;
  std::vector<ElementLayout> layouts;
  CudaKernels kernels;
};

namespace {

constexpr int64_t kMaxBlocks = 1 << 16;
constexpr int64_t kColumnThreads = 256;

uint64_t parameter(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// The handle of libtorch's current stream. On a CPU, where tests run programs, there are no streams.
template <typename Stream = c10::Stream>
void* current_stream(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  const Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  if constexpr (requires { stream.native_handle(); }) {
    return stream.native_handle();
  } else {
    // Before libtorch 2.13. The default stream has no handle, and nothing here chooses another one.
    if (stream.id() != 0) throw Error(kOperatorFailed, "This libtorch does not tell which stream a fused program should use.");
    return nullptr;
  }
}

class CudaRun {
 public:
  CudaRun(const Program& program, const std::vector<at::Tensor>& inputs, c10::Device device, CudaDriver& driver)
      : program_(program), device_(device), driver_(driver), block_(cuda_block_of(program.row)) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      layouts_.push_back(layout_of(inputs[i].expand(program.inputs[i].shape)));
      parameters_.push_back(parameter(inputs[i].const_data_ptr()));
    }
    for (const auto& result : program.results) {
      results_.push_back(at::empty(result.shape, at::TensorOptions().dtype(result.dtype).device(device)));
      const auto pointer = parameter(results_.back().mutable_data_ptr());
      (result.extent == Extent::kColumns ? sums_ : parameters_).push_back(pointer);
    }
  }

  std::vector<at::Tensor> results() {
    const auto kernels = this->kernels();
    const int64_t count = program_.row > 0 ? program_.count / program_.row : program_.count;
    const int64_t blocks = blocks_for(count);
    at::Tensor of_parts;
    parameters_.push_back(static_cast<uint64_t>(count));
    if (!sums_.empty()) {
      const int64_t numbers = blocks * block_.rows * static_cast<int64_t>(sums_.size()) * program_.row;
      of_parts = at::empty({numbers}, at::TensorOptions().dtype(at::kDouble).device(device_));
      parameters_.push_back(parameter(of_parts.const_data_ptr()));
    }
    if (count > 0 && !program_.results.empty()) launch({kernels.program, blocks, block_.lanes, block_.rows, nullptr, parameters_});
    if (!sums_.empty()) {
      sums_.push_back(static_cast<uint64_t>(blocks * block_.rows));
      sums_.push_back(parameter(of_parts.const_data_ptr()));
      launch({kernels.add_columns, (program_.row + kColumnThreads - 1) / kColumnThreads, kColumnThreads, 1, nullptr, sums_});
    }
    return std::move(results_);
  }

 private:
  int64_t blocks_for(int64_t count) const {
    const int64_t of_block = program_.row > 0 ? block_.rows : block_.lanes;
    const int64_t most = sums_.empty() ? kMaxBlocks : max_column_parts(program_.row) / block_.rows;
    return std::min((count + of_block - 1) / of_block, most);
  }

  void launch(CudaLaunch launch) {
    launch.stream = current_stream(device_);
    driver_.launch(launch);
  }

  CudaKernels kernels() {
    auto& known = program_.compiled;
    if (!known || known->driver != &driver_ || known->device != device_ || known->layouts != layouts_) {
      const auto kernels = driver_.compile(cuda_source(program_, layouts_), device_.is_cpu() ? 0 : device_.index());
      known = std::make_shared<const CudaProgram>(CudaProgram{&driver_, device_, std::move(layouts_), kernels});
    }
    return known->kernels;
  }

  const Program& program_;
  const c10::Device device_;
  CudaDriver& driver_;
  const CudaBlock block_;
  std::vector<ElementLayout> layouts_;
  std::vector<at::Tensor> results_;
  // Of the kernel, and of that which adds the sums of columns.
  std::vector<uint64_t> parameters_, sums_;
};

}  // namespace

std::vector<at::Tensor> run_on_cuda(const Program& program, const std::vector<at::Tensor>& inputs, c10::Device device,
                                    CudaDriver& driver) {
  const c10::DeviceGuard guard(device);
  return CudaRun(program, inputs, device, driver).results();
}

}  // namespace acc::fused
