#include "server/store/store_format.h"

#include <optional>
#include <string>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/store_record.h"

namespace coppice::storage {

StatusOr<bool> HasFormat(const Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> text,
                           store.Get(std::string(kFormatKey)));
  if (!text.has_value()) {
    COPPICE_RETURN_IF_ERROR(store.Scan("", [](std::string_view, std::string_view) {
      return CorruptRecord(kFormatKey, "is missing");
    }));
    return false;
  }
  uint32_t format = 0;
  if (!SimpleAtoi(*text, &format) || format == 0) {
    return CorruptRecord(kFormatKey, "is not a number from 1 on");
  }
  if (format == kFormat) return true;
  return FailedPreconditionError(
      StrCat("the data directory was made by a newer version of Coppice (format ", format,
             ", this one reads format ", kFormat, "): install that version"));
}

Status OpenFormat(Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const bool is_there, HasFormat(store));
  if (is_there) return OkStatus();
  StoreBatch batch;
  batch.Put(std::string(kFormatKey), StrCat(kFormat));
  return store.Apply(batch);
}

}  // namespace coppice::storage
