#include "engine/files/tensor_file.h"

#include "binding/convert.h"
#include "engine/tensors/tensors.h"

namespace acc {
namespace {

std::vector<at::Tensor> tensors_at(const Napi::CallbackInfo& info, size_t index, const Context& context) {
  const auto ids = info[index].As<Napi::Float64Array>();
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < ids.ElementLength(); ++i) {
    tensors.push_back(context.tensors.get(ids[i]));
    row_major_memory(tensors.back());
  }
  return tensors;
}

std::vector<uint64_t> offsets_at(const Napi::CallbackInfo& info, size_t index, size_t count) {
  const auto given = info[index].As<Napi::Float64Array>();
  if (given.ElementLength() != count) {
    throw Error(kInvalidArgument, std::to_string(given.ElementLength()) + " places in a file were given for " +
                                      std::to_string(count) + " tensors. Expected one for each.");
  }
  std::vector<uint64_t> offsets;
  for (size_t i = 0; i < count; ++i) {
    offsets.push_back(static_cast<uint64_t>(given[i]));
    if (offsets.back() % TensorFile::kAlignment != 0) {
      throw Error(kInvalidArgument,
                  "A place in a file is not a multiple of " + std::to_string(TensorFile::kAlignment) + " bytes.");
    }
  }
  return offsets;
}

}  // namespace

void bind_tensor_file(Napi::Env env, Napi::Object exports, Context& context) {
  bind(env, exports, "openTensorFile", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto folder = string_at(info, 0);
    remove_abandoned(folder);
    return Napi::Number::New(info.Env(), context.files.add(std::make_shared<TensorFile>(folder, string_at(info, 1))));
  });
  bind(env, exports, "tensorFilePath", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), context.files.get(number_at(info, 0), "file")->path());
  });
  // startTransfer(file, isWrite, tensors, offsets): the transfer's number
  bind(env, exports, "startTransfer", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    auto& file = context.files.get(number_at(info, 0), "file");
    auto tensors = tensors_at(info, 2, context);
    auto offsets = offsets_at(info, 3, tensors.size());
    return Napi::Number::New(
        info.Env(), context.transfers.add(file->start(bool_at(info, 1), std::move(tensors), std::move(offsets))));
  });
  // Its number is then unknown.
  bind(env, exports, "waitTransfer", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const double id = number_at(info, 0);
    const auto transfer = context.transfers.get(id, "transfer");
    context.transfers.remove(id);
    transfer->wait();
    return info.Env().Undefined();
  });
  bind(env, exports, "closeTensorFile", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    context.files.remove(number_at(info, 0));
    return info.Env().Undefined();
  });
}

}  // namespace acc
