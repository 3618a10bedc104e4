// The location of a store: a data directory, or a database of PostgreSQL.

#ifndef COPPICE_SERVER_STORE_STORE_LOCATION_H_
#define COPPICE_SERVER_STORE_STORE_LOCATION_H_

#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace coppice::storage {

// Errors     Parse(): InvalidArgument, which never quotes what may be a password.
// Threads    immutable.
class StoreLocation {
 public:
  // Reads rocksdb:DIR, postgresql://… or postgres://….
  static StatusOr<StoreLocation> Parse(std::string_view text);
  static StoreLocation DataDir(std::string folder) { return {Engine::kRocksDb, std::move(folder)}; }

  bool is_postgres() const { return engine_ == Engine::kPostgres; }
  // The data directory, or the database's URI, which may contain a password.
  const std::string& address() const { return address_; }
  // The address for logs and messages: a URI without its user, password and parameters.
  std::string Shown() const;

 private:
  enum class Engine { kRocksDb, kPostgres };

  StoreLocation(Engine engine, std::string address)
      : engine_(engine), address_(std::move(address)) {}

  Engine engine_;
  std::string address_;
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_STORE_LOCATION_H_
