#include <algorithm>

#include "binding/async.h"
#include "engine/groups/gloo/group.h"
#include "engine/groups/hierarchical_group.h"
#include "engine/groups/mpi/group.h"
#include "engine/groups/nccl/group.h"
#include "engine/groups/shm/group.h"
#include "engine/groups/store.h"
#include "engine/groups/watch/watched_group.h"

namespace acc {
namespace {

using std::chrono::milliseconds;

struct Distributed {
  HandleMap<std::shared_ptr<JobStore>> stores;
  HandleMap<std::shared_ptr<WatchedGroup>> groups;
  HandleMap<std::shared_ptr<Pending>> works;
  // The buffer with the arguments of startCollective. It is an ArrayBuffer that JavaScript created
  // and keeps alive.
  double* call = nullptr;
};

// The indices of the arguments in the buffer. src/process-group.ts uses the same numbers.
enum CallSlot { kGroup, kKind, kInput, kOutput, kOp, kRoot, kBlocking, kMost, kCounts, kWords };
// In place of an output's number: startCollective makes an output like the input and writes its
// number there.
constexpr double kNewOutput = -1;
constexpr int kCountsStart = kWords + kCallWords;

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
  auto store = std::make_shared<std::shared_ptr<JobStore>>();
  return AsyncCall::start(
      info.Env(), [store, options] { *store = JobStore::connect(options); },
      [store, &held](Napi::Env env) { return Napi::Number::New(env, held.stores.add(*store)); });
}

// Calls `use` with the store's keys. An exception means that rank 0, which holds the keys, does not
// answer or is gone.
template <typename Use>
auto use_keys(Distributed& held, const Napi::CallbackInfo& info, Use use) {
  const auto& keys = held.stores.get(number_at(info, 0), "store")->keys();
  try {
    return use(*keys);
  } catch (const std::exception& error) {
    throw Error(kRendezvousFailed, std::string("The store of the job, on rank 0, does not answer: ") + error.what());
  }
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// storeFind(store, key): string | undefined. Does not wait for the key.
Napi::Value store_find(const Napi::CallbackInfo& info, Distributed& held) {
  const auto key = string_at(info, 1);
  const auto found = use_keys(held, info, [&](c10d::Store& keys) -> std::optional<std::string> {
    if (!keys.check({key})) return std::nullopt;
    return text_of(keys.get(key));
  });
  return found ? Napi::String::New(info.Env(), *found) : info.Env().Undefined();
}

// storeAgree(store, key, value): string. Sets `key` to `value` if it has no value, and returns the
// value that it then has.
Napi::Value store_agree(const Napi::CallbackInfo& info, Distributed& held) {
  const auto value = string_at(info, 2);
  const std::vector<uint8_t> wanted(value.begin(), value.end());
  const auto agreed = use_keys(
      held, info, [&](c10d::Store& keys) { return text_of(keys.compareSet(string_at(info, 1), {}, wanted)); });
  return Napi::String::New(info.Env(), agreed);
}

// Numbers of milliseconds, in the order of timesOf() in src/patience.ts.
void take_times(const Napi::CallbackInfo& info, size_t index, GroupOptions& options) {
  const auto given = bytes_at(info, index);
  const auto* times = reinterpret_cast<const double*>(given.data);
  const auto time = [&](size_t place) { return milliseconds(static_cast<int64_t>(times[place])); };
  options.timeout = time(0);
  options.join_timeout = time(1);
  options.patience = {time(2), time(3), time(4), time(5)};
}

GroupOptions group_options_at(const Napi::CallbackInfo& info) {
  GroupOptions options;
  options.name = string_at(info, 1);
  options.rank = static_cast<int>(number_at(info, 2));
  options.size = static_cast<int>(number_at(info, 3));
  take_times(info, 4, options);
  const auto ranks = bytes_at(info, 5);
  const auto* first = reinterpret_cast<const int32_t*>(ranks.data);
  if (ranks.size > 0) options.names = RankNames({first, first + ranks.size / sizeof(int32_t)});
  return options;
}

// The index of the first argument that is specific to an engine.
constexpr size_t kOwn = 7;

// Creates a group. Returns its number, or a promise of it if isBlocking is false.
template <typename Create>
Napi::Value create_group(const Napi::CallbackInfo& info, Distributed& held, Create create) {
  const auto store = held.stores.get(number_at(info, 0), "store");
  const auto options = group_options_at(info);
  auto group = std::make_shared<std::shared_ptr<WatchedGroup>>();
  const auto make = [group, create, store, options] {
    auto engine = create(store->keys(), options);
    *group = std::make_shared<WatchedGroup>(std::move(engine), store->watch_line(), options);
  };
  const auto finish = [group, &held](Napi::Env env) { return Napi::Number::New(env, held.groups.add(std::move(*group))); };
  if (!bool_at(info, 6)) return AsyncCall::start(info.Env(), make, finish);
  make();
  return finish(info.Env());
}

// All functions that create a group begin with (store, name, rank, size, times, worldRanks,
// isBlocking, …).

// createGlooGroup(…, address)
Napi::Value create_gloo(const Napi::CallbackInfo& info, Distributed& held) {
  return create_group(info, held, [address = string_at(info, kOwn)](const StorePtr& store, const GroupOptions& options) {
    return create_gloo_group(store, options, address);
  });
}

// createShmGroup(…)
Napi::Value create_shm(const Napi::CallbackInfo& info, Distributed& held) {
  return create_group(info, held, create_shm_group);
}

// createHierarchicalGroup(…, address, host, hosts, localRank, localSize)
Napi::Value create_hierarchical(const Napi::CallbackInfo& info, Distributed& held) {
  const auto int_at = [&](size_t index) { return static_cast<int>(number_at(info, index)); };
  const HostLayout layout{int_at(kOwn + 1), int_at(kOwn + 2), int_at(kOwn + 3), int_at(kOwn + 4)};
  return create_group(info, held,
                      [layout, address = string_at(info, kOwn)](const StorePtr& store, const GroupOptions& options) {
                        return create_hierarchical_group(store, options, address, layout);
                      });
}

// createMpiGroup(…, library)
Napi::Value create_mpi(const Napi::CallbackInfo& info, Distributed& held) {
  return create_group(info, held, [library = string_at(info, kOwn)](const StorePtr&, const GroupOptions& options) {
    return create_mpi_group(library, options);
  });
}

// createNcclGroup(…, address, streamWaits)
Napi::Value create_nccl(const Napi::CallbackInfo& info, Distributed& held) {
  const auto waits = bool_at(info, kOwn + 1) ? DeviceWaits::kStream : DeviceWaits::kHost;
  return create_group(info, held, [address = string_at(info, kOwn), waits](const StorePtr& store, const GroupOptions& options) {
    auto control_options = options;
    control_options.name += "/control";
    return create_nccl_group(store, options, create_gloo_group(store, control_options, address), waits);
  });
}

// groupPublish(group, topic, report)
Napi::Value publish(const Napi::CallbackInfo& info, Distributed& held) {
  held.groups.get(number_at(info, 0), "process group")->watch().publish(string_at(info, 1), string_at(info, 2));
  return info.Env().Undefined();
}

// groupNote(group, number, call)
Napi::Value note(const Napi::CallbackInfo& info, Distributed& held) {
  auto& group = *held.groups.get(number_at(info, 0), "process group");
  group.watch().note(static_cast<int32_t>(number_at(info, 1)), string_at(info, 2));
  return info.Env().Undefined();
}

// groupAccounts(group, topic): [isReport, text, …], two entries per rank
Napi::Value accounts(const Napi::CallbackInfo& info, Distributed& held) {
  const auto all = held.groups.get(number_at(info, 0), "process group")->watch().accounts(string_at(info, 1));
  auto list = Napi::Array::New(info.Env(), 2 * all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    list.Set(static_cast<uint32_t>(2 * i), Napi::Boolean::New(info.Env(), all[i].is_report));
    list.Set(static_cast<uint32_t>(2 * i + 1), Napi::String::New(info.Env(), all[i].text));
  }
  return list;
}

// setCollectiveBuffer(Float64Array)
Napi::Value set_buffer(const Napi::CallbackInfo& info, Distributed& held) {
  held.call = reinterpret_cast<double*>(const_cast<uint8_t*>(bytes_at(info, 0).data));
  return info.Env().Undefined();
}

// startCollective(): the number of the work, or 0 if the call was blocking and has ended. Its
// arguments are in the buffer.
Napi::Value start(const Napi::CallbackInfo& info, Distributed& held, TensorTable& tensors) {
  double* given = held.call;
  CollectiveCall call;
  call.kind = static_cast<CollectiveKind>(static_cast<int>(given[kKind]));
  const std::vector<double> counts(given + kCountsStart, given + kCountsStart + static_cast<size_t>(given[kCounts]));
  if (takes_many(call.kind)) {
    for (const double tensor : counts) call.many.push_back(tensors.get(tensor));
  } else {
    call.input = tensors.get(given[kInput]);
    call.counts.assign(counts.begin(), counts.end());
  }
  const bool makes_output = given[kOutput] == kNewOutput;
  if (makes_output) {
    give_output(call);
  } else if (given[kOutput] != 0) {
    call.output = tensors.get(given[kOutput]);
  }
  call.op = static_cast<ReduceOp>(static_cast<int>(given[kOp]));
  call.root = static_cast<int>(given[kRoot]);
  call.most = static_cast<int64_t>(given[kMost]);
  std::copy_n(given + kWords, kCallWords, call.words.begin());
  auto& group = *held.groups.get(given[kGroup], "process group");
  if (given[kBlocking] == 0) return Napi::Number::New(info.Env(), held.works.add(group.start(std::move(call))));
  const auto output = call.output;
  group.run(std::move(call));
  if (makes_output) given[kOutput] = tensors.add(output);
  return Napi::Number::New(info.Env(), 0);
}

// waitWork(work): blocks until the work has ended. The number is invalid afterwards, also after an
// exception.
Napi::Value wait(const Napi::CallbackInfo& info, Distributed& held) {
  const double id = number_at(info, 0);
  const auto work = held.works.get(id, "work");
  held.works.remove(id);
  work->wait();
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
  add("storeFind", store_find);
  add("storeAgree", store_agree);
  add("createGlooGroup", create_gloo);
  add("createShmGroup", create_shm);
  add("createHierarchicalGroup", create_hierarchical);
  add("createMpiGroup", create_mpi);
  add("createNcclGroup", create_nccl);
  add("groupPublish", publish);
  add("groupNote", note);
  add("groupAccounts", accounts);
  add("setCollectiveBuffer", set_buffer);
  add("waitWork", wait);
  bind(env, exports, "startCollective",
       [&](const Napi::CallbackInfo& info) { return start(info, held, context.tensors); });
  bind(env, exports, "isWorkDone", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Boolean::New(info.Env(), held.works.get(number_at(info, 0), "work")->is_done());
  });
  bind(env, exports, "shmUnavailableReason", [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), shm_unavailable_reason());
  });
  bind(env, exports, "ncclUnavailableReason", [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::String::New(info.Env(), nccl_unavailable_reason());
  });
  bind(env, exports, "closeGroup", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const double id = number_at(info, 0);
    held.groups.get(id, "process group")->close();
    held.groups.remove(id);
    return info.Env().Undefined();
  });
  bind(env, exports, "closeStoreDoor", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    const auto report = held.stores.get(number_at(info, 0), "store")->close_door();
    auto object = Napi::Object::New(info.Env());
    object.Set("ended", report.ended);
    object.Set("isFull", report.is_full);
    return object;
  });
  bind(env, exports, "closeStore", [&](const Napi::CallbackInfo& info) -> Napi::Value {
    held.stores.remove(number_at(info, 0));
    return info.Env().Undefined();
  });
}

}  // namespace acc
