// Decides to whom a relay deals tickets.

#ifndef COPPICE_SERVER_RELAY_SERVICE_ADMISSION_H_
#define COPPICE_SERVER_RELAY_SERVICE_ADMISSION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"

namespace coppice::relay {

// The credentials that a call shows. Secret: they name a device.
struct ShownCredentials {
  std::optional<std::string> token;         // the bearer token's text
  std::optional<Sha256Digest> certificate;  // SHA-256 of the client's certificate, DER
};

// Reads from a file who may take how many tickets of each deal, one per line:
//
//   NAME SHA256 [TICKETS]               of a token
//   NAME certificate:SHA256 [TICKETS]   of a client certificate
//
// A name may have several lines, as while its token is replaced: its tickets are counted together.
// A lost answer costs a ticket: hence kDefaultTickets. A comment starts with #.
//
// Guarantee  a name takes no more tickets of a deal than its line allows, as long as the process
//            lives. The counts are in memory only, under a hash that no other process can compute,
//            and without an order: neither the disk nor the counts tell who came when.
// Errors     Unauthenticated: the file does not name the caller. ResourceExhausted: the name has
//            taken its tickets.
// Threads    safe to share.
class Admission {
 public:
  static constexpr uint32_t kDefaultTickets = 3;
  static constexpr uint32_t kMaxTickets = 1'000'000;

  // FailedPrecondition: everybody on this machine may read or change the file. InvalidArgument
  // names the malformed line. NotFound.
  static StatusOr<std::unique_ptr<Admission>> Open(const std::string& file);
  // Admits everybody, for any number of tickets.
  static std::unique_ptr<Admission> OfEverybody();

  // Reads the file again, and changes nothing if that fails. Errors as Open().
  Status Reload();
  // Whether the file has changed since it was last read.
  bool HasChanged() const;

  // Counts one ticket of `epoch`, the open deal of `study`.
  Status Admit(std::string_view study, const EpochId& epoch, const ShownCredentials& shown);

 private:
  using NameHash = std::array<uint8_t, 16>;
  struct Allowance {
    NameHash name{};
    uint32_t tickets = 0;
  };
  using Allowances = absl::flat_hash_map<Sha256Digest, Allowance>;
  struct Allowed {
    Allowances tokens;
    Allowances certificates;
  };
  using TicketsByName = absl::flat_hash_map<NameHash, uint32_t>;
  // For the open deal, and for the previous one, whose last calls may still be answered.
  struct Taken {
    EpochId epoch{}, epoch_before{};
    TicketsByName tickets, tickets_before;

    TicketsByName& Of(const EpochId& deal);
  };
  // Tells versions of a file apart.
  using Stamp = std::array<int64_t, 4>;

  Admission(std::string file, std::string hash_key)
      : file_(std::move(file)), hash_key_(std::move(hash_key)) {}

  static Stamp StampOf(const std::string& file);
  NameHash HashOfName(std::string_view name) const;
  StatusOr<Allowed> Read() const;
  StatusOr<Allowed> Parse(std::string_view text) const;
  Status ParseLine(const std::vector<std::string_view>& fields, Allowed& allowed) const;
  std::optional<Allowance> Find(const ShownCredentials& shown) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string file_;  // empty: everybody
  const std::string hash_key_;
  mutable Mutex mutex_;
  Allowed allowed_ ABSL_GUARDED_BY(mutex_);
  Stamp stamp_ ABSL_GUARDED_BY(mutex_){};
  std::map<std::string, Taken, std::less<>> taken_ ABSL_GUARDED_BY(mutex_);  // by study
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_SERVICE_ADMISSION_H_
