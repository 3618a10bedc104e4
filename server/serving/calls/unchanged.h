// How a handler says that its call changed nothing.

#ifndef COPPICE_SERVER_SERVING_CALLS_UNCHANGED_H_
#define COPPICE_SERVER_SERVING_CALLS_UNCHANGED_H_

namespace coppice::service {

// Called by the handler of a method that changes something, on the thread that runs it, when all
// was already as its call asked: the audit log then has no entry of the call. Otherwise a client
// that repeats such a call could fill the log at no cost to itself. Does nothing outside a scope.
//
// Only the handler can tell, and a call of which it says nothing is entered. So whoever forgets
// this gets an entry too many, never one too few.
void NoteUnchanged();

// The call that this thread runs, while the scope lives.
class UnchangedScope {
 public:
  UnchangedScope();
  ~UnchangedScope();
  UnchangedScope(const UnchangedScope&) = delete;
  UnchangedScope& operator=(const UnchangedScope&) = delete;

  bool noted() const { return noted_; }

 private:
  friend void NoteUnchanged();

  bool noted_ = false;
  UnchangedScope* const before_;
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_UNCHANGED_H_
