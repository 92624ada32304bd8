#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/store.h"

namespace acc {

// What ranks of a group tell each other through the job's store, on a connection of its own: rank 0, which keeps the store, may
// stand still or be gone, and nobody else must hang on that. Any thread.
class Bulletin {
 public:
  Bulletin(std::shared_ptr<StoreLine> line, const std::string& group, int rank);

  // False once the store has not answered. Then nothing is told or heard any more.
  bool is_reachable() const { return line_->is_reachable; }

  void put(const std::string& key, const std::string& value);
  // What somebody has put there.
  std::optional<std::string> find(const std::string& key);
  // Puts `value` unless somebody has put another, and gives what is there; `value` itself when the store is unreachable.
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
