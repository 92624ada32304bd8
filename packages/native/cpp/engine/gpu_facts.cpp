#include "engine/gpu_facts.h"

#include <dlfcn.h>

#include <array>

namespace acc {
namespace {

// The attributes of cuDeviceGetAttribute in cuda.h.
constexpr int kMajor = 75, kMinor = 76;
constexpr int kSuccess = 0;

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// As nvidia-smi writes it, without the prefix.
std::string text_of(const std::array<unsigned char, 16>& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += {digits[bytes[i] >> 4], digits[bytes[i] & 15]};
  }
  return text;
}

}  // namespace

std::optional<GpuFacts> gpu_facts(int index, const std::string& driver) {
  // It is never closed, because libtorch uses the same library.
  void* library = dlopen(driver.c_str(), RTLD_NOW | RTLD_LOCAL);
  int (*init)(unsigned flags) = nullptr;
  int (*get)(int* device, int index) = nullptr;
  int (*get_name)(char* name, int length, int device) = nullptr;
  int (*get_uuid)(unsigned char* uuid, int device) = nullptr;
  int (*get_attribute)(int* value, int attribute, int device) = nullptr;
  const bool is_there = library && find(library, "cuInit", init) && find(library, "cuDeviceGet", get) &&
                        find(library, "cuDeviceGetName", get_name) && find(library, "cuDeviceGetUuid_v2", get_uuid) &&
                        find(library, "cuDeviceGetAttribute", get_attribute);
  int device = 0;
  if (!is_there || init(0) != kSuccess || get(&device, index) != kSuccess) return std::nullopt;
  std::array<char, 256> name{};
  std::array<unsigned char, 16> uuid{};
  GpuFacts facts;
  const bool is_known = get_name(name.data(), static_cast<int>(name.size()) - 1, device) == kSuccess &&
                        get_uuid(uuid.data(), device) == kSuccess &&
                        get_attribute(&facts.major, kMajor, device) == kSuccess &&
                        get_attribute(&facts.minor, kMinor, device) == kSuccess;
  if (!is_known) return std::nullopt;
  facts.name = name.data();
  facts.uuid = text_of(uuid);
  return facts;
}

}  // namespace acc
