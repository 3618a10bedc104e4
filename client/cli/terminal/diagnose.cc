// Finds out why no connection can be made, which gRPC does not tell, by connecting once more,
// through the same proxy if there is one. Shows the certificate of --cert if asked for it, and
// sends neither a token nor a request.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/terminal/flags.h"
#include "client/device/grpc/proxy.h"
#include "client/device/grpc/server_address.h"
#include "client/device/grpc/server_call.h"
#include "common/base/read_file.h"
#include "common/base/remote_error.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/pem.h"

namespace coppice::cli {
namespace {

constexpr int kPatienceSeconds = 5;  // per step

struct Server {
  std::string address;  // HOST:PORT as given
  std::string host;
};

Status Fault(std::string_view first, std::string_view what, std::string_view advice) {
  return UnavailableError(StrCat(first, ": ", what, "; ", advice));
}

// ---- TCP

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

// Returns 0, or the errno of the failure.
int ConnectWithin(const Socket& socket, const addrinfo& address) {
  const int flags = fcntl(socket.descriptor(), F_GETFL);
  fcntl(socket.descriptor(), F_SETFL, flags | O_NONBLOCK);
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd connected{.fd = socket.descriptor(), .events = POLLOUT, .revents = 0};
    if (poll(&connected, 1, kPatienceSeconds * 1000) != 1) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  fcntl(socket.descriptor(), F_SETFL, flags);
  const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return 0;
}

// Who is asked for a connection, and what to do if there is none.
struct Partner {
  std::string shown;
  ServerAddress address;
  std::string if_unknown, if_down;
};

StatusOr<std::unique_ptr<Socket>> ConnectTo(const Partner& partner) {
  const std::string first = StrCat("nobody answers at ", partner.shown);
  const std::string& host = partner.address.host;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown =
      getaddrinfo(host.c_str(), StrCat(partner.address.port).c_str(), &wanted, &found);
  if (unknown != 0) {
    return Fault(first, StrCat("the name ", host, " is not known (", gai_strerror(unknown), ")"),
                 partner.if_unknown);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int descriptor = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
      error = errno;
      continue;
    }
    auto connected = std::make_unique<Socket>(descriptor);
    error = ConnectWithin(*connected, *address);
    if (error == 0) return connected;
  }
  return Fault(first, AsciiStrToLower(std::strerror(error)), partner.if_down);
}

// ---- The proxy

// Reads the head of an answer; what was read if the proxy sends no more of it. Reads no further:
// the next byte is the server's.
std::string ReadHead(const Socket& socket) {
  constexpr size_t kMaxBytes = 8192;
  std::string head;
  char byte = 0;
  while (head.size() < kMaxBytes && !EndsWith(head, "\r\n\r\n") &&
         recv(socket.descriptor(), &byte, 1, 0) == 1) {
    head += byte;
  }
  return head;
}

// Asks the proxy for a connection to the server.
Status OpenTunnel(const Socket& socket, const Proxy& proxy, const ServerAddress& server,
                  const std::string& address) {
  std::string request = StrCat("CONNECT ", address, " HTTP/1.1\r\nHost: ", address, "\r\n");
  if (!proxy.authorization.empty()) {
    StrAppend(&request, "Proxy-Authorization: ", proxy.authorization, "\r\n");
  }
  StrAppend(&request, "\r\n");
  const ssize_t sent = send(socket.descriptor(), request.data(), request.size(), MSG_NOSIGNAL);
  const std::string head =
      sent == static_cast<ssize_t>(request.size()) ? ReadHead(socket) : std::string();
  const std::vector<std::string> words =
      StrSplit(head.substr(0, head.find_first_of("\r\n")), MaxSplits(' ', 1));
  if (!StartsWith(words[0], "HTTP/1.")) {
    return Fault(proxy.Shown(), "it does not answer as a proxy does", ProxyAdvice(proxy, server));
  }
  if (words.size() == 2 && StartsWith(words[1], "2")) return OkStatus();
  return Fault(StrCat(proxy.Shown(), " does not connect to ", address),
               StrCat("it answers ", words.size() == 2 ? SanitizeRemoteText(words[1]) : "nothing"),
               StrCat("ask its operator, or ", ProxyAdvice(proxy, server)));
}

// A connection to the server, through the proxy if there is one.
StatusOr<std::unique_ptr<Socket>> Reach(const ServerAddress& server, const std::string& address) {
  const std::optional<Proxy> proxy = ProxyFor(server);
  if (!proxy.has_value()) {
    return ConnectTo({.shown = address,
                      .address = server,
                      .if_unknown = "check the spelling of --server",
                      .if_down = "check --server, and that coppiced runs there"});
  }
  const std::string advice = ProxyAdvice(*proxy, server);
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<Socket> socket,
                           ConnectTo({.shown = StrCat(proxy->Shown(), ", which leads to ", address),
                                      .address = proxy->address,
                                      .if_unknown = advice,
                                      .if_down = advice}));
  COPPICE_RETURN_IF_ERROR(OpenTunnel(*socket, *proxy, server, address));
  return socket;
}

