#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "engine/call/operator_table.h"
#include "engine/fused/program.h"
#include "engine/memory/replay_memory.h"

namespace acc {

// What a replay for arguments of other sizes takes instead of what the sealed calls hold. Swapping it
// with them switches to these sizes, and swapping again switches back.
struct SizeSet {
  struct Argument {
    size_t call;
    size_t argument;
    c10::IValue value;
  };
  struct FusedProgram {
    size_t call;
    std::shared_ptr<const fused::Program> program;
  };
  struct UploadedTensor {
    size_t upload;
    std::vector<int64_t> sizes;
    at::Tensor tensor;
  };
  struct OutputSizes {
    size_t segment;
    size_t output;
    std::vector<int64_t> sizes;
  };
  std::vector<Argument> arguments;
  std::vector<FusedProgram> programs;
  std::vector<UploadedTensor> uploads;
  std::vector<OutputSizes> outputs;
  ReplayMemory memory;
};

}  // namespace acc
