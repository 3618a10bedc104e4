#include "server/serving/calls/unchanged.h"

namespace coppice::service {
namespace {

thread_local UnchangedScope* current_call = nullptr;

}  // namespace

UnchangedScope::UnchangedScope() : before_(current_call) { current_call = this; }
UnchangedScope::~UnchangedScope() { current_call = before_; }

void NoteUnchanged() {
  if (current_call != nullptr) current_call->noted_ = true;
}

}  // namespace coppice::service