// ---- TLS

struct CertificateFault {
  int error = 0;  // X509_V_ERR_...
  bool of_a_ca = false;
  std::string begins{}, expires{};
};

std::string TimeOf(const ASN1_TIME* time) {
  tm parts{};
  char text[32];
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unknown time";
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, size);
}

// Notes each fault and continues, so that all are known. Nothing is sent over the connection.
int NoteFault(int is_good, X509_STORE_CTX* context) {
  if (is_good == 1) return 1;
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* faults = static_cast<std::vector<CertificateFault>*>(SSL_get_app_data(ssl));
  const X509* certificate = X509_STORE_CTX_get_current_cert(context);
  CertificateFault fault{.error = X509_STORE_CTX_get_error(context),
                         .of_a_ca = X509_STORE_CTX_get_error_depth(context) > 0};
  if (certificate != nullptr) {
    fault.expires = TimeOf(X509_get0_notAfter(certificate));
    fault.begins = TimeOf(X509_get0_notBefore(certificate));
  }
  faults->push_back(std::move(fault));
  return 1;
}

// Called when the server asks for the client's certificate.
int NoteRequest(SSL*, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 1;
}

std::string IssuerOf(const X509* certificate) {
  char name[256];
  const int size = X509_NAME_get_text_by_NID(X509_get_issuer_name(certificate), NID_commonName,
                                             name, sizeof name);
  return size < 0 ? "a CA without a name" : StrCat("\"", SanitizeRemoteText(name), "\"");
}

std::string TextOf(const GENERAL_NAME& name) {
  char text[INET6_ADDRSTRLEN] = "";
  if (name.type == GEN_DNS) {
    const ASN1_STRING* dns = name.d.dNSName;
    return SanitizeRemoteText({reinterpret_cast<const char*>(ASN1_STRING_get0_data(dns)),
                               static_cast<size_t>(ASN1_STRING_length(dns))});
  }
  if (name.type != GEN_IPADD) return "";
  const int size = ASN1_STRING_length(name.d.iPAddress);
  const int family = size == 4 ? AF_INET : AF_INET6;
  if (size != 4 && size != 16) return "";
  inet_ntop(family, ASN1_STRING_get0_data(name.d.iPAddress), text, sizeof text);
  return text;
}

// "localhost, 127.0.0.1": the first few names that the certificate is for.
std::string NamesOf(const X509* certificate) {
  constexpr size_t kMaxNames = 5;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()) && names.size() < kMaxNames; ++i) {
    std::string name = TextOf(*sk_GENERAL_NAME_value(all.get(), i));
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names.empty() ? "no name at all" : StrJoin(names, ", ");
}

