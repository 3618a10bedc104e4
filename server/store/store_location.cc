#include "server/store/store_location.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::storage {
namespace {

constexpr std::string_view kRocksDbScheme = "rocksdb:";
constexpr std::string_view kPostgresScheme = "postgresql://";
constexpr std::string_view kShortPostgresScheme = "postgres://";

bool ConsumePostgresScheme(std::string_view& text) {
  return ConsumePrefix(&text, kPostgresScheme) || ConsumePrefix(&text, kShortPostgresScheme);
}

// Whether the text after each colon of HOST:PORT,HOST:PORT could be a port. A password whose
// "@HOST" is missing could not.
bool HasOnlyPorts(std::string_view hosts) {
  const size_t bracket = hosts.rfind(']');  // of an IPv6 address
  if (bracket != std::string_view::npos) hosts.remove_prefix(bracket);
  const size_t colon = hosts.find(':');
  if (colon == std::string_view::npos) return true;
  hosts.remove_prefix(colon + 1);
  const std::string_view port = hosts.substr(0, hosts.find(','));
  return std::all_of(port.begin(), port.end(), IsAsciiDigit) && HasOnlyPorts(hosts);
}

}  // namespace

StatusOr<StoreLocation> StoreLocation::Parse(std::string_view text) {
  std::string_view rest = text;
  if (ConsumePrefix(&rest, kRocksDbScheme) && !rest.empty()) {
    return DataDir(std::string(rest));
  }
  if (ConsumePostgresScheme(rest)) return StoreLocation(Engine::kPostgres, std::string(text));
  return InvalidArgumentError(
      "a store is rocksdb:DIR or postgresql://HOST:PORT/DATABASE; this is neither");
}

std::string StoreLocation::Shown() const {
  if (!is_postgres()) return address_;
  std::string_view rest = address_;
  ConsumePostgresScheme(rest);
  const size_t question = rest.find('?');
  const size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    // An @ after a question mark may end a password or belong to a parameter.
    if (question < at) return StrCat(kPostgresScheme, "...");
    rest.remove_prefix(at + 1);
  }
  rest = rest.substr(0, rest.find('?'));
  if (!HasOnlyPorts(rest.substr(0, rest.find('/')))) return StrCat(kPostgresScheme, "...");
  return StrCat(kPostgresScheme, rest);
}

}  // namespace coppice::storage
