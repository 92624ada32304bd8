#include "binding/convert.h"

namespace acc {
namespace {

// The hot path uses plain Node-API: one number is passed, and the call buffers hold the rest.
double number_argument(napi_env env, napi_callback_info info, Context*& context) {
  size_t count = 1;
  napi_value argument = nullptr;
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, &argument, nullptr, &data);
  context = static_cast<Context*>(data);
  double value = -1;
  napi_get_value_double(env, argument, &value);
  return value;
}

void throw_info(napi_env env, const ErrorInfo& info) { to_js_error(env, info).ThrowAsJavaScriptException(); }

// No C++ exception may leave a callback of plain Node-API: it would end the process.
template <typename Body>
napi_value guarded(napi_env env, Body body) {
  try {
    body();
  } catch (...) {
    throw_info(env, describe_current_exception(kNativeFailed));
  }
  return nullptr;
}

napi_value call(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Context* context = nullptr;
    const int index = static_cast<int>(number_argument(env, info, context));
    try {
      context->operators.call(index, context->call_in, context->call_out, context->call_out_capacity);
    } catch (...) {
      auto error = describe_current_exception(kOperatorFailed);
      if (error.code == kOperatorFailed || error.code == kOutOfMemory) {
        error.message = context->operators.describe_call(index, context->call_in) + ": " + error.message;
      }
      throw_info(env, error);
    }
  });
}

napi_value release(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Context* context = nullptr;
    const double id = number_argument(env, info, context);
    context->tensors.release(id);
  });
}

void bind_plain(napi_env env, Napi::Object exports, const char* name, napi_callback callback, Context& context) {
  napi_value function;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, &context, &function);
  exports.Set(name, Napi::Value(env, function));
}

Napi::Value resolve(const Napi::CallbackInfo& info, Context& context) {
  const int index = context.operators.resolve(string_at(info, 0));
  const auto& op = context.operators.at(index);
  auto kinds = Napi::Array::New(info.Env(), op.args.size());
  auto names = Napi::Array::New(info.Env(), op.args.size());
  for (uint32_t i = 0; i < op.args.size(); ++i) {
    kinds.Set(i, Napi::Number::New(info.Env(), static_cast<int>(op.args[i].kind)));
    names.Set(i, Napi::String::New(info.Env(), op.args[i].name));
  }
  auto result = Napi::Object::New(info.Env());
  result.Set("index", Napi::Number::New(info.Env(), index));
  result.Set("kinds", kinds);
  result.Set("names", names);
  return result;
}

Napi::Value set_buffers(const Napi::CallbackInfo& info, Context& context) {
  auto in = info[0].As<Napi::Float64Array>();
  auto out = info[1].As<Napi::Float64Array>();
  context.call_in = in.Data();
  context.call_out = out.Data();
  context.call_out_capacity = out.ElementLength();
  return info.Env().Undefined();
}

}  // namespace

void bind_operators(Napi::Env env, Napi::Object exports, Context& context) {
  bind_plain(env, exports, "call", call, context);
  bind_plain(env, exports, "releaseTensor", release, context);
  bind(env, exports, "resolveOperator", [&](const Napi::CallbackInfo& info) { return resolve(info, context); });
  bind(env, exports, "setCallBuffers", [&](const Napi::CallbackInfo& info) { return set_buffers(info, context); });
  bind(env, exports, "internString", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), context.strings.intern(string_at(info, 0)));
  });
}

}  // namespace acc
