// Where a store lies: in a data directory, or in a database of PostgreSQL.

#ifndef COPPICE_SERVER_STORAGE_STORE_LOCATION_H_
#define COPPICE_SERVER_STORAGE_STORE_LOCATION_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice::storage {

// Errors   InvalidArgument from Parse(), which quotes nothing that may be a password.
// Threads  immutable.
class StoreLocation {
 public:
  // Reads rocksdb:DIR, postgresql://… or postgres://….
  static absl::StatusOr<StoreLocation> Parse(absl::string_view text);
  static StoreLocation DataDir(std::string folder) { return {Engine::kRocksDb, std::move(folder)}; }

  bool is_postgres() const { return engine_ == Engine::kPostgres; }
  // The data directory, or the URI of the database, which may hold a password.
  const std::string& address() const { return address_; }
  // The same for logs and messages: a URI without its user, its password and its parameters.
  std::string Shown() const;

 private:
  enum class Engine { kRocksDb, kPostgres };

  StoreLocation(Engine engine, std::string address)
      : engine_(engine), address_(std::move(address)) {}

  Engine engine_;
  std::string address_;
};

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_STORE_LOCATION_H_
