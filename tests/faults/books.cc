#include "tests/faults/books.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/spent_tickets.h"
#include "server/curator/store_keys.h"

namespace coppice::testing {
namespace {

absl::Status Unreadable(absl::string_view key) {
  return absl::DataLossError(std::string(key) + " does not parse");
}

}  // namespace

absl::StatusOr<Books> ReadBooks(const Store& store, absl::string_view study) {
  Books books;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> record, store.Get(StudyKey(study)));
  if (record.has_value()) {
    v1::StudyRecord parsed;
    if (!parsed.ParseFromString(*record)) return Unreadable("study/");
    books.exists = true;
    books.sealed = parsed.state() != v1::STUDY_STATE_OPEN;
    books.sealed_at = parsed.sealed_unix_seconds();
    books.retired = parsed.retired();
    ++books.keys;
  }
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> counts, store.Get(CountsKey(study)));
  if (counts.has_value()) {
    v1::CountsRecord parsed;
    if (!parsed.ParseFromString(*counts)) return Unreadable("count/");
    books.accepted = parsed.accepted();
    books.duplicates = parsed.duplicate();
    ++books.keys;
  }
  COPPICE_RETURN_IF_ERROR(
      store.Scan(SumsPrefix(study), [&](absl::string_view key, absl::string_view value) {
        v1::SumsRecord parsed;
        if (!parsed.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          return Unreadable(key);
        }
        books.reports += parsed.reports();
        books.sums.assign(parsed.sums().begin(), parsed.sums().end());
        books.counted.append(key.data(), key.size()).append(value.data(), value.size());
        ++books.keys;
        return absl::OkStatus();
      }));
  COPPICE_RETURN_IF_ERROR(
      store.Scan(SpentPrefix(study), [&](absl::string_view key, absl::string_view value) {
        for (size_t at = 0; at + kTicketIdBytes <= value.size(); at += kTicketIdBytes) {
          books.spent.emplace_back(value.substr(at, kTicketIdBytes));
        }
        books.counted.append(key.data(), key.size()).append(value.data(), value.size());
        ++books.keys;
        return absl::OkStatus();
      }));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> rows, store.Get(RowsKey(study)));
  books.has_rows = rows.has_value();
  if (books.has_rows) ++books.keys;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(absl::StrCat("model/", study, "/"), [&](absl::string_view, absl::string_view) {
        ++books.keys;
        return absl::OkStatus();
      }));
  return books;
}

}  // namespace coppice::testing