// A handshake that continues whatever is wrong with the server's certificate.
class Handshake {
 public:
  Handshake(const ConnectOptions& options, const Server& server, const Socket& socket)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free), ssl_(nullptr, SSL_free) {
    constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    LoadTrust(options);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, NoteFault);
    SSL_set_app_data(ssl_.get(), &faults_);
    SSL_set_cert_cb(ssl_.get(), NoteRequest, &asked_for_certificate_);
    SSL_set_alpn_protos(ssl_.get(), kHttp2, sizeof kHttp2);
    X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, server.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(wanted, server.host.c_str(), server.host.size());
      // This is what the macro SSL_set_tlsext_host_name() does.
      SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
               const_cast<char*>(server.host.c_str()));
    }
    SSL_set_fd(ssl_.get(), socket.descriptor());
    ERR_clear_error();
    done_ = SSL_connect(ssl_.get()) == 1;
    if (!done_) KeepError();
  }

  // Whether the handshake completed, and whether the server speaks TLS at all.
  bool done() const { return done_; }
  bool speaks_tls() const { return done_ || alert_ != 0; }
  bool speaks_http2() const {
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
    return size == 2;
  }
  // The alert that the server sent, even after its part of the handshake; 0 if none.
  int Alert() {
    WaitForFirstByte();
    return alert_;
  }
  // Whether the server asked for a certificate, and ended the connection where it had seen the
  // answer: in TLS 1.3 that is after the handshake, and gRPC's servers send no alert.
  bool EndedOverCertificate() {
    WaitForFirstByte();
    return asked_for_certificate_ && ended_;
  }
  const std::string& reason() const { return reason_; }
  const std::vector<CertificateFault>& faults() const { return faults_; }
  const X509* certificate() const { return SSL_get0_peer_certificate(ssl_.get()); }

 private:
  // Loads the same roots as gRPC.
  void LoadTrust(const ConnectOptions& options) {
    const char* roots = std::getenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH");
    if (!options.ca_file.empty()) {
      // OpenSSL would not find a certificate behind a byte order mark.
      const std::string pem = ReadTextFile(options.ca_file).value_or("");
      for (const CertificatePtr& authority : CertificatesFromPem(pem).certificates) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), authority.get());
      }
    } else if (roots != nullptr) {
      SSL_CTX_load_verify_locations(context_.get(), roots, nullptr);
    } else {
      SSL_CTX_set_default_verify_paths(context_.get());
    }
    if (options.cert_file.empty()) return;
    SSL_CTX_use_certificate_chain_file(context_.get(), options.cert_file.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), options.key_file.c_str(), SSL_FILETYPE_PEM);
  }

  void WaitForFirstByte() {
    char byte = 0;
    if (!done_ || alert_ != 0 || ended_) return;
    const int read = SSL_peek(ssl_.get(), &byte, 1);
    if (read == 1) return;
    ended_ = SSL_get_error(ssl_.get(), read) != SSL_ERROR_WANT_READ;  // which is the time-out
    KeepError();
  }

  void KeepError() {
    const unsigned long error = ERR_peek_error();
    const int reason = ERR_GET_REASON(error);
    if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET) {
      alert_ = reason - SSL_AD_REASON_OFFSET;
    }
    const char* text = ERR_reason_error_string(error);
    reason_ = text == nullptr ? "no answer" : text;
    ERR_clear_error();
  }

  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  std::vector<CertificateFault> faults_;
  bool asked_for_certificate_ = false;
  bool done_ = false;
  bool ended_ = false;
  int alert_ = 0;
  std::string reason_;
};

bool IsAboutTrust(int error) {
  return error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
         error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         error == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
         error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
         error == X509_V_ERR_CERT_SIGNATURE_FAILURE || error == X509_V_ERR_CERT_UNTRUSTED;
}

Status UnknownAuthority(const ConnectOptions& options, const std::string& first,
                        const std::string& issuer) {
  if (options.ca_file.empty()) {
    return Fault(
        first,
        StrCat("its certificate is signed by ", issuer, ", which this machine does not know"),
        "name that CA's certificate with --ca FILE or COPPICE_CA");
  }
  return Fault(first,
               StrCat("its certificate is signed by ", issuer, ", but by no CA in ",
                      options.ca_file, " (--ca)"),
               "get the CA's certificate from the server's operator");
}

Status OtherFault(const Handshake& handshake, const CertificateFault& fault, const Server& server,
                  const std::string& first) {
  const std::string whose = fault.of_a_ca ? "the certificate of its CA" : "its certificate";
  switch (fault.error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Fault(first, StrCat(whose, " expired on ", fault.expires),
                   "the server's operator must renew it");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Fault(first, StrCat(whose, " is not valid before ", fault.begins),
                   "check this machine's clock");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Fault(
          first,
          StrCat("its certificate is for ", NamesOf(handshake.certificate()), ", not for ",
                 server.host),
          "connect to a name that it is valid for (--server), or have it renewed for this one");
    default:
      return Fault(first, X509_verify_cert_error_string(fault.error),
                   "the server's operator must renew its certificate");
  }
}

