// What became of an operation: nothing wrong, or what is wrong, where, and what to do.
//
// Codes are gRPC's, so that an error crosses the wire as it is. The type is ours, and in headers
// alone, because devices link it: Abseil's brings 200 kB, and a browser has no Abseil to link.

#ifndef COPPICE_COMMON_BASE_STATUS_H_
#define COPPICE_COMMON_BASE_STATUS_H_

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coppice {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "INVALID_ARGUMENT", as gRPC writes it; empty for a number that is no code.
constexpr std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kUnknown:
      return "UNKNOWN";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  return "";
}

class [[nodiscard]] Status {
 public:
  Status() = default;
  // An OK status has no message.
  Status(StatusCode code, std::string_view message)
      : code_(code), message_(code == StatusCode::kOk ? std::string_view() : message) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  std::string_view message() const { return message_; }

  // The first error stays.
  void Update(const Status& other) {
    if (ok()) *this = other;
  }
  void Update(Status&& other) {
    if (ok()) *this = std::move(other);
  }
  void IgnoreError() const {}

  // How long whoever answered asks to wait before the next try, if it said so; below 0: it wants no
  // other try.
  std::optional<int64_t> retry_after_milliseconds() const { return retry_after_milliseconds_; }
  void set_retry_after_milliseconds(int64_t wait) { retry_after_milliseconds_ = wait; }

  std::string ToString() const {
    if (ok()) return "OK";
    return std::string(StatusCodeName(code_)) + ": " + message_;
  }

  friend bool operator==(const Status&, const Status&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Status& status) {
    return out << status.ToString();
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::optional<int64_t> retry_after_milliseconds_;
};

inline Status OkStatus() { return Status(); }

// CancelledError(message) makes a status with the code kCancelled, IsCancelled(status) asks for it,
// and so on.
#define COPPICE_STATUS_CODE(Name)                            \
  inline Status Name##Error(std::string_view message = "") { \
    return Status(StatusCode::k##Name, message);             \
  }                                                          \
  inline bool Is##Name(const Status& status) { return status.code() == StatusCode::k##Name; }
COPPICE_STATUS_CODE(Cancelled)
COPPICE_STATUS_CODE(Unknown)
COPPICE_STATUS_CODE(InvalidArgument)
COPPICE_STATUS_CODE(DeadlineExceeded)
COPPICE_STATUS_CODE(NotFound)
COPPICE_STATUS_CODE(AlreadyExists)
COPPICE_STATUS_CODE(PermissionDenied)
COPPICE_STATUS_CODE(ResourceExhausted)
COPPICE_STATUS_CODE(FailedPrecondition)
COPPICE_STATUS_CODE(Aborted)
COPPICE_STATUS_CODE(OutOfRange)
COPPICE_STATUS_CODE(Unimplemented)
COPPICE_STATUS_CODE(Internal)
COPPICE_STATUS_CODE(Unavailable)
COPPICE_STATUS_CODE(DataLoss)
COPPICE_STATUS_CODE(Unauthenticated)
#undef COPPICE_STATUS_CODE

// "MESSAGE: No such file or directory" for an error of the operating system.
Status ErrnoToStatus(int error, std::string_view message);

// A value, or why there is none.
//
// Errors     asking for the value where there is none ends the process: it is a defect of the
// caller.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  using value_type = T;

  StatusOr() : status_(StatusCode::kUnknown, "") {}
  // `status` must not be OK: a defect, which becomes kInternal.
  StatusOr(Status status) : status_(std::move(status)) { RequireError(); }  // NOLINT(*-explicit-*)
  template <typename U = T>
  requires(std::is_convertible_v<U&&, T> && !std::is_convertible_v<U&&, Status> &&
           !std::is_same_v<std::remove_cvref_t<U>, StatusOr>) StatusOr(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}  // NOLINT(*-explicit-*)
  template <typename U = T>
  requires(std::is_constructible_v<T, U&&> && !std::is_convertible_v<U&&, T> &&
           !std::is_convertible_v<U&&, Status> &&
           !std::is_same_v<std::remove_cvref_t<U>, StatusOr>) explicit StatusOr(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}
  template <typename... Args>
  explicit StatusOr(std::in_place_t, Args&&... args)
      : value_(std::in_place, std::forward<Args>(args)...) {}
  template <typename U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<const U&, T>)
      StatusOr(const StatusOr<U>& other)
      : status_(other.status()) {  // NOLINT(*-explicit-*)
    if (other.ok()) value_.emplace(*other);
  }
  template <typename U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<U&&, T>) StatusOr(StatusOr<U>&& other)
      : status_(other.status()) {  // NOLINT(*-explicit-*)
    if (other.ok()) value_.emplace(*std::move(other));
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  const T& value() const& { return Checked(), *value_; }
  T& value() & { return Checked(), *value_; }
  T&& value() && { return Checked(), *std::move(value_); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return Checked(), &*value_; }
  T* operator->() { return Checked(), &*value_; }

  template <typename U>
  T value_or(U&& fallback) const& {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(fallback));
  }
  template <typename U>
  T value_or(U&& fallback) && {
    return ok() ? *std::move(value_) : static_cast<T>(std::forward<U>(fallback));
  }
  template <typename... Args>
  T& emplace(Args&&... args) {
    status_ = Status();
    return value_.emplace(std::forward<Args>(args)...);
  }
  void IgnoreError() const {}

  friend bool operator==(const StatusOr& a, const StatusOr& b) {
    return a.status_ == b.status_ && a.value_ == b.value_;
  }

 private:
  void RequireError() {
    if (status_.ok()) status_ = InternalError("a result has neither a value nor an error");
  }
  void Checked() const {
    if (!value_.has_value()) std::abort();
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_STATUS_H_
