// Loads libtorch's libraries by absolute path, before the addon that needs them. So one addon
// binary finds libtorch in any folder, and a failure carries the dynamic linker's own message.

#include <dlfcn.h>
#include <node_api.h>

#include <string>

namespace {

std::string text_of(napi_env env, napi_value value) {
  size_t length = 0;
  napi_get_value_string_utf8(env, value, nullptr, 0, &length);
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, value, text.data(), length + 1, &length);
  return text;
}

napi_value open(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value paths = nullptr;
  uint32_t length = 0;
  if (napi_get_cb_info(env, info, &count, &paths, nullptr, nullptr) != napi_ok || count < 1 ||
      napi_get_array_length(env, paths, &length) != napi_ok) {
    napi_throw_type_error(env, nullptr, "open(paths: string[])");
    return nullptr;
  }
  for (uint32_t i = 0; i < length; ++i) {
    napi_value item;
    napi_get_element(env, paths, i, &item);
    // Never closed, because libtorch's threads and static data live as long as the process.
    if (dlopen(text_of(env, item).c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      napi_throw_error(env, nullptr, dlerror());
      return nullptr;
    }
  }
  return nullptr;
}

}  // namespace

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "open", NAPI_AUTO_LENGTH, open, nullptr, &function);
  napi_set_named_property(env, exports, "open", function);
  return exports;
}
