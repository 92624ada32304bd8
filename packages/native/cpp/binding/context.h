#pragma once

#include <napi.h>

#include <memory>
#include <unordered_map>

#include "engine/call/operator_table.h"
#include "engine/call/string_table.h"
#include "engine/files/tensor_file.h"
#include "engine/recording/recorder.h"
#include "engine/tensors/tensor_table.h"

namespace acc {

// Maps numbers to objects. JavaScript holds the numbers.
template <typename T>
class HandleMap {
 public:
  double add(T value) {
    const double id = ++last_;
    values_.emplace(id, std::move(value));
    return id;
  }
  T& get(double id, const char* what) {
    const auto found = values_.find(id);
    if (found == values_.end()) {
      throw Error(kInvalidArgument,
                  std::string("There is no ") + what + " with this number. It may be closed already.");
    }
    return found->second;
  }
  void remove(double id) { values_.erase(id); }
  void clear() { values_.clear(); }

 private:
  std::unordered_map<double, T> values_;
  double last_ = 0;
};

class LentArrays;

// The state of one Node environment.
struct Context {
  // Declared before the tensors, which are destroyed first and give their arrays back.
  std::shared_ptr<LentArrays> lent_arrays;
  TensorTable tensors;
  StringTable strings;
  OperatorTable operators{tensors, strings};
  // The recorder of the step that is being recorded. It also exists while the recording pauses.
  std::shared_ptr<Recorder> recorder;
  HandleMap<std::shared_ptr<Recording>> recordings;
  HandleMap<std::shared_ptr<TensorFile>> files;
  HandleMap<std::shared_ptr<FileTransfer>> transfers;
  // Stores, groups and works. Only binding/distributed.cpp includes their types, because their
  // headers take long to compile.
  std::shared_ptr<void> distributed;
  // The call buffers. They are ArrayBuffers that JavaScript created and keeps alive.
  const double* call_in = nullptr;
  double* call_out = nullptr;
  size_t call_out_capacity = 0;
};

// Each function adds its part of the API to `exports`.
void bind_tensors(Napi::Env env, Napi::Object exports, Context& context);
void bind_operators(Napi::Env env, Napi::Object exports, Context& context);
void bind_recording(Napi::Env env, Napi::Object exports, Context& context);
void bind_memory(Napi::Env env, Napi::Object exports, Context& context);
void bind_tensor_file(Napi::Env env, Napi::Object exports, Context& context);
void bind_distributed(Napi::Env env, Napi::Object exports, Context& context);

}  // namespace acc
