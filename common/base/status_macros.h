// Early return for Status and StatusOr.

#ifndef COPPICE_COMMON_BASE_STATUS_MACROS_H_
#define COPPICE_COMMON_BASE_STATUS_MACROS_H_

#include <utility>

#include "common/base/status.h"

#define COPPICE_MACRO_CONCAT_INNER(a, b) a##b
#define COPPICE_MACRO_CONCAT(a, b) COPPICE_MACRO_CONCAT_INNER(a, b)

// Returns the status of `expression` from the enclosing function unless it is OK.
#define COPPICE_RETURN_IF_ERROR(expression)        \
  do {                                             \
    coppice::Status coppice_status = (expression); \
    if (!coppice_status.ok()) [[unlikely]] {       \
      return coppice_status;                       \
    }                                              \
  } while (false)

// Assigns the value of a StatusOr `expression` to `lhs`, or returns its status.
// The left side may declare: COPPICE_ASSIGN_OR_RETURN(const int n, Parse(text));
#define COPPICE_ASSIGN_OR_RETURN(lhs, expression) \
  COPPICE_ASSIGN_OR_RETURN_IMPL(COPPICE_MACRO_CONCAT(coppice_statusor_, __LINE__), lhs, expression)
#define COPPICE_ASSIGN_OR_RETURN_IMPL(statusor, lhs, expression) \
  auto statusor = (expression);                                  \
  if (!statusor.ok()) [[unlikely]] {                             \
    return statusor.status();                                    \
  }                                                              \
  lhs = *std::move(statusor)

#endif  // COPPICE_COMMON_BASE_STATUS_MACROS_H_
