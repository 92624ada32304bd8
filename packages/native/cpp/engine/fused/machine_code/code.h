#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/fused/block_runner.h"
#include "engine/fused/machine_code/kernel.h"
#include "engine/fused/machine_code/plan.h"

namespace acc::fused::machine_code {

// A program as machine code, for one layout of its inputs and results.
struct Code {
  Plan plan;
  // The number of floats from one slot to the next.
  size_t stride;
  std::unique_ptr<KernelCode> kernels;
};

// The code of one program.
class CodeCache {
 public:
  // Compiles the program for a layout that is new. Null where the interpreter is to run: on CPUs
  // without AVX-512, where the system gives no executable memory, for programs without operators for
  // kernels, and beyond a few layouts.
  std::shared_ptr<const Code> find(const Program& program, const Layout& layout, int64_t block);

 private:
  std::mutex mutex_;
  std::vector<std::pair<Layout, std::shared_ptr<const Code>>> codes_;
};

Layout layout_of(const Program& program, const std::vector<Source>& sources, const std::vector<Output>& outputs);

std::unique_ptr<BlockRunner> run_code(const Program& program, std::shared_ptr<const Code> code,
                                      const std::vector<Source>& sources, const std::vector<Output>& outputs, int64_t block);

}  // namespace acc::fused::machine_code
