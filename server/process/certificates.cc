#include "server/process/certificates.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <string>
#include <utility>
#include <vector>

namespace coppice {
namespace {

// gRPC calls this before each handshake. One listening socket accepts one connection after the
// other, so no handshake begins while the certificate is exchanged.
grpc_ssl_certificate_config_reload_status Fetch(void* served,
                                                grpc_ssl_server_certificate_config** config) {
  Certificates::ServedPort& port = *static_cast<Certificates::ServedPort*>(served);
  const std::optional<TlsFiles> files = port.certificates.ChangedSince(port.version);
  if (!files.has_value()) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair{.private_key = files->key.c_str(),
                                        .cert_chain = files->certificate.c_str()};
  // gRPC requires an authority even where clients are not asked for a certificate, and ignores it.
  const std::string& authority = files->client_ca.empty() ? files->certificate : files->client_ca;
  *config = grpc_ssl_server_certificate_config_create(authority.c_str(), &pair, 1);
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

std::vector<grpc::string_ref> ValuesOf(grpc_auth_property_iterator properties) {
  std::vector<grpc::string_ref> values;
  while (const grpc_auth_property* property = grpc_auth_property_iterator_next(&properties)) {
    values.emplace_back(property->value, property->value_length);
  }
  return values;
}

// What gRPC knows about a connection's peer, in the form of its C++ interface.
class PeerContext final : public grpc::AuthContext {
 public:
  explicit PeerContext(grpc_auth_context* context) : context_(context) {}

  bool IsPeerAuthenticated() const override {
    return grpc_auth_context_peer_is_authenticated(context_) != 0;
  }
  std::vector<grpc::string_ref> GetPeerIdentity() const override {
    return ValuesOf(grpc_auth_context_peer_identity(context_));
  }
  std::string GetPeerIdentityPropertyName() const override {
    const char* name = grpc_auth_context_peer_identity_property_name(context_);
    return name == nullptr ? "" : name;
  }
  std::vector<grpc::string_ref> FindPropertyValues(const std::string& name) const override {
    return ValuesOf(grpc_auth_context_find_properties_by_name(context_, name.c_str()));
  }
  grpc::AuthPropertyIterator begin() const override {
    grpc_auth_property_iterator all = grpc_auth_context_property_iterator(context_);
    const grpc_auth_property* first = grpc_auth_property_iterator_next(&all);
    return Iterator(first, &all);
  }
  grpc::AuthPropertyIterator end() const override { return Iterator(); }
  void AddProperty(const std::string& key, const grpc::string_ref& value) override {
    grpc_auth_context_add_property(context_, key.c_str(), value.data(), value.size());
  }
  bool SetPeerIdentityPropertyName(const std::string& name) override {
    return grpc_auth_context_set_peer_identity_property_name(context_, name.c_str()) != 0;
  }

 private:
  struct Iterator final : grpc::AuthPropertyIterator {
    Iterator() = default;
    Iterator(const grpc_auth_property* property, const grpc_auth_property_iterator* all)
        : AuthPropertyIterator(property, all) {}
  };

  grpc_auth_context* context_;
};

using Processor = std::shared_ptr<grpc::AuthMetadataProcessor>;

grpc::string_ref RefOf(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

void ProcessMetadata(void* state, grpc_auth_context* context, const grpc_metadata* metadata,
                     size_t count, grpc_process_auth_metadata_done_cb done, void* call) {
  grpc::AuthMetadataProcessor::InputMetadata input;
  for (size_t i = 0; i < count; ++i) {
    input.emplace(RefOf(metadata[i].key), RefOf(metadata[i].value));
  }
  PeerContext peer(context);
  grpc::AuthMetadataProcessor::OutputMetadata consumed;
  grpc::AuthMetadataProcessor::OutputMetadata unused;  // gRPC does not send it
  const grpc::Status status =
      (*static_cast<Processor*>(state))->Process(input, &peer, &consumed, &unused);
  std::vector<grpc_metadata> removed;
  for (const auto& [key, value] : consumed) {
    grpc_metadata& entry = removed.emplace_back();
    entry.key = grpc_slice_from_copied_buffer(key.data(), key.size());
    entry.value = grpc_slice_from_copied_buffer(value.data(), value.size());
  }
  done(call, removed.data(), removed.size(), nullptr, 0,
       static_cast<grpc_status_code>(status.error_code()), status.error_message().c_str());
  for (grpc_metadata& entry : removed) {
    grpc_slice_unref(entry.key);
    grpc_slice_unref(entry.value);
  }
}

void DestroyProcessor(void* state) { delete static_cast<Processor*>(state); }

// gRPC's C++ credentials either take their certificate once, or poll files for it and accept a pair
// that does not match; the C interface below asks for it at each handshake.
class FetchingCredentials final : public grpc::ServerCredentials {
 public:
  explicit FetchingCredentials(Certificates& certificates)
      : credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                certificates.asks_clients()
                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                Fetch, &certificates.AddPort()))) {}
  ~FetchingCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const Processor& processor) override {
    grpc_server_credentials_set_auth_metadata_processor(
        credentials_, {ProcessMetadata, DestroyProcessor, new Processor(processor)});
  }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  grpc_server_credentials* credentials_;
};

}  // namespace

void Certificates::Replace(TlsFiles files) {
  const MutexLock lock(mutex_);
  files_ = std::move(files);
  ++version_;
}

bool Certificates::asks_clients() const {
  const MutexLock lock(mutex_);
  return !files_.client_ca.empty();
}

absl::Time Certificates::expires() const {
  const MutexLock lock(mutex_);
  return files_.expires;
}

Certificates::ServedPort& Certificates::AddPort() {
  const MutexLock lock(mutex_);
  return ports_.emplace_back(ServedPort{*this});
}

std::optional<TlsFiles> Certificates::ChangedSince(uint64_t& version) const {
  const MutexLock lock(mutex_);
  if (std::exchange(version, version_) == version_) return std::nullopt;
  return files_;
}

std::shared_ptr<grpc::ServerCredentials> ServeWith(Certificates& certificates) {
  return std::make_shared<FetchingCredentials>(certificates);
}

}  // namespace coppice
