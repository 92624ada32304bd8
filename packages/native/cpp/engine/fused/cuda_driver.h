#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace acc::fused {

// A function on a GPU.
using CudaFunction = void*;

struct CudaLaunch {
  CudaFunction function;
  int64_t blocks, threads_x, threads_y;
  void* stream;
  // Each has 8 bytes.
  std::vector<uint64_t> parameters;
};

struct CudaKernels {
  CudaFunction program;
  CudaFunction add_columns;  // or null
};

// Compiles CUDA C++ with NVRTC, and launches it with the driver of the GPU. The addon is not linked with
// either: their functions are looked up in a library that depends on both.
class CudaDriver {
 public:
  // That of libtorch: `libcaffe2_nvrtc.so` beside it. Throws ACC_OPERATOR_FAILED if there is none.
  static CudaDriver& of_libtorch();
  // Throws ACC_OPERATOR_FAILED if the library cannot be loaded, or lacks a function.
  static CudaDriver& in_library(const std::string& path);

  // The kernels of a source for a GPU, by its index. The same text is compiled once. Throws
  // ACC_OPERATOR_FAILED with the messages of the compiler.
  CudaKernels compile(const std::string& source, int device);

  // On the current device. Throws ACC_OPERATOR_FAILED.
  void launch(const CudaLaunch& launch);

 private:
  struct Functions;

  explicit CudaDriver(const std::string& path);
  std::string image_of(const std::string& source, int device);
  std::string option_for(int device, bool& is_binary);
  void use_context(int device);
  void check_compiler(int status, const char* what) const;
  void check(int status, const char* what) const;

  std::shared_ptr<const Functions> functions_;
  std::mutex mutex_;
  std::unordered_map<std::string, CudaKernels> kernels_;
};

}  // namespace acc::fused
