// The functions of the CUDA driver that fused programs need, for a GPU of architecture ACC_MAJOR.0 that
// loads programs and runs none. Linked with NVRTC, it resembles libtorch's libcaffe2_nvrtc.so.

#include <cstring>
#include <string>

namespace {
std::string loaded = "nothing";
int symbol;
}

extern "C" {

int nvrtcVersion(int*, int*);
// Keeps NVRTC among the libraries that this one needs.
int (*needed)(int*, int*) = nvrtcVersion;

int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? ACC_MAJOR : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &symbol;
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return 0;
}
int cuCtxSetCurrent(void* context) { return context == &symbol ? 0 : 201; }
int cuModuleLoadData(void** module, const void* image) {
  const auto* text = static_cast<const char*>(image);
  loaded = std::memcmp(text, "\x7f" "ELF", 4) == 0 ? "machine code" : std::strstr(text, ".target sm_") ? "PTX" : "an unknown image";
  *module = &symbol;
  return 0;
}
int cuModuleGetFunction(void** function, void*, const char*) {
  *function = &symbol;
  return 0;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) { return 801; }
int cuGetErrorString(int, const char** text) {
  static std::string all;
  all = loaded + " was loaded";
  *text = all.c_str();
  return 0;
}
}
