// A server of HTTP over the handlers of a test, and folders of files that it serves. No TLS.

#ifndef COPPICE_TESTS_SERVER_HTTP_HTTP_FIXTURE_H_
#define COPPICE_TESTS_SERVER_HTTP_HTTP_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/http/files.h"
#include "server/http/server.h"
#include "server/serving/calls/message_intake.h"
#include "server/serving/calls/resource_guard.h"
#include "server/serving/http/calls.h"
#include "tests/support/http_client.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {

// Start() it after the test's handlers are in `registry_`. The server ends before members of tests
// that inherit from this.
class HttpHandlersTest : public ::testing::Test {
 protected:
  void TearDown() override { server_.reset(); }

  http::ServedCalls Served() {
    return {.methods = registry_.methods(),
            .lanes = service::Lanes{pool_, pool_, pool_, pool_, pool_, pool_, intake_},
            .gate = gate_,
            .observers = {},
            .answers = answers_};
  }
  void Start(const http::ServerOptions& options, const http::ServedCalls& served) {
    server_.reset();  // before its methods
    methods_ = std::make_unique<http::ServedMethods>(served);
    server_ = *http::Server::Start(options, *methods_);
    host_ = StrCat("localhost:", server_->port());
    client_ = std::make_unique<HttpClient>(server_->port(), nullptr);
  }

  HttpResponse Get(const std::string& target, const HttpHeaders& headers = {},
                   const std::string& method = "GET") {
    std::string bytes = StrCat(method, " ", target, " HTTP/1.1\r\nHost: ", host_, "\r\n");
    for (const auto& [name, value] : headers) StrAppend(&bytes, name, ": ", value, "\r\n");
    return client_->SendBytes(bytes + "\r\n", method == "HEAD");
  }

  const service::ResourceGuard guard_{
      [](std::string_view, std::string_view) { return owners::Resource{}; }};
  service::HandlerRegistry registry_{guard_};
  calls::AccessGate gate_{nullptr};
  calls::ByteLoad answers_{1 << 26};
  service::WorkerPool pool_{/*threads=*/1, /*max_waiting=*/4};
  service::MessageIntake intake_;
  std::unique_ptr<http::ServedMethods> methods_;
  std::unique_ptr<http::Server> server_;
  std::string host_;
  std::unique_ptr<HttpClient> client_;
};

class FilesFolder {
 public:
  using Reader = std::function<StatusOr<http::ServedFiles>(const std::string& folder)>;
  explicit FilesFolder(Reader read) : read_(std::move(read)) {}

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  StatusOr<http::ServedFiles> Read() const { return read_(folder_.path()); }
  // How reading ends while there is a file of this name.
  Status WithFile(const std::string& name, const std::string& bytes = "x") const {
    Write(name, bytes);
    const Status status = Read().status();
    std::filesystem::remove(path(name));
    return status;
  }

 private:
  const Reader read_;
  const TempDir folder_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_HTTP_HTTP_FIXTURE_H_
