#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "engine/sockets.h"

namespace acc {

struct StoreOptions {
  std::string host;
  uint16_t port = 0;
  bool is_server = false;
  int world_size = 1;
  std::chrono::milliseconds timeout{0};
};

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// A connection to the store that ranks' watches share. After an answer that did not come in time it is out of step, and nobody
// may use it any more.
struct StoreLine {
  explicit StoreLine(StorePtr store) : keys(std::move(store)) {}

  const StorePtr keys;
  // Held for each use.
  std::mutex mutex;
  std::atomic<bool> is_reachable{true};
};

// The job's key-value store (c10d's TCPStore).
class JobStore {
 public:
  // Connects; with `is_server` the store is started first. It listens on exactly the address that `host` names (c10d alone
  // would listen on every interface). Throws ACC_PORT_TAKEN, ACC_RENDEZVOUS_FAILED.
  static std::shared_ptr<JobStore> connect(const StoreOptions& options);

  JobStore(StorePtr keys, Fd listener, const StoreOptions& options)
      : keys_(std::move(keys)), listener_(std::move(listener)), options_(options) {}

  const StorePtr& keys() const { return keys_; }

  // Another connection to the same store, one for all groups of the process: it is made for the first, while the door is open.
  // Calls on it fail when the store does not answer within some seconds.
  std::shared_ptr<StoreLine> watch_line();

  // Nobody can connect any more, which all ranks have done.
  void close_door();

 private:
  StorePtr keys_;
  Fd listener_;
  StoreOptions options_;
  std::mutex line_mutex_;
  std::shared_ptr<StoreLine> line_;
};

}  // namespace acc
