#include "engine/tensors/tensors.h"

#include <cstring>

#include "binding/async.h"
#include "binding/convert.h"
#include "binding/lent_arrays.h"
#include "engine/files/checksum.h"
#include "engine/files/mapped_file.h"

namespace acc {
namespace {

// A replay does not run JavaScript, so nothing could use what is read from a tensor.
void refuse_recording(Context& context, const char* reason) {
  if (auto* recorder = context.operators.recorder) recorder->refuse(reason);
}

std::vector<int64_t> shape_at(const Napi::CallbackInfo& info, size_t index) {
  if (!info[index].IsArray()) throw Error(kInvalidArgument, "A shape is not an array. Expected an array of numbers.");
  const auto array = info[index].As<Napi::Array>();
  std::vector<int64_t> shape(array.Length());
  for (uint32_t i = 0; i < array.Length(); ++i) shape[i] = array.Get(i).ToNumber().Int64Value();
  return shape;
}

// createTensor(array, dtype, shape, isOnHost): the number of a tensor with a copy of the elements
Napi::Value create(const Napi::CallbackInfo& info, Context& context) {
  const auto bytes = bytes_at(info, 0);
  const auto dtype = scalar_type_from(static_cast<int>(number_at(info, 1)));
  const auto shape = shape_at(info, 2);
  const auto device = bool_at(info, 3) ? c10::Device(c10::kCPU) : context.operators.default_device;
  const auto tensor = tensor_from_bytes(bytes.data, bytes.size, dtype, shape, device);
  const double id = context.tensors.add(tensor);
  if (auto* recorder = context.operators.recorder) recorder->upload(id, tensor, bytes.data, bytes.size);
  return Napi::Number::New(info.Env(), id);
}

// tensorOver(array, dtype, shape): the number of a tensor in the memory of a typed array; 0 if new
// tensors are not in host memory, or the array is empty
Napi::Value over(const Napi::CallbackInfo& info, Context& context) {
  const auto bytes = bytes_at(info, 0);
  if (bytes.size == 0 || !context.operators.default_device.is_cpu()) return Napi::Number::New(info.Env(), 0);
  refuse_recording(context, "it lends the memory of an array");
  const auto dtype = scalar_type_from(static_cast<int>(number_at(info, 1)));
  const auto tensor = context.lent_arrays->tensor_over(info[0], bytes, dtype, shape_at(info, 2));
  return Napi::Number::New(info.Env(), context.tensors.add(tensor));
}

Napi::ArrayBuffer bytes_of(Napi::Env env, const at::Tensor& tensor) {
  auto buffer = Napi::ArrayBuffer::New(env, tensor.nbytes());
  if (tensor.nbytes() > 0) std::memcpy(buffer.Data(), tensor.const_data_ptr(), tensor.nbytes());
  return buffer;
}

Napi::Value alias(const Napi::CallbackInfo& info, Context& context) {
  const double id = number_at(info, 0);
  // Copies the reference, because add() may move the table's entries.
  const at::Tensor tensor = context.tensors.get(id);
  const double made = context.tensors.add(tensor);
  if (auto* recorder = context.operators.recorder) recorder->alias(made, id, tensor);
  return Napi::Number::New(info.Env(), made);
}

// memoryPart(tensor, start, length): the number of a tensor in the same memory.
Napi::Value part(const Napi::CallbackInfo& info, Context& context) {
  refuse_recording(context, "it takes a part of the memory of a tensor");
  const at::Tensor tensor = context.tensors.get(number_at(info, 0));
  const auto made = memory_part(tensor, static_cast<int64_t>(number_at(info, 1)), static_cast<int64_t>(number_at(info, 2)));
  return Napi::Number::New(info.Env(), context.tensors.add(made));
}

Napi::Value read(const Napi::CallbackInfo& info, Context& context) {
  refuse_recording(context, "it reads values back");
  const auto dtype = scalar_type_from(static_cast<int>(number_at(info, 1)));
  const auto tensor = tensor_for_reading(context.tensors.get(number_at(info, 0)), dtype);
  return bytes_of(info.Env(), tensor);
}

// readTensorAsync(tensor, dtype): Promise<ArrayBuffer>. Another thread waits for the device.
Napi::Value read_async(const Napi::CallbackInfo& info, Context& context) {
  refuse_recording(context, "it reads values back");
  const auto dtype = scalar_type_from(static_cast<int>(number_at(info, 1)));
  const auto tensor = std::make_shared<at::Tensor>(context.tensors.get(number_at(info, 0)));
  return AsyncCall::start(
      info.Env(), [tensor, dtype] { *tensor = tensor_for_reading(*tensor, dtype); },
      [tensor](Napi::Env env) { return bytes_of(env, *tensor); });
}

// tensorMemory(tensor): an ArrayBuffer over the tensor's elements. It does not keep the memory
// alive: JavaScript must hold the tensor until it has detached the buffer.
Napi::Value memory(const Napi::CallbackInfo& info, Context& context) {
  refuse_recording(context, "it looks at memory");
  const at::Tensor& tensor = context.tensors.get(number_at(info, 0));
  void* data = row_major_memory(tensor);
  if (tensor.nbytes() == 0) return Napi::ArrayBuffer::New(info.Env(), 0);
  return Napi::ArrayBuffer::New(info.Env(), data, tensor.nbytes());
}

// mapTensor(path, start, dtype, shape): the tensor's number; undefined if the file cannot be mapped
Napi::Value map(const Napi::CallbackInfo& info, Context& context) {
  refuse_recording(context, "it maps a file");
  const auto start = static_cast<size_t>(number_at(info, 1));
  const auto dtype = scalar_type_from(static_cast<int>(number_at(info, 2)));
  const auto tensor = map_tensor(string_at(info, 0), start, dtype, shape_at(info, 3));
  if (!tensor) return info.Env().Undefined();
  return Napi::Number::New(info.Env(), context.tensors.add(*tensor));
}

// mappedChecksum(tensor, start, length): Promise<number | undefined>. Another thread computes it.
Napi::Value mapped_checksum(const Napi::CallbackInfo& info, Context& context) {
  const at::Tensor tensor = context.tensors.get(number_at(info, 0));
  const auto start = static_cast<size_t>(number_at(info, 1));
  const auto size = static_cast<size_t>(number_at(info, 2));
  if (start > tensor.nbytes() || size > tensor.nbytes() - start) {
    throw Error(kInvalidArgument, "A checksum was requested of bytes " + std::to_string(start) + " to " +
                                      std::to_string(start + size) + " of a tensor that has " +
                                      std::to_string(tensor.nbytes()) + " bytes.");
  }
  const auto result = std::make_shared<std::optional<uint32_t>>();
  return AsyncCall::start(
      info.Env(),
      [tensor, start, size, result] {
        const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr()) + start;
        if (load_pages(data, size)) *result = checksum(data, size);
      },
      [result](Napi::Env env) -> Napi::Value {
        return *result ? Napi::Number::New(env, **result) : env.Undefined();
      });
}

// Takes all tensors in one call, because an optimizer asks before each step.
Napi::Value flags(const Napi::CallbackInfo& info, Context& context) {
  refuse_recording(context, "it asks who else holds the memory of a tensor, as an optimizer does that was not prepared");
  const auto ids = info[0].As<Napi::Float64Array>();
  auto result = Napi::Uint8Array::New(info.Env(), ids.ElementLength());
  for (size_t i = 0; i < ids.ElementLength(); ++i) result[i] = memory_flags(context.tensors.get(ids[i]));
  return result;
}

}  // namespace

