// Fetches a page over plain HTTP from this machine, and reads the metrics on it.

#ifndef COPPICE_TESTS_INTEGRATION_HTTP_PAGE_H_
#define COPPICE_TESTS_INTEGRATION_HTTP_PAGE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

namespace coppice::testing {

// Returns header and body; empty if nobody answers. `headers` are more lines of the request.
inline std::string GetPage(int port, const std::string& path, const std::string& headers = "") {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string page;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET " + path + " HTTP/1.0\r\n" + headers + "\r\n";
    if (write(connection, request.data(), request.size()) > 0) {
      char bytes[4096];
      for (ssize_t n = 0; (n = read(connection, bytes, sizeof bytes)) > 0;) page.append(bytes, n);
    }
  }
  close(connection);
  return page;
}

// The names of all metrics on the page.
inline std::set<std::string> MetricsOn(const std::string& page) {
  std::set<std::string> names;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) != 0) continue;
    names.insert(line.substr(7, line.find(' ', 7) - 7));
  }
  return names;
}

// The value of the line that begins with `sample`, such as "x_total{a=\"b\"}"; -1 if there is none.
inline double ValueOf(const std::string& page, const std::string& sample) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(sample + " ", 0) == 0) return std::atof(line.c_str() + sample.size());
  }
  return -1;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_HTTP_PAGE_H_
