#pragma once

#include <optional>
#include <string>

namespace acc {

// A GPU of NVIDIA, as its driver describes it.
struct GpuFacts {
  std::string name;
  // The same in all processes that see the GPU. A slice of a GPU (MIG) has its own.
  std::string uuid;
  int major;
  int minor;
};

// The GPU with number `index` among those that the process sees. Nothing without a driver or such a
// GPU. `driver` is the path of the driver's library.
std::optional<GpuFacts> gpu_facts(int index, const std::string& driver);

}  // namespace acc
