#include <torch/version.h>

#include "binding/context.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  auto* context = new acc::Context();
  // Groups and tensors are destroyed before libtorch's static data.
  env.AddCleanupHook([context] { delete context; });
  acc::bind_tensors(env, exports, *context);
  acc::bind_operators(env, exports, *context);
  acc::bind_recording(env, exports, *context);
  acc::bind_memory(env, exports, *context);
  acc::bind_tensor_file(env, exports, *context);
  acc::bind_distributed(env, exports, *context);
  exports.Set("torchVersion", Napi::String::New(env, TORCH_VERSION));
  return exports;
}

}  // namespace

NODE_API_MODULE(acc_native, init)
