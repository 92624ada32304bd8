#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/groups/store.h"

namespace acc {

// Notes that the ranks of a group exchange through the job's store, on a separate connection. Rank
// 0 holds the store. It may be stopped or gone, and no other rank may block on that. Any thread may
// call this class.
class Bulletin {
 public:
  Bulletin(std::shared_ptr<StoreLine> line, const std::string& group, int rank);

  // False after the store once failed to answer. After that nothing is written or read.
  bool is_reachable() const { return line_->is_reachable; }

  void put(const std::string& key, const std::string& value);
  // The value of `key`; nothing if there is none, or if the store is unreachable.
  std::optional<std::string> find(const std::string& key);
  // Sets `key` to `value` if it has no value yet, and returns the value that it then has. Returns
  // `value` if the store is unreachable.
  std::string agree(const std::string& key, const std::string& value);

  void put_own(const std::string& key, const std::string& value) { put(of(key, rank_), value); }
  std::optional<std::string> find_of(const std::string& key, int rank) { return find(of(key, rank)); }

 private:
  static std::string of(const std::string& key, int rank) { return key + "/" + std::to_string(rank); }

  template <typename Use>
  auto try_to(Use use, decltype(use()) otherwise) -> decltype(use());

  std::shared_ptr<StoreLine> line_;
  StorePtr store_;
  const int rank_;
};

}  // namespace acc
