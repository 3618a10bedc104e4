#include "common/postgres/uri.h"

#include <memory>

#include "absl/functional/function_ref.h"
#include "common/base/text.h"

namespace coppice {
namespace {

using Options = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Options OptionsOf(const std::string& uri) {
  return {PQconninfoParse(uri.c_str(), nullptr), &PQconninfoFree};
}

// Whether `holds` is true of the value of the option, for one that is given.
bool AnyOption(const Options& options, std::string_view keyword,
               absl::FunctionRef<bool(std::string_view value)> holds) {
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr && keyword == option->keyword && holds(option->val)) return true;
  }
  return false;
}

}  // namespace

Status CheckPostgresUri(const std::string& uri) {
  const Options options = OptionsOf(uri);
  if (options != nullptr && !AnyOption(options, "port", [](std::string_view ports) {
        return ports.find_first_not_of("0123456789,") != std::string_view::npos;
      })) {
    return OkStatus();
  }
  return InvalidArgumentError(
      "libpq cannot read the URI: write postgresql://USER@HOST:PORT/DATABASE?sslmode=... with "
      "special characters percent-encoded (it is not shown here, since it may contain a password)");
}

bool HoldsPassword(const std::string& uri) {
  return AnyOption(OptionsOf(uri), "password", [](std::string_view text) { return !text.empty(); });
}

std::string OneLineOf(const char* message) {
  std::string line(StripAsciiWhitespace(message));
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return line;
}

std::string_view ErrorField(const PGresult* result, int field) {
  const char* text = PQresultErrorField(result, field);
  return text == nullptr ? "" : text;
}

}  // namespace coppice
