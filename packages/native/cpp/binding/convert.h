#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "binding/context.h"
#include "engine/error.h"

namespace acc {

inline Napi::Error to_js_error(Napi::Env env, const ErrorInfo& info) {
  auto error = Napi::Error::New(env, info.message);
  error.Set("code", Napi::String::New(env, info.code));
  return error;
}

inline std::string not_a(size_t index, const char* expected) {
  return "Argument " + std::to_string(index) + " of a call to the addon is not " + expected + ".";
}

inline double number_at(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsNumber()) throw Error(kInvalidArgument, not_a(index, "a number"));
  return info[index].As<Napi::Number>().DoubleValue();
}

inline std::string string_at(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsString()) throw Error(kInvalidArgument, not_a(index, "a string"));
  return info[index].As<Napi::String>().Utf8Value();
}

inline bool bool_at(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsBoolean()) throw Error(kInvalidArgument, not_a(index, "a boolean"));
  return info[index].As<Napi::Boolean>().Value();
}

inline std::vector<std::string> strings_at(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsArray()) throw Error(kInvalidArgument, not_a(index, "an array"));
  const auto array = info[index].As<Napi::Array>();
  std::vector<std::string> values(array.Length());
  for (uint32_t i = 0; i < array.Length(); ++i) values[i] = array.Get(i).ToString().Utf8Value();
  return values;
}

struct Bytes {
  const uint8_t* data;
  size_t size;
};

inline std::vector<double> numbers_at(const Napi::CallbackInfo& info, size_t index) {
  const auto array = info[index].As<Napi::Float64Array>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

inline Bytes bytes_at(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsTypedArray()) {
    throw Error(kInvalidArgument, not_a(index, "a typed array"));
  }
  const auto array = info[index].As<Napi::TypedArray>();
  const auto* data = static_cast<const uint8_t*>(array.ArrayBuffer().Data()) + array.ByteOffset();
  return {data, array.ByteLength()};
}

// Adds a function to `exports`. Its C++ exceptions become JavaScript errors with a code.
template <typename Body>
void bind(Napi::Env env, Napi::Object exports, const char* name, Body body, const char* fallback = kNativeFailed) {
  exports.Set(name, Napi::Function::New(
                        env,
                        [body, fallback](const Napi::CallbackInfo& info) -> Napi::Value {
                          try {
                            return body(info);
                          } catch (const Napi::Error&) {
                            throw;
                          } catch (...) {
                            throw to_js_error(info.Env(), describe_current_exception(fallback));
                          }
                        },
                        name));
}

}  // namespace acc
