#pragma once

#include <string>

namespace acc {

// Notes that values on the device are not what the program computed, because a collective failed after
// the program went on. They may be in any tensor by then, so every later read fails. `code` is that of
// an Error. Any thread may call it; the first note stays.
void note_lost_values(const std::string& code, const std::string& message);

// Throws the noted error, if there is one. Call it when values of a device have been read.
void require_values();

}  // namespace acc
