#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/groups/door_watch.h"
#include "engine/groups/sockets.h"

namespace acc {

struct StoreOptions {
  std::string host;
  uint16_t port = 0;
  bool is_server = false;
  int world_size = 1;
  std::chrono::milliseconds timeout{0};
};

class CallLog;

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// A connection to the store that the watches of this process share. After an answer that did not
// arrive in time, requests and answers no longer match, so nobody may use the connection.
struct StoreLine {
  explicit StoreLine(StorePtr store) : keys(std::move(store)) {}

  const StorePtr keys;
  // Held during each use of `keys`.
  std::mutex mutex;
  std::atomic<bool> is_reachable{true};

  // The calls of this process, by the name of the group.
  std::mutex logs_mutex;
  std::map<std::string, const CallLog*> logs;
};

// The job's key-value store (c10d's TCPStore).
class JobStore {
 public:
  // Connects to the store. With `is_server` it first starts the store, which listens only on the
  // address that `host` names (c10d by itself would listen on every interface). Throws
  // ACC_PORT_TAKEN, ACC_RENDEZVOUS_FAILED.
  static std::shared_ptr<JobStore> connect(const StoreOptions& options);

  JobStore(StorePtr keys, Fd listener, const StoreOptions& options)
      : keys_(std::move(keys)), listener_(std::move(listener)), options_(options) {
    if (listener_.get() >= 0) watch_.emplace(listener_.get(), options.world_size);
  }

  const StorePtr& keys() const { return keys_; }

  // A second connection to the same store, shared by all groups of the process. The first call
  // creates it, so that call must come before close_door(). Requests on it fail when the store does
  // not answer within 3 seconds.
  std::shared_ptr<StoreLine> watch_line();

  // Refuses new connections, and no longer watches those that there are. Call it when all ranks have
  // connected.
  DoorReport close_door();

 private:
  StorePtr keys_;
  Fd listener_;
  // Until the door is closed, in the process that has the store.
  std::optional<DoorWatch> watch_;
  StoreOptions options_;
  std::mutex line_mutex_;
  std::shared_ptr<StoreLine> line_;
};

}  // namespace acc
