#include "client/device/grpc/proxy.h"

#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kDefaultPort = ":80";

struct Variable {
  std::string name;
  std::string value;
};

// The first that is set, even if to nothing.
Variable FirstSet(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr) return {name, std::string(StripAsciiWhitespace(value))};
  }
  return {};
}

bool IsExcepted(const std::string& host) {
  const std::string hosts = FirstSet({"no_grpc_proxy", "no_proxy"}).value;
  for (std::string_view entry : StrSplit(hosts, ',')) {
    entry = StripAsciiWhitespace(entry);
    if (entry == "*") return true;
    ConsumePrefix(&entry, "*");  // "*.example.org"
    if (!entry.empty() && EndsWithIgnoreCase(host, entry)) return true;
  }
  return false;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() && IsAsciiXdigit(text[i + 1]) &&
                         IsAsciiXdigit(text[i + 2]);
    if (escaped) {
      decoded += HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::optional<Proxy> ParseProxy(const Variable& variable) {
  std::string_view rest = variable.value;
  if (!ConsumePrefix(&rest, kScheme) && StrContains(rest, "://")) return std::nullopt;
  rest = rest.substr(0, rest.find('/'));
  Proxy proxy;
  proxy.variable = variable.name;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    proxy.authorization = StrCat("Basic ", Base64Escape(PercentDecoded(rest.substr(0, at))));
    proxy.url = std::string(rest.substr(0, at + 1));
    rest.remove_prefix(at + 1);
  }
  std::string host(rest);
  if (!ParseServerAddress(host).ok()) StrAppend(&host, kDefaultPort);
  StatusOr<ServerAddress> address = ParseServerAddress(host);
  if (!address.ok()) return std::nullopt;
  proxy.address = *std::move(address);
  proxy.url = StrCat(kScheme, proxy.url, host);
  return proxy;
}

}  // namespace

std::string Proxy::Shown() const {
  return StrCat("the proxy ", Printable(address.host), ":", address.port, " (", variable, ")");
}

std::optional<Proxy> ProxyFor(const ServerAddress& server) {
  if (server.is_loopback() || IsExcepted(server.host)) return std::nullopt;
  const Variable variable = FirstSet({"grpc_proxy", "https_proxy", "http_proxy"});
  return variable.value.empty() ? std::nullopt : ParseProxy(variable);
}

std::string ProxyAdvice(const Proxy& proxy, const ServerAddress& server) {
  return StrCat("check ", proxy.variable, ", or set no_proxy=", server.host,
                " to connect without a proxy");
}

}  // namespace coppice
