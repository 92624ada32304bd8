#include "engine/fused/cuda_driver.h"

#include <c10/core/CPUAllocator.h>
#include <dlfcn.h>

#include <algorithm>

#include "engine/error.h"

namespace acc::fused {

// The functions of NVRTC and of the CUDA driver that programs need, as nvrtc.h and cuda.h declare them.
// Handles are pointers, and 0 is success.
struct CudaDriver::Functions {
  int (*nvrtcCreateProgram)(void** program, const char* source, const char* name, int headers, const char* const* texts,
                            const char* const* names);
  int (*nvrtcCompileProgram)(void* program, int count, const char* const* options);
  int (*nvrtcDestroyProgram)(void** program);
  int (*nvrtcGetProgramLogSize)(void* program, size_t* bytes);
  int (*nvrtcGetProgramLog)(void* program, char* log);
  int (*nvrtcGetCUBINSize)(void* program, size_t* bytes);
  int (*nvrtcGetCUBIN)(void* program, char* image);
  int (*nvrtcGetPTXSize)(void* program, size_t* bytes);
  int (*nvrtcGetPTX)(void* program, char* text);
  int (*nvrtcGetNumSupportedArchs)(int* count);
  int (*nvrtcGetSupportedArchs)(int* architectures);
  int (*nvrtcVersion)(int* major, int* minor);
  const char* (*nvrtcGetErrorString)(int status);
  int (*cuDeviceGet)(int* device, int index);
  int (*cuDeviceGetAttribute)(int* value, int attribute, int device);
  int (*cuDevicePrimaryCtxRetain)(void** context, int device);
  int (*cuCtxGetCurrent)(void** context);
  int (*cuCtxSetCurrent)(void* context);
  int (*cuModuleLoadData)(void** module, const void* image);
  int (*cuModuleGetFunction)(void** function, void* module, const char* name);
  int (*cuLaunchKernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra);
  int (*cuGetErrorString)(int status, const char** text);
};

namespace {

[[noreturn]] void fail(const std::string& what) { throw Error(kOperatorFailed, what); }

template <typename Function>
void find(void* library, const char* name, const std::string& path, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) fail(path + " has no function " + name + ".");
}

// The folder of the library that a function came from, with a slash.
std::string folder_of(const void* function) {
  Dl_info found;
  if (!dladdr(function, &found) || !found.dli_fname) return "";
  const std::string path = found.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

// The attributes of cuDeviceGetAttribute.
constexpr int kMajor = 75, kMinor = 76;

}  // namespace

CudaDriver& CudaDriver::of_libtorch() {
  static const std::string path = folder_of(reinterpret_cast<const void*>(&c10::GetCPUAllocator)) + "libcaffe2_nvrtc.so";
  return in_library(path);
}

CudaDriver& CudaDriver::in_library(const std::string& path) {
  static std::mutex mutex;
  // Kernels are used until the process ends.
  static auto& drivers = *new std::unordered_map<std::string, std::unique_ptr<CudaDriver>>();
  const std::lock_guard lock(mutex);
  auto& driver = drivers[path];
  if (!driver) driver.reset(new CudaDriver(path));
  return *driver;
}

CudaDriver::CudaDriver(const std::string& path) {
  // It is never closed: kernels live in it.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(std::string("NVRTC, the compiler for GPUs, cannot be loaded: ") + dlerror());
  auto functions = std::make_shared<Functions>();
#define ACC_FIND(name) find(library, #name, path, functions->name)
  ACC_FIND(nvrtcCreateProgram);
  ACC_FIND(nvrtcCompileProgram);
  ACC_FIND(nvrtcDestroyProgram);
  ACC_FIND(nvrtcGetProgramLogSize);
  ACC_FIND(nvrtcGetProgramLog);
  ACC_FIND(nvrtcGetCUBINSize);
  ACC_FIND(nvrtcGetCUBIN);
  ACC_FIND(nvrtcGetPTXSize);
  ACC_FIND(nvrtcGetPTX);
  ACC_FIND(nvrtcGetNumSupportedArchs);
  ACC_FIND(nvrtcGetSupportedArchs);
  ACC_FIND(nvrtcVersion);
  ACC_FIND(nvrtcGetErrorString);
  ACC_FIND(cuDeviceGet);
  ACC_FIND(cuDeviceGetAttribute);
  ACC_FIND(cuDevicePrimaryCtxRetain);
  ACC_FIND(cuCtxGetCurrent);
  ACC_FIND(cuCtxSetCurrent);
  ACC_FIND(cuModuleLoadData);
  ACC_FIND(cuModuleGetFunction);
  ACC_FIND(cuLaunchKernel);
  ACC_FIND(cuGetErrorString);
#undef ACC_FIND
  // NVRTC opens this library of its own by name, and in Python's packages does not find it. Once it is
  // loaded, its name is known.
  int major = 0, minor = 0;
  functions->nvrtcVersion(&major, &minor);
  const auto folder = folder_of(reinterpret_cast<const void*>(functions->nvrtcVersion));
  dlopen((folder + "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor)).c_str(), RTLD_NOW | RTLD_LOCAL);
  functions_ = std::move(functions);
}

CudaKernels CudaDriver::compile(const std::string& source, int device) {
  const std::lock_guard lock(mutex_);
  const auto key = std::to_string(device) + ":" + source;
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  use_context(device);
  const auto image = image_of(source, device);
  void* module = nullptr;
  check(functions_->cuModuleLoadData(&module, image.data()), "load a fused program");
  CudaKernels kernels{};
  check(functions_->cuModuleGetFunction(&kernels.program, module, "program"), "find a fused program");
  if (source.find(" add_columns(") != std::string::npos) {
    check(functions_->cuModuleGetFunction(&kernels.add_columns, module, "add_columns"), "find a fused program");
  }
  return kernels_[key] = kernels;
}

// What the driver loads: machine code, or PTX if NVRTC is older than the GPU.
std::string CudaDriver::image_of(const std::string& source, int device) {
  const auto& nvrtc = *functions_;
  void* made = nullptr;
  check_compiler(nvrtc.nvrtcCreateProgram(&made, source.c_str(), "program.cu", 0, nullptr, nullptr), "start");
  const std::shared_ptr<void> program(made, [&nvrtc](void* handle) { nvrtc.nvrtcDestroyProgram(&handle); });
  bool is_binary = false;
  const auto architecture = option_for(device, is_binary);
  // Each operator rounds, as on a CPU: products and sums are not contracted.
  const char* options[] = {architecture.c_str(), "--std=c++17", "--fmad=false"};
  size_t bytes = 0;
  if (const int status = nvrtc.nvrtcCompileProgram(made, std::size(options), options); status != 0) {
    nvrtc.nvrtcGetProgramLogSize(made, &bytes);
    std::string log(bytes, '\0');
    if (bytes > 0) nvrtc.nvrtcGetProgramLog(made, log.data());
    log.resize(std::min(log.size(), log.find('\0')));
    fail(std::string("NVRTC could not compile a fused program (") + nvrtc.nvrtcGetErrorString(status) + "): " + log);
  }
  check_compiler((is_binary ? nvrtc.nvrtcGetCUBINSize : nvrtc.nvrtcGetPTXSize)(made, &bytes), "return a program");
  std::string image(bytes, '\0');
  check_compiler((is_binary ? nvrtc.nvrtcGetCUBIN : nvrtc.nvrtcGetPTX)(made, image.data()), "return a program");
  return image;
}

std::string CudaDriver::option_for(int device, bool& is_binary) {
  int handle = 0, major = 0, minor = 0, count = 0;
  check(functions_->cuDeviceGet(&handle, device), "find the GPU");
  check(functions_->cuDeviceGetAttribute(&major, kMajor, handle), "describe the GPU");
  check(functions_->cuDeviceGetAttribute(&minor, kMinor, handle), "describe the GPU");
  check_compiler(functions_->nvrtcGetNumSupportedArchs(&count), "list its architectures");
  std::vector<int> known(static_cast<size_t>(count));
  check_compiler(functions_->nvrtcGetSupportedArchs(known.data()), "list its architectures");
  const int own = 10 * major + minor;
  is_binary = std::find(known.begin(), known.end(), own) != known.end();
  if (is_binary) return "--gpu-architecture=sm_" + std::to_string(own);
  int best = 0;
  for (const int architecture : known) best = architecture < own ? std::max(best, architecture) : best;
  return "--gpu-architecture=compute_" + std::to_string(best);
}

// libtorch uses the primary context of a device, and makes it current at the first use.
void CudaDriver::use_context(int device) {
  void* context = nullptr;
  check(functions_->cuCtxGetCurrent(&context), "find its context");
  if (context) return;
  int handle = 0;
  check(functions_->cuDeviceGet(&handle, device), "find the GPU");
  check(functions_->cuDevicePrimaryCtxRetain(&context, handle), "create its context");
  check(functions_->cuCtxSetCurrent(context), "use its context");
}

void CudaDriver::launch(const CudaLaunch& launch) {
  std::vector<void*> parameters;
  parameters.reserve(launch.parameters.size());
  for (const auto& parameter : launch.parameters) parameters.push_back(const_cast<uint64_t*>(&parameter));
  check(functions_->cuLaunchKernel(launch.function, static_cast<unsigned>(launch.blocks), 1, 1,
                                   static_cast<unsigned>(launch.threads_x), static_cast<unsigned>(launch.threads_y), 1, 0,
                                   launch.stream, parameters.data(), nullptr),
        "run a fused program");
}

void CudaDriver::check_compiler(int status, const char* what) const {
  if (status != 0) fail(std::string("NVRTC could not ") + what + ": " + functions_->nvrtcGetErrorString(status) + ".");
}

void CudaDriver::check(int status, const char* what) const {
  if (status == 0) return;
  const char* text = nullptr;
  functions_->cuGetErrorString(status, &text);
  throw Error(code_of_device_error(status, kOperatorFailed),
              std::string("The CUDA driver could not ") + what + ": " + (text ? text : std::to_string(status)) + ".");
}

}  // namespace acc::fused
