// status: how the library tells its caller that something went wrong.
//   What the world can cause (a file, a job, a budget, a full disk) is a Status or a Result.
//   What only we can cause is a PLIMSOLL_CHECK (src/base/check.h) and stops the program.
// The kinds are the exit codes of the command-line program.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace plimsoll {

enum class StatusKind : int {
  Ok = 0,
  Internal = 1,       // a mistake of ours
  Usage = 2,          // a flag, a job file, a combination that has no meaning
  Data = 3,           // a data or model file that cannot be read or is damaged
  OverBudget = 4,     // no plan fits the budget; min_bytes says what would
  Diverged = 5,       // training became not finite
  PromiseBroken = 6,  // the budget was exceeded or `verify` found a difference: a bug of ours
  CannotWrite = 7,    // no space, no rights
  Interrupted = 130,
  Terminated = 143,
};

struct StatusDetails {
  std::string message;    // what happened, where, what was got and what was wanted
  std::string hint;       // what to try; may be empty
  int64_t min_bytes = 0;  // OverBudget only: the smallest budget that works
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusKind kind, StatusDetails details) : kind_(kind), details_(std::move(details)) {}

  static Status Ok() { return {}; }
  static Status Usage(std::string message, std::string hint = "") {
    return {StatusKind::Usage, {.message = std::move(message), .hint = std::move(hint)}};
  }
  static Status Data(std::string message, std::string hint = "") {
    return {StatusKind::Data, {.message = std::move(message), .hint = std::move(hint)}};
  }
  static Status CannotWrite(std::string message, std::string hint = "") {
    return {StatusKind::CannotWrite, {.message = std::move(message), .hint = std::move(hint)}};
  }
  static Status Diverged(std::string message, std::string hint = "") {
    return {StatusKind::Diverged, {.message = std::move(message), .hint = std::move(hint)}};
  }
  static Status PromiseBroken(std::string message, std::string hint = "") {
    return {StatusKind::PromiseBroken, {.message = std::move(message), .hint = std::move(hint)}};
  }
  static Status OverBudget(StatusDetails details) { return {StatusKind::OverBudget, std::move(details)}; }

  bool ok() const { return kind_ == StatusKind::Ok; }
  StatusKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& message() const { return details_.message; }
  const std::string& hint() const { return details_.hint; }
  int64_t min_bytes() const { return details_.min_bytes; }

 private:
  StatusKind kind_ = StatusKind::Ok;
  StatusDetails details_;
};

// A value, or the reason why there is none. Reading the value of a failed Result ends the program.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) std::abort();
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return Checked(); }
  const T& value() const& { return const_cast<Result*>(this)->Checked(); }
  T&& value() && { return std::move(Checked()); }
  T* operator->() { return &Checked(); }
  T& operator*() { return Checked(); }

 private:
  T& Checked() {
    if (!value_) std::abort();
    return *value_;
  }
  std::optional<T> value_;
  Status status_;
};

}  // namespace plimsoll

// Hands a failed Status on to the caller; continues when it is ok.
#define PLIMSOLL_RETURN_IF_ERROR(expression)                        \
  do {                                                              \
    if (::plimsoll::Status status_ = (expression); !status_.ok()) { \
      return status_;                                               \
    }                                                               \
  } while (false)
