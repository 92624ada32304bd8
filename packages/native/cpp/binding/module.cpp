#include <torch/version.h>

#include <memory>

#include "binding/context.h"
#include "binding/lent_arrays.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  auto* context = new acc::Context();
  // Groups and tensors are destroyed before libtorch's static data.
  env.AddCleanupHook([context] {
    const auto lent_arrays = context->lent_arrays;
    std::unique_ptr<acc::Context>(context).reset();
    lent_arrays->close();
  });
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
