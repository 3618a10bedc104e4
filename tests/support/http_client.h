// A bare client of HTTP/1.1, with or without TLS, that shows a test the bytes.

#ifndef COPPICE_TESTS_SUPPORT_HTTP_CLIENT_H_
#define COPPICE_TESTS_SUPPORT_HTTP_CLIENT_H_

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/text.h"

namespace coppice::testing {

struct HttpTls {
  std::string certificate_pem{};  // the client's; empty if it shows none
  std::string key_pem{};
};

struct HttpResponse {
  int status = 0;                                // 0 if the connection ended first
  std::map<std::string, std::string> headers{};  // by lower-case name
  std::string body{};
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Does not check the server's certificate, which is in peer_certificate().
class HttpClient {
 public:
  HttpClient(int port, const HttpTls* tls) : port_(port), has_tls_(tls != nullptr) {
    if (has_tls_) tls_ = *tls;
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  }
  ~HttpClient() { Close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Uses the open connection, or a new one.
  HttpResponse Send(std::string_view method, std::string_view path, const HttpHeaders& headers,
                    std::string_view body) {
    std::string bytes = StrCat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n");
    for (const auto& [name, value] : headers) StrAppend(&bytes, name, ": ", value, "\r\n");
    StrAppend(&bytes, "Content-Length: ", body.size(), "\r\n\r\n", body);
    return SendBytes(bytes, method == "HEAD");
  }
  HttpResponse SendBytes(std::string_view bytes, bool is_head = false) {
    if (socket_ < 0 && !Connect()) return {};
    if (!WriteAll(bytes)) {
      Close();
      return {};
    }
    return ReadResponse(is_head);
  }

  bool Connect() {
    Close();
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      Close();
      return false;
    }
    return !has_tls_ || Handshake();
  }
  void Close() {
    if (ssl_ != nullptr) SSL_free(ssl_);
    if (context_ != nullptr) SSL_CTX_free(context_);
    if (socket_ >= 0) close(socket_);
    ssl_ = nullptr;
    context_ = nullptr;
    socket_ = -1;
    in_.clear();
  }
  bool WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ssl_ != nullptr
                               ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                               : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Returns what comes until the server closes.
  std::string ReadToEnd() {
    while (ReadMore()) {
    }
    return std::exchange(in_, "");
  }

  HttpResponse ReadResponse(bool is_head = false) {
    HttpResponse response;
    const std::string head = ReadThrough("\r\n\r\n");
    if (head.size() < 12) return response;
    response.status = std::atoi(head.c_str() + 9);
    if (response.status == 100) return ReadResponse(is_head);
    size_t line = head.find("\r\n") + 2;
    while (line + 2 < head.size()) {
      const size_t end = head.find("\r\n", line);
      const size_t colon = head.find(':', line);
      response.headers[AsciiStrToLower(head.substr(line, colon - line))] =
          std::string(StripAsciiWhitespace(head.substr(colon + 1, end - colon - 1)));
      line = end + 2;
    }
    if (!is_head) ReadBody(response);
    if (response.headers["connection"] == "close") Close();
    return response;
  }

  // Reads until `text` has come, and keeps it for what reads next. False if the connection ends.
  bool ReadUntil(std::string_view text) {
    while (in_.find(text) == std::string::npos) {
      if (!ReadMore()) return false;
    }
    return true;
  }

  const std::string& peer_certificate() const { return peer_certificate_; }

 private:
  bool Handshake() {
    context_ = SSL_CTX_new(TLS_client_method());
    if (!tls_.certificate_pem.empty()) {
      BIO* const certificate = BIO_new_mem_buf(tls_.certificate_pem.data(), -1);
      X509* const shown = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
      BIO* const key = BIO_new_mem_buf(tls_.key_pem.data(), -1);
      EVP_PKEY* const secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
      SSL_CTX_use_certificate(context_, shown);
      SSL_CTX_use_PrivateKey(context_, secret);
      X509_free(shown);
      EVP_PKEY_free(secret);
      BIO_free(certificate);
      BIO_free(key);
    }
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, socket_);
    if (SSL_connect(ssl_) != 1) {
      Close();
      return false;
    }
    X509* const peer = SSL_get1_peer_certificate(ssl_);
    BIO* const pem = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(pem, peer);
    char* data = nullptr;
    const long size = BIO_get_mem_data(pem, &data);
    peer_certificate_.assign(data, static_cast<size_t>(size));
    BIO_free(pem);
    X509_free(peer);
    return true;
  }
  bool ReadMore() {
    char buffer[16384];
    const ssize_t got = ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof(buffer))
                                        : recv(socket_, buffer, sizeof(buffer), 0);
    if (got <= 0) return false;
    in_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  std::string ReadThrough(std::string_view mark) {
    size_t found = 0;
    while ((found = in_.find(std::string(mark))) == std::string::npos) {
      if (ReadMore()) continue;
      Close();
      return "";
    }
    return Take(found + mark.size());
  }
  std::string Take(size_t size) {
    while (in_.size() < size && ReadMore()) {
    }
    std::string taken = in_.substr(0, size);
    in_.erase(0, taken.size());
    return taken;
  }
  void ReadBody(HttpResponse& response) {
    if (response.headers["transfer-encoding"] == "chunked") {
      for (;;) {
        const std::string line = ReadThrough("\r\n");
        const size_t size = std::strtoul(line.c_str(), nullptr, 16);
        response.body.append(Take(size));
        Take(2);
        if (size == 0 || line.empty()) return;
      }
    }
    size_t length = 0;
    if (SimpleAtoi(response.headers["content-length"], &length)) response.body = Take(length);
  }

  const int port_;
  const bool has_tls_;
  HttpTls tls_;
  int socket_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  std::string in_;
  std::string peer_certificate_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_HTTP_CLIENT_H_
