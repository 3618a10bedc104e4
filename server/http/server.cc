#include "server/http/server.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/http/connection.h"
#include "server/http/protocol.h"

namespace coppice::http {
namespace {

namespace net = boost::asio;
using net::ip::tcp;
using Error = boost::system::error_code;

// How long accepting pauses after an error, since the process may have run out of files.
constexpr std::chrono::milliseconds kPause{100};

}  // namespace

class Server::Sockets {
 public:
  Sockets(const ServerOptions& options, Methods& methods)
      : tls_source_(options.tls),
        bodies_(options.max_request_bytes),
        router_(methods,
                Origins(options.allowed_origins, /*has_console=*/options.console != nullptr,
                        /*has_tls=*/options.tls != nullptr),
                options.console, options.site),
        connections_(options.max_connections),
        settings_{.router = router_,
                  .connections = connections_,
                  .limits = {.max_body_bytes = options.max_message_bytes + kEnvelopeBytes,
                             .bodies = &bodies_},
                  .max_age = options.max_connection_age} {}
  ~Sockets() { Stop(absl::Now()); }

  Status Listen(const std::string& listen) {
    const size_t colon = std::min(listen.rfind(':'), listen.size());
    std::string_view host = std::string_view(listen).substr(0, colon);
    if (ConsumePrefix(&host, "[")) ConsumeSuffix(&host, "]");
    Error error;
    tcp::resolver resolver(context_);
    const auto found =
        resolver.resolve(std::string(host), listen.substr(std::min(colon + 1, listen.size())),
                         tcp::resolver::passive, error);
    if (!error && found.empty()) error = net::error::host_not_found;
    if (!error) error = Bind(found.begin()->endpoint());
    if (error) {
      return UnavailableError(StrCat("--http-listen ", listen, ": cannot be had (", error.message(),
                                     "). Does another process use this port, or is it another "
                                     "machine's address? Port 0 picks a free port"));
    }
    router_.ListensOn(port_);
    Accept();
    const unsigned threads = std::max(2u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { context_.run(); });
    return OkStatus();
  }

  int port() const { return port_; }

  void Drain() {
    if (draining_.exchange(true)) return;
    net::post(acceptor_.get_executor(), [this] {
      Error ignored;
      acceptor_.close(ignored);
      pause_.cancel(ignored);
    });
    for (const std::shared_ptr<Connection>& connection : connections_.All()) connection->Drain();
  }

  void Stop(absl::Time deadline) {
    Drain();
    router_.open_calls().AwaitNone(deadline);
    // Finished answers may still be in transit.
    for (int i = 0; i < 20 && !connections_.All().empty() && absl::Now() < deadline; ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    for (const std::shared_ptr<Connection>& connection : connections_.All()) connection->Close();
    router_.open_calls().AwaitNone(absl::InfiniteFuture());
    work_.reset();
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  Error Bind(const tcp::endpoint& endpoint) {
    Error error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void Accept() {
    acceptor_.async_accept(net::make_strand(context_),
                           [this](const Error& error, tcp::socket socket) {
                             if (draining_ || error == net::error::operation_aborted) return;
                             if (error) {
                               pause_.expires_after(kPause);
                               return pause_.async_wait([this](const Error& cancelled) {
                                 if (!cancelled && !draining_) Accept();
                               });
                             }
                             Begin(std::move(socket));
                             Accept();
                           });
  }

  void Begin(tcp::socket socket) {
    std::shared_ptr<net::ssl::context> tls;
    if (tls_source_ != nullptr) {
      tls = FindTls();
      if (tls == nullptr) return;
    }
    const auto connection =
        std::make_shared<Connection>(std::move(socket), std::move(tls), settings_);
    if (!connections_.Add(connection)) return;
    connection->Start();
    if (draining_) connection->Drain();
  }

  // Wraps the source's context; the wrapper frees its own reference.
  std::shared_ptr<net::ssl::context> FindTls() {
    const std::shared_ptr<SSL_CTX> now = tls_source_();
    if (now != nullptr && (tls_ == nullptr || tls_->native_handle() != now.get())) {
      SSL_CTX_up_ref(now.get());
      tls_ = std::make_shared<net::ssl::context>(now.get());
    }
    return tls_;
  }

  const TlsSource tls_source_;
  calls::ByteLoad bodies_;
  Router router_;
  Connections connections_;
  const ConnectionSettings settings_;
  net::io_context context_;
  net::executor_work_guard<net::io_context::executor_type> work_{context_.get_executor()};
  tcp::acceptor acceptor_{net::make_strand(context_)};
  net::steady_timer pause_{acceptor_.get_executor()};
  std::shared_ptr<net::ssl::context> tls_;
  std::atomic<bool> draining_{false};
  int port_ = 0;
  std::vector<std::thread> threads_;
};

StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options, Methods& methods) {
  auto sockets = std::make_unique<Sockets>(options, methods);
  const Status listening = sockets->Listen(options.listen);
  if (!listening.ok()) return listening;
  return std::unique_ptr<Server>(new Server(std::move(sockets)));
}

Server::Server(std::unique_ptr<Sockets> sockets) : sockets_(std::move(sockets)) {}

Server::~Server() = default;

int Server::port() const { return sockets_->port(); }

void Server::Drain() { sockets_->Drain(); }

void Server::Stop(absl::Time deadline) { sockets_->Stop(deadline); }

}  // namespace coppice::http
