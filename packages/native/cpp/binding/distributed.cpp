#include "binding/async.h"
#include "engine/process_group.h"
#include "engine/store.h"

namespace acc {
namespace {

using std::chrono::milliseconds;

struct Distributed {
  HandleMap<c10::intrusive_ptr<c10d::Store>> stores;
  HandleMap<c10::intrusive_ptr<c10d::Backend>> groups;
  HandleMap<c10::intrusive_ptr<c10d::Work>> works;
};

milliseconds milliseconds_at(const Napi::CallbackInfo& info, size_t index) {
  return milliseconds(static_cast<int64_t>(number_at(info, index)));
}

// connectStore(host, port, isServer, worldSize, timeoutMs): Promise<store>
Napi::Value connect(const Napi::CallbackInfo& info, Distributed& held) {
  StoreOptions options;
  options.host = string_at(info, 0);
  options.port = static_cast<uint16_t>(number_at(info, 1));
  options.is_server = bool_at(info, 2);
  options.world_size = static_cast<int>(number_at(info, 3));
  options.timeout = milliseconds_at(info, 4);
  auto store = std::make_shared<c10::intrusive_ptr<c10d::Store>>();
  return AsyncCall::start(
      info.Env(), [store, options] { *store = connect_store(options); },
      [store, &held](Napi::Env env) { return Napi::Number::New(env, held.stores.add(*store)); });
}

// storeSet(store, key, bytes)
Napi::Value store_set(const Napi::CallbackInfo& info, Distributed& held) {
  const auto bytes = bytes_at(info, 2);
  const std::vector<uint8_t> value(bytes.data, bytes.data + bytes.size);
  held.stores.get(number_at(info, 0), "store")->set(string_at(info, 1), value);
  return info.Env().Undefined();
}

// storeGet(store, key, timeoutMs): Promise<ArrayBuffer>; waits for the key
Napi::Value store_get(const Napi::CallbackInfo& info, Distributed& held) {
  const auto store = held.stores.get(number_at(info, 0), "store");
  const auto key = string_at(info, 1);
  const auto timeout = milliseconds_at(info, 2);
  auto value = std::make_shared<std::vector<uint8_t>>();
  return AsyncCall::start(
      info.Env(),
      [store, key, timeout, value] {
        try {
          store->wait({key}, timeout);
          *value = store->get(key);
        } catch (const std::exception& error) {
          throw Error(kRendezvousFailed, "key '" + key + "' did not come within " + std::to_string(timeout.count()) +
                                             " ms: " + error.what());
        }
      },
      [value](Napi::Env env) {
        auto buffer = Napi::ArrayBuffer::New(env, value->size());
        std::copy(value->begin(), value->end(), static_cast<uint8_t*>(buffer.Data()));
        return buffer;
      });
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// storeFind(store, key): string | undefined; does not wait for the key
Napi::Value store_find(const Napi::CallbackInfo& info, Distributed& held) {
  const auto& store = held.stores.get(number_at(info, 0), "store");
  const auto key = string_at(info, 1);
  if (!store->check({key})) return info.Env().Undefined();
  return Napi::String::New(info.Env(), text_of(store->get(key)));
}

// storeAgree(store, key, value): string; the value that the key had, or this one where it had none
Napi::Value store_agree(const Napi::CallbackInfo& info, Distributed& held) {
  const auto& store = held.stores.get(number_at(info, 0), "store");
  const auto value = string_at(info, 2);
  const std::vector<uint8_t> wanted(value.begin(), value.end());
  return Napi::String::New(info.Env(), text_of(store->compareSet(string_at(info, 1), {}, wanted)));
}

// createGlooGroup(store, name, rank, size, address, byInterface, timeoutMs): Promise<group>
Napi::Value create_group(const Napi::CallbackInfo& info, Distributed& held) {
  const auto store = held.stores.get(number_at(info, 0), "store");
  GroupOptions options;
  options.name = string_at(info, 1);
  options.rank = static_cast<int>(number_at(info, 2));
  options.size = static_cast<int>(number_at(info, 3));
  options.address = string_at(info, 4);
  options.by_interface = bool_at(info, 5);
  options.timeout = milliseconds_at(info, 6);
  auto group = std::make_shared<c10::intrusive_ptr<c10d::Backend>>();
  return AsyncCall::start(
      info.Env(), [group, store, options] { *group = create_gloo_group(store, options); },
      [group, &held](Napi::Env env) { return Napi::Number::New(env, held.groups.add(*group)); });
}

// startCollective(group, kind, input, output, reduceOp, root): work
Napi::Value start(const Napi::CallbackInfo& info, Distributed& held, const TensorTable& tensors) {
  CollectiveCall call;
  call.kind = static_cast<CollectiveKind>(static_cast<int>(number_at(info, 1)));
  call.input = tensors.get(number_at(info, 2));
  if (const double output = number_at(info, 3); output != 0) call.output = tensors.get(output);
  call.reduce_op = static_cast<int>(number_at(info, 4));
  call.root = static_cast<int>(number_at(info, 5));
  auto& group = *held.groups.get(number_at(info, 0), "process group");
  return Napi::Number::New(info.Env(), held.works.add(start_collective(group, call)));
}

// waitWork(work, timeoutMs): blocks; the number is free afterwards, also when it throws
Napi::Value wait(const Napi::CallbackInfo& info, Distributed& held) {
  const double id = number_at(info, 0);
  const auto work = held.works.get(id, "work");
  held.works.remove(id);
  wait_for(*work, milliseconds_at(info, 1));
  return info.Env().Undefined();
}

}  // namespace

void bind_distributed(Napi::Env env, Napi::Object exports, Context& context) {
  const auto shared = std::make_shared<Distributed>();
  context.distributed = shared;
  auto& held = *shared;
  const auto add = [&](const char* name, Napi::Value (*body)(const Napi::CallbackInfo&, Distributed&)) {
    bind(env, exports, name, [body, &held](const Napi::CallbackInfo& info) { return body(info, held); });
  };
  add("connectStore", connect);
  add("storeSet", store_set);
  add("storeGet", store_get);
  add("storeFind", store_find);
  add("storeAgree", store_agree);
  add("createGlooGroup", create_group);
  add("waitWork", wait);
  bind(env, exports, "startCollective",
       [&](const Napi::CallbackInfo& info) { return start(info, held, context.tensors); });
  bind(env, exports, "isWorkDone", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Boolean::New(info.Env(), held.works.get(number_at(info, 0), "work")->isCompleted());
  });
  bind(env, exports, "closeGroup", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    held.groups.remove(number_at(info, 0));
    return info.Env().Undefined();
  });
  bind(env, exports, "closeStore", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    held.stores.remove(number_at(info, 0));
    return info.Env().Undefined();
  });
}

}  // namespace acc
