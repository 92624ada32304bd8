#pragma once

#include <string>

namespace acc {

// A file that exists as long as its owner: it is removed with this object, at exit, and by SIGINT,
// SIGTERM and SIGHUP. The file is locked. After a SIGKILL nobody holds the lock, so the next
// process that calls `remove_abandoned` removes it.
class OwnedFile {
 public:
  // Creates a file in an existing folder, for direct I/O if the file system has it.
  OwnedFile(const std::string& folder, const std::string& name);
  ~OwnedFile();
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  // The place in the list of files that are removed at exit; -1: the file is removed already.
  int place_ = -1;
};

// Removes files of this kind that no process holds.
void remove_abandoned(const std::string& folder);

}  // namespace acc
