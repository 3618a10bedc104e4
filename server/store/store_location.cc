#include "server/store/store_location.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace coppice::storage {
namespace {

constexpr absl::string_view kRocksDbScheme = "rocksdb:";
constexpr absl::string_view kPostgresScheme = "postgresql://";
constexpr absl::string_view kShortPostgresScheme = "postgres://";

bool ConsumePostgresScheme(absl::string_view& text) {
  return absl::ConsumePrefix(&text, kPostgresScheme) ||
         absl::ConsumePrefix(&text, kShortPostgresScheme);
}

// Whether the text after each colon of HOST:PORT,HOST:PORT could be a port. A password whose
// "@HOST" is missing could not.
bool HasOnlyPorts(absl::string_view hosts) {
  const size_t bracket = hosts.rfind(']');  // of an IPv6 address
  if (bracket != absl::string_view::npos) hosts.remove_prefix(bracket);
  const size_t colon = hosts.find(':');
  if (colon == absl::string_view::npos) return true;
  hosts.remove_prefix(colon + 1);
  const absl::string_view port = hosts.substr(0, hosts.find(','));
  return std::all_of(port.begin(), port.end(), absl::ascii_isdigit) && HasOnlyPorts(hosts);
}

}  // namespace

absl::StatusOr<StoreLocation> StoreLocation::Parse(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, kRocksDbScheme) && !rest.empty()) {
    return DataDir(std::string(rest));
  }
  if (ConsumePostgresScheme(rest)) return StoreLocation(Engine::kPostgres, std::string(text));
  return absl::InvalidArgumentError(
      "a store is rocksdb:DIR or postgresql://HOST:PORT/DATABASE; this is neither");
}

std::string StoreLocation::Shown() const {
  if (!is_postgres()) return address_;
  absl::string_view rest = address_;
  ConsumePostgresScheme(rest);
  const size_t question = rest.find('?');
  const size_t at = rest.rfind('@');
  if (at != absl::string_view::npos) {
    // An @ after a question mark may end a password or belong to a parameter.
    if (question < at) return absl::StrCat(kPostgresScheme, "...");
    rest.remove_prefix(at + 1);
  }
  rest = rest.substr(0, rest.find('?'));
  if (!HasOnlyPorts(rest.substr(0, rest.find('/')))) return absl::StrCat(kPostgresScheme, "...");
  return absl::StrCat(kPostgresScheme, rest);
}

}  // namespace coppice::storage
