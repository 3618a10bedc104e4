// The one table of what may be called: an entry for each method that the daemon serves. It says who
// may call it, which resources its request names, on which threads it runs, how long a call may
// last, and what of it may be told. Nothing else lists methods.
//
// A call goes through three rooms:
//
//   transport  gRPC, server/rpc. It looks the path up here and checks access, then starts the
//              deadline, and only then parses. It finds out whose call it is, runs the handler on
//              the entry's lane, and sends the status. Log and metrics read the entry at the end.
//   registry   server/service/calls/handler_registry.h. Each class of handlers registers its own,
//              a line for each. The line names no path: the type of the request tells the method.
//              Every transport serves what is in the registry, and needs no list of its own.
//   handler    server/service: absl::Status Handler(const Caller&, const Request&, Response*). It
//              includes no header of a transport. What more it needs it takes as an argument: a
//              CancelCheck, or a StreamCall for the messages of a stream.
//
// A new method of one request takes five files: its .proto, its handler (.h and .cc, where the line
// stands that registers it), its entry here, and its command in client/cli if it has one.

#ifndef COPPICE_SERVER_ACCESS_METHOD_TABLE_H_
#define COPPICE_SERVER_ACCESS_METHOD_TABLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/access/role.h"

namespace coppice::access {

// The threads that run a handler; of a stream, those that its messages run on when they take long.
// A call is refused as ResourceExhausted, with the time to wait, if too much waits for them.
enum class Lane : uint8_t {
  kInline,    // the transport's own: answers from memory, and work that other threads finish
  kPool,      // computes briefly, or waits for the disk
  kBuilds,    // makes partitions and models, for up to an hour
  kPreviews,  // computes for seconds and changes nothing
};

// What a call tells of private rows, and so no metric and no line of the log may say: how long a
// job trains, an upload, a deletion or a backup takes, follows from how many rows there are and
// from what noise was drawn. A job's owner sees its times; all others see jobs end, by day.
enum class Privacy : uint8_t {
  kPublic,
  kPrivateDuration,
  kPrivateEnd,  // and when it ends well or is cancelled, for then its job may have ended: a client
                // cancels what it has no more use for, and may be faster than our OK. Of a block of
                // rows also that it came, for there is a call per block
};

// What a call does with a resource that its request names (server/service/calls/resource_guard.h).
enum class Use : uint8_t {
  kSee,     // reads or changes one that its caller may see
  kOwn,     // touches private rows, or tells when jobs run: the owner's alone
  kMake,    // makes one of this id; one is chosen if it is empty
  kSet,     // changes one that its caller may see, or makes it
  kFilter,  // lists: its handler shows what its caller may see
  kReport,  // reports to it: its handler answers them as those of no study
};

struct NamedResource {
  absl::string_view field;  // of the request: "name", "spec.dataset"
  absl::string_view kind;   // "studies", ...; empty: the name says
  Use use;
};

// Whom a method is for, besides its roles.
enum class Scope : uint8_t {
  kNamed,     // who may use what the request names
  kPublic,    // everybody: it touches no resource
  kOperator,  // an admin of everything
};

inline constexpr absl::Duration kDefaultDeadline = absl::Seconds(10);

struct Method {
  absl::string_view path;  // "/package.Service/Method", as gRPC's :path has it; a zero follows
  RoleSet roles;
  Lane lane;
  absl::Duration deadline;  // from the request until the answer was read; streams have none
  bool changes;             // if not, a call that ends well is logged for debugging only
  Privacy privacy;
  Scope scope;
  absl::Span<const NamedResource> names = {};
  bool open = false;  // to everybody, whatever the policy says
};

// Sorted by path. A method without an entry may be called by nobody, so that a new one is closed
// until somebody decides; a test compares the table with what the daemon serves. An admin may call
// everything that is in it.
absl::Span<const Method> AllMethods();

// The entry of `path`; null if it has none.
const Method* FindMethod(absl::string_view path);

// The deadline of its entry; without one the default, for there is no such method.
absl::Duration DeadlineOf(absl::string_view path);

// What the log and the metrics ask. `name` is a path without the slash in front; it need not be in
// the table. One of ours that is not is taken for private, and every other for one that changes
// something.
bool HasPrivateDuration(absl::string_view name);
bool HasPrivateEnd(absl::string_view name, absl::string_view code);  // gRPC's name of it: "OK"
bool MayChange(absl::string_view name);

}  // namespace coppice::access

#endif  // COPPICE_SERVER_ACCESS_METHOD_TABLE_H_