// An unknown CA comes first: other faults of an untrusted certificate mean nothing.
Status CertificateStatus(const ConnectOptions& options, const Server& server,
                         const Handshake& handshake) {
  const std::string first = StrCat("cannot trust ", server.address);
  for (const CertificateFault& fault : handshake.faults()) {
    if (!IsAboutTrust(fault.error)) continue;
    return UnknownAuthority(options, first, IssuerOf(handshake.certificate()));
  }
  if (handshake.faults().empty()) return OkStatus();
  return OtherFault(handshake, handshake.faults().front(), server, first);
}

Status ClientCertificateFault(const ConnectOptions& options, const Server& server) {
  const std::string first = StrCat(server.address, " refuses the TLS connection");
  if (options.cert_file.empty()) {
    return Fault(first, "it asks for a client certificate", "give one with --cert and --key");
  }
  return Fault(first, StrCat("it does not accept the certificate ", options.cert_file, " (--cert)"),
               "ask the server's operator for one that its --client-ca signed");
}

Status AlertStatus(const ConnectOptions& options, const Server& server, int alert,
                   const std::string& reason) {
  const std::string first = StrCat(server.address, " refuses the TLS connection");
  const bool about_certificates =
      alert == SSL_AD_BAD_CERTIFICATE || alert == SSL_AD_UNSUPPORTED_CERTIFICATE ||
      alert == SSL_AD_CERTIFICATE_REVOKED || alert == SSL_AD_CERTIFICATE_EXPIRED ||
      alert == SSL_AD_CERTIFICATE_UNKNOWN || alert == SSL_AD_UNKNOWN_CA;
  const bool misses_certificate =
      options.cert_file.empty() &&
      (alert == TLS13_AD_CERTIFICATE_REQUIRED || alert == SSL_AD_HANDSHAKE_FAILURE);
  if (misses_certificate || (about_certificates && !options.cert_file.empty())) {
    return ClientCertificateFault(options, server);
  }
  return Fault(first, reason, "see the server's log");
}

Status DiagnoseTls(const ConnectOptions& options, const Server& server, Handshake& handshake) {
  if (!handshake.speaks_tls()) {
    return UnavailableError(StrCat(server.address, " does not use TLS (", handshake.reason(),
                                   "); name the port where coppiced listens, or add --insecure if "
                                   "it runs without TLS on this machine"));
  }
  COPPICE_RETURN_IF_ERROR(CertificateStatus(options, server, handshake));
  const int alert = handshake.Alert();
  if (alert != 0) return AlertStatus(options, server, alert, handshake.reason());
  if (handshake.EndedOverCertificate()) return ClientCertificateFault(options, server);
  if (!handshake.done() || handshake.speaks_http2()) return OkStatus();
  return UnavailableError(
      StrCat(server.address, " uses TLS, but not gRPC; name the port where coppiced listens"));
}

// Turns a connection that the server closes into an error of OpenSSL's write instead of a signal.
class BrokenPipesIgnored {
 public:
  BrokenPipesIgnored() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~BrokenPipesIgnored() { std::signal(SIGPIPE, before_); }
  BrokenPipesIgnored(const BrokenPipesIgnored&) = delete;
  BrokenPipesIgnored& operator=(const BrokenPipesIgnored&) = delete;

 private:
  void (*const before_)(int);
};

}  // namespace

Status DiagnoseConnection(const ConnectOptions& options) {
  const StatusOr<ServerAddress> address = ParseServerAddress(options.server);
  if (!address.ok() || !CheckConnectOptions(options).ok()) return OkStatus();
  const BrokenPipesIgnored ignored;
  const Server server{.address = options.server, .host = address->host};
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<Socket> socket, Reach(*address, options.server));
  Handshake handshake(options, server, *socket);
  if (!options.insecure) return DiagnoseTls(options, server, handshake);
  if (!handshake.speaks_tls()) return OkStatus();
  return UnavailableError(StrCat(
      server.address,
      " uses TLS, which --insecure turns off; leave --insecure out, and name the CA with --ca"));
}

}  // namespace coppice::cli
