#pragma once

#include <string>

namespace acc {

// Work on the device that may end without values: the collectives of a group.
class LossSource {
 public:
  // Notes values as lost, if work that is done has failed. Does not wait.
  virtual void look_for_losses() = 0;
  // Ends what runs. Other ranks then do not take wrong values from this one.
  virtual void end_calls() = 0;

 protected:
  ~LossSource() = default;
};

void add_loss_source(LossSource* source);
void remove_loss_source(LossSource* source);
// Ends the calls of all sources but `source`.
void end_other_sources(const LossSource* source);

// Notes that values on the device are not what the program computed, because a collective failed after
// the program went on. They may be in any tensor by then, so every later read fails, and every later
// collective. `code` is that of an Error. Any thread may call it; the first note stays.
void note_lost_values(const std::string& code, const std::string& message);

// Asks all sources, then throws the noted error, if there is one. Call it when values of a device have
// been read, so that the work that gave them is done, and before they go to other ranks.
void require_values();

}  // namespace acc
