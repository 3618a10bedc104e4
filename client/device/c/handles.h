// What the handles of coppice_device.h stand for, and the way across the border to C.

#ifndef COPPICE_CLIENT_DEVICE_C_HANDLES_H_
#define COPPICE_CLIENT_DEVICE_C_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"

// Views of what belongs to others: made on the spot, never owned by the caller.
struct coppice_schema {
  const coppice::Schema* schema;
  const char* joined_by;  // null where nothing is
};

struct coppice_terms {
  const coppice::Terms* terms;
  coppice_schema schema;
};

// A row that a caller fills. All memory that it needs is there from the start.
struct coppice_row {
  const coppice_schema* schema = nullptr;
  coppice::LabelledRow values{};
};

namespace coppice {

// A null pointer, or a struct without its size, where one is needed.
inline Status Missing(std::string_view what) {
  return InvalidArgumentError(StrCat(what, " is missing, or its struct_size is wrong"));
}

coppice_row EmptyRow(const coppice_schema& schema);

// A caller's array of texts. InvalidArgument, naming it, if the array or a text in it is null.
StatusOr<std::vector<std::string>> ReadNames(std::string_view what, const char* const* names,
                                             size_t size);
// The schema that a caller declares for its own rows. InvalidArgument, naming the column, as
// Schema::Create(), and unless exactly one column is the label.
StatusOr<std::shared_ptr<const Schema>> ReadOwnSchema(const coppice_own_column* columns,
                                                      size_t size);

// Fills `error`, if there is one, and returns the code.
int32_t Report(const Status& status, coppice_error* error);

// Runs `work`, which returns a Status, and lets no exception out.
template <typename Work>
int32_t Guarded(coppice_error* error, Work work) {
  try {
    return Report(work(), error);
  } catch (const std::bad_alloc&) {
    return Report(Status(StatusCode::kResourceExhausted, "no memory"), error);
  } catch (...) {
    return Report(Status(StatusCode::kInternal, "an unexpected exception"), error);
  }
}

// Copies `from` into a caller's struct that may be of an older version, and so shorter; false if
// it says no size.
template <typename Struct>
bool CopyOut(Struct from, Struct* to) {
  if (to == nullptr || to->struct_size < sizeof(size_t)) return false;
  const size_t size = to->struct_size < sizeof(Struct) ? to->struct_size : sizeof(Struct);
  from.struct_size = to->struct_size;
  std::memcpy(to, &from, size);
  return true;
}

// A caller's struct, whose version may be older: what it lacks is as in `defaults`. Null if it says
// no size, or has more than this version knows.
template <typename Struct>
bool CopyIn(const Struct* from, Struct& to) {
  if (from == nullptr || from->struct_size < sizeof(size_t) || from->struct_size > sizeof(Struct)) {
    return false;
  }
  std::memcpy(&to, from, from->struct_size);
  return true;
}

// Fills a caller's struct of `size` bytes by `defaults`, whatever the version that it is of.
template <typename Struct>
void InitSized(Struct defaults, Struct* to, size_t size) {
  if (to == nullptr || size < sizeof(size_t)) return;
  defaults.struct_size = size;
  // What a newer version has besides stays 0; CopyIn() refuses it.
  std::memset(static_cast<void*>(to), 0, size);
  std::memcpy(static_cast<void*>(to), &defaults, size < sizeof(Struct) ? size : sizeof(Struct));
}

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_C_HANDLES_H_
