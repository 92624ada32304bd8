#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

#ifdef __linux__
#include <fcntl.h>
#endif

namespace acc {

// What the system reports about a file.
struct FileFacts {
  uint64_t bytes;
  // Device and inode together identify the file on this system.
  uint64_t device;
  uint64_t inode;
  bool is_socket;
};

#ifdef __linux__
// Uses `statx`, because the symbols `fstat` and `stat` require glibc 2.33. The addon must run
// without it.
inline std::optional<FileFacts> facts_at(int folder, const char* path, int flags) {
  struct statx found {};
  if (::statx(folder, path, flags, STATX_BASIC_STATS, &found) != 0) return std::nullopt;
  const auto device = (static_cast<uint64_t>(found.stx_dev_major) << 32) | found.stx_dev_minor;
  return FileFacts{found.stx_size, device, found.stx_ino, S_ISSOCK(found.stx_mode)};
}

// Empty if the descriptor or file does not exist.
inline std::optional<FileFacts> facts_of(int fd) { return facts_at(fd, "", AT_EMPTY_PATH); }
inline std::optional<FileFacts> facts_of(const char* path) { return facts_at(AT_FDCWD, path, 0); }
#else
inline std::optional<FileFacts> facts_of(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return std::nullopt;
  return FileFacts{static_cast<uint64_t>(found.st_size), static_cast<uint64_t>(found.st_dev),
                   static_cast<uint64_t>(found.st_ino), S_ISSOCK(found.st_mode)};
}
#endif

}  // namespace acc
