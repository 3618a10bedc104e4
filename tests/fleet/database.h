// The database servers of a fleet, and what can happen to them.
//
// Threads    for one.

#ifndef COPPICE_TESTS_FLEET_DATABASE_H_
#define COPPICE_TESTS_FLEET_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/postgres_server.h"

namespace coppice::fleet_faults {

enum class Sessions : uint8_t { kAll, kOfLockHolder, kOthers };

// How the primary is lost before its replica takes its place.
enum class Loss : uint8_t { kStopped, kHung };

class Database {
 public:
  // One server; or a primary with a replica. If `synchronous`, the primary acknowledges only what
  // its replica has; otherwise it is a planted bug.
  Database() : servers_(1) { servers_[0] = std::make_unique<testing::PostgresServer>(); }
  explicit Database(bool synchronous);

  // The socket of each server.
  std::vector<std::string> Sockets() const;
  // Makes a new, empty database in place of the one before and returns its name. The methods below
  // are about it and about the server that is now the primary.
  std::string Make();
  std::string uri() const { return primary().Uri(name_); }

  // Stops it as a power cut does.
  void Stop();
  void Start();
  // Every process of the server stands still, or goes on.
  void Hang();
  void GoOn();
  bool IsUp() const { return !stopped_ && !hung_; }

  bool HasReplica() const { return servers_.size() > 1 && primary_ == 0; }
  // Makes the other server the primary; there is no replica from then on.
  void FailOver(Loss loss);
  // Lets a primary that hung go on, although the other server has taken its place.
  void WakeFormer();
  bool HasFormer() const { return primary_ == 1 && !former_ended_; }
  // Ends the former primary for good.
  void EndFormer();
  // Nothing more reaches the replica; if it is synchronous, every commit waits.
  void HangReplica();
  void WakeReplica();

  void End(Sessions sessions);
  // False if the database does not run it.
  bool Execute(const std::string& sql);
  // The address of the lease's holder, or of the last holder that was seen.
  std::string Leader();

 private:
  testing::PostgresServer& primary() const { return *servers_[primary_]; }

  std::vector<std::unique_ptr<testing::PostgresServer>> servers_;
  size_t primary_ = 0;
  std::string name_, leader_;
  bool stopped_ = false, hung_ = false, former_ended_ = false;
};

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_DATABASE_H_
