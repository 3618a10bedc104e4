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

// How the primary is lost whose replica takes its place.
enum class Loss : uint8_t { kStopped, kHung };

class Database {
 public:
  // One server; or a primary, which acknowledges what its replica has. One that is not synchronous
  // is a planted bug.
  Database() : servers_(1) { servers_[0] = std::make_unique<testing::PostgresServer>(); }
  explicit Database(bool synchronous);

  // Of each server.
  std::vector<std::string> Sockets() const;
  // A new, empty database in place of the one before; its name. What follows is about it, and about
  // the server that is the primary now.
  std::string Make();
  std::string uri() const { return primary().Uri(name_); }

  // As in a power cut.
  void Stop();
  void Start();
  // Every process of the server stands still, or goes on.
  void Hang();
  void GoOn();
  bool IsUp() const { return !stopped_ && !hung_; }

  bool HasReplica() const { return servers_.size() > 1 && primary_ == 0; }
  // The other server is the primary from now on, and there is no replica.
  void FailOver(Loss loss);
  // A primary that hung goes on, though the other has taken its place.
  void WakeFormer();
  bool HasFormer() const { return primary_ == 1 && !former_ended_; }
  // It is gone for good.
  void EndFormer();
  // Nothing more reaches the replica: of one that is synchronous every commit waits.
  void HangReplica();
  void WakeReplica();

  void End(Sessions sessions);
  // False if the database does not take it.
  bool Execute(const std::string& sql);
  // The address of whoever holds the lease, or of the last that was seen.
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