void bind_tensors(Napi::Env env, Napi::Object exports, Context& context) {
  context.lent_arrays = std::make_shared<LentArrays>();
  bind(env, exports, "createTensor", [&](const Napi::CallbackInfo& info) { return create(info, context); });
  bind(env, exports, "tensorOver", [&](const Napi::CallbackInfo& info) { return over(info, context); });
  bind(env, exports, "mapTensor", [&](const Napi::CallbackInfo& info) { return map(info, context); });
  bind(env, exports, "mappedChecksum",
       [&](const Napi::CallbackInfo& info) { return mapped_checksum(info, context); });
  bind(env, exports, "readTensor", [&](const Napi::CallbackInfo& info) { return read(info, context); });
  bind(env, exports, "readTensorAsync", [&](const Napi::CallbackInfo& info) { return read_async(info, context); });
  // Makes a second handle of a tensor. Releasing one handle leaves the other valid.
  bind(env, exports, "aliasTensor", [&](const Napi::CallbackInfo& info) { return alias(info, context); });
  bind(env, exports, "memoryPart", [&](const Napi::CallbackInfo& info) { return part(info, context); });
  bind(env, exports, "tensorBytes", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(context.tensors.get(number_at(info, 0)).nbytes()));
  });
  bind(env, exports, "tensorMemory", [&](const Napi::CallbackInfo& info) { return memory(info, context); });
  bind(env, exports, "detachMemory", [](const Napi::CallbackInfo& info) -> Napi::Value {
    info[0].As<Napi::ArrayBuffer>().Detach();
    return info.Env().Undefined();
  });
  bind(env, exports, "tensorFlags", [&](const Napi::CallbackInfo& info) { return flags(info, context); });
  bind(env, exports, "tensorsAlive", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto ids = info[0].As<Napi::Float64Array>();
    bool are_alive = true;
    for (size_t i = 0; i < ids.ElementLength(); ++i) are_alive = are_alive && context.tensors.has(ids[i]);
    return Napi::Boolean::New(info.Env(), are_alive);
  });
  bind(env, exports, "liveTensors", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(context.tensors.size()));
  });
}

}  // namespace acc
