// The one table of methods, with an entry for each method that the daemon serves. An entry says who
// may call it, which resources its request names, which threads run it, how long a call may last,
// how large a message may be, and what may be told about it. Nothing else lists methods.
//
// A call passes through three parts of the code:
//
//   transport  gRPC, server/serving/grpc. It looks the path up here and checks access, then starts
//   the
//              deadline, and only then checks the size and parses. It finds the caller, runs the
//              handler on the entry's lane, and sends the status. Log and metrics read the entry at
//              the end.
//   registry   server/serving/calls/handler_registry.h. Each class of handlers registers its own,
//              one line each. The line names no path: the type of the request determines the
//              method. Every transport serves what is in the registry and needs no list of its own.
//   handler    server/serving/service: Status Handler(const Caller&, const Request&, Response*). It
//              includes no header of a transport. It takes further needs as arguments: a
//              CancelCheck, or a StreamCall for the messages of a stream.
//
// A new method of one request takes five files: its .proto, its handler (.h, and .cc, which has the
// line that registers it), its entry here, and its command in client/cli if it has one.

#ifndef COPPICE_SERVER_SERVING_ACCESS_METHOD_TABLE_H_
#define COPPICE_SERVER_SERVING_ACCESS_METHOD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/serving/access/role.h"

namespace coppice::access {

// The threads that run a handler; for a stream, those that run slow messages. If too much waits for
// them, a call is refused as ResourceExhausted, with the time to wait.
enum class Lane : uint8_t {
  kInline,       // the transport's own: answers from memory, and work finished elsewhere
  kPool,         // brief computations, or waiting for the disk
  kBuilds,       // making partitions and models, for up to an hour
  kPreviews,     // computations of seconds that change nothing
  kPlans,        // plans of jobs, which are short and wait for no curve
  kOpenings,     // opening sealed messages of reports
  kEvaluations,  // reading all rows of a dataset, one call of each owner at a time
};

// What a call reveals about private rows, which no metric and no line of the log may show: how long
// a job trains, an upload, a deletion or a backup takes depends on the number of rows and on the
// drawn noise. A job's owner sees its times; all others see jobs end, by day.
enum class Privacy : uint8_t {
  kPublic,
  kPrivateDuration,
  kPrivateEnd,  // also when it succeeds or is cancelled, since its job may then have ended: a
                // client cancels what it no longer needs, and may be faster than our OK. For a
                // block of rows also that it came, for there is a call per block
};

// How a call uses a resource that its request names (server/serving/calls/resource_guard.h).
enum class Use : uint8_t {
  kSee,     // reads or changes one that its caller may see
  kOwn,     // touches private rows, or shows when jobs run: only for the owner
  kMake,    // makes one with this id; if empty, one is chosen
  kSet,     // changes one that its caller may see, or makes it
  kFilter,  // lists: the handler shows what its caller may see
};

struct NamedResource {
  std::string_view field;  // in the request: "name", "spec.dataset"
  std::string_view kind;   // "studies", ...; empty: part of the name
  Use use;
};

// Restricts the callers of a method in addition to its roles.
enum class Scope : uint8_t {
  kNamed,     // callers who may use what the request names
  kPublic,    // everybody: it touches no resource
  kOperator,  // an admin of everything
};

inline constexpr absl::Duration kDefaultDeadline = absl::Seconds(10);

// The bytes of one message of a caller, as they come: of gRPC, or of the body of HTTP, where JSON
// takes several times as many. What a message of few bytes unfolds to in memory follows from this.
inline constexpr size_t kBriefRequest = size_t{64} << 10;  // names, numbers, a thousand tokens
inline constexpr size_t kAnyRequest = std::numeric_limits<size_t>::max();  // --max-message-bytes

struct Method {
  std::string_view path;  // "/package.Service/Method", as in gRPC's :path; zero-terminated
  RoleSet roles;
  Lane lane;
  absl::Duration deadline;  // from the request until the answer is read; infinite for streams
  size_t max_request_bytes;
  bool changes;  // if false, calls that succeed are logged only for debugging
  Privacy privacy;
  Scope scope;
  absl::Span<const NamedResource> names = {};
  bool open = false;  // for everybody, whatever the policy says
};

// Sorted by path. Nobody may call a method without an entry, so a new method is closed until
// somebody decides; a test compares the table with what the daemon serves. An admin may call
// everything in the table.
absl::Span<const Method> AllMethods();

// The entry of `path`; null if there is none.
const Method* FindMethod(std::string_view path);

// The deadline of the entry, or the default if there is no such method.
absl::Duration DeadlineOf(std::string_view path);

// The bytes of the entry, or the fewest of all if there is no such method.
size_t MaxRequestBytesOf(std::string_view path);

// For the log and the metrics. `name` is a path without its leading slash, and need not be in the
// table. If it is not, one of ours counts as private, and every name as changing something.
bool HasPrivateDuration(std::string_view name);
bool HasPrivateEnd(std::string_view name, std::string_view code);  // gRPC's name of it: "OK"
bool MayChange(std::string_view name);

}  // namespace coppice::access

#endif  // COPPICE_SERVER_SERVING_ACCESS_METHOD_TABLE_H_
