// Planted bugs, each of which the schedules must find. A curator's bugs are planted from outside,
// in its database or its clock, so no program has a switch for them.

#ifndef COPPICE_TESTS_FLEET_TWINS_H_
#define COPPICE_TESTS_FLEET_TWINS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/faults/cast.h"

namespace coppice::fleet_faults {

enum class Bug : uint8_t {
  kNone,
  kForgottenTickets,  // the tickets of every third group are not written
  kForgottenCharges,  // no charge reaches the ledger
  kHopefulOutcome,    // a batch whose outcome is looked up is always found written
  kFreshAnswer,       // a device that heard nothing takes a new ticket and randomizes again
  kFrozenLease,       // a leader that is cut off or paused believes that its lease goes on
  kTwoLeaders,        // likewise; its session at the database stays, and no batch checks the epoch
  kLateReplica,       // commits never waited for the replica that is promoted
};
inline constexpr std::string_view kBugNames[] = {
    "none",         "forgotten_tickets", "forgotten_charges", "hopeful_outcome",
    "fresh_answer", "frozen_lease",      "two_leaders",       "late_replica"};
inline constexpr size_t kNumBugs = std::size(kBugNames) - 1;  // kNone left out

inline std::string_view BugName(Bug bug) { return kBugNames[static_cast<size_t>(bug)]; }
inline bool NeedsFleet(Bug bug) { return bug == Bug::kFrozenLease || bug == Bug::kTwoLeaders; }
inline bool NeedsReplica(Bug bug) { return bug == Bug::kLateReplica; }
inline bool FreezesClock(Bug bug) { return NeedsFleet(bug); }

// The SQL that plants the bug in a database that has its tables; empty if it is planted elsewhere.
inline std::string SqlOf(Bug bug) {
  const auto drop_puts = [](const std::string& when) {
    return "CREATE SEQUENCE public.puts;"
           "CREATE FUNCTION public.drop_put() RETURNS trigger LANGUAGE plpgsql AS"
           "  $$ BEGIN RETURN NULL; END $$;"
           "CREATE TRIGGER twin BEFORE INSERT OR UPDATE ON coppice.coppice_records FOR EACH ROW"
           "  WHEN (" +
           when + ") EXECUTE FUNCTION public.drop_put()";
  };
  switch (bug) {
    case Bug::kForgottenTickets:
      return drop_puts("NEW.key LIKE 'spent/%'::bytea AND nextval('public.puts') % 3 = 0");
    case Bug::kForgottenCharges:
      return drop_puts("NEW.key LIKE 'ledger/%'::bytea");
    case Bug::kHopefulOutcome:
      return "CREATE FUNCTION public.hope() RETURNS trigger LANGUAGE plpgsql AS"
             "  $$ BEGIN NEW.applied := true; RETURN NEW; END $$;"
             "CREATE TRIGGER twin BEFORE INSERT ON coppice.coppice_batches FOR EACH ROW"
             "  EXECUTE FUNCTION public.hope()";
    case Bug::kTwoLeaders:
      // Without a matching epoch the id is inserted with none.
      return "ALTER TABLE coppice.coppice_batches ALTER epoch DROP NOT NULL;"
             "SET allow_system_table_mods = on;"
             "ALTER FUNCTION pg_catalog.pg_terminate_backend(integer, bigint) RENAME TO twin_end;"
             "ALTER FUNCTION pg_catalog.pg_try_advisory_lock(bigint) RENAME TO twin_lock;"
             "CREATE FUNCTION pg_catalog.pg_terminate_backend(integer) RETURNS boolean"
             "  LANGUAGE sql AS 'SELECT true';"
             "CREATE FUNCTION pg_catalog.pg_try_advisory_lock(bigint) RETURNS boolean"
             "  LANGUAGE sql AS 'SELECT true'";
    default:
      return "";
  }
}

inline std::vector<Bug> AllBugs() { return faults::BugsUpTo<Bug>(kNumBugs); }

}  // namespace coppice::fleet_faults

#endif  // COPPICE_TESTS_FLEET_TWINS_H_
