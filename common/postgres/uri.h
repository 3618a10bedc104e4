// What everybody who connects to a PostgreSQL server checks and says.

#ifndef COPPICE_COMMON_POSTGRES_URI_H_
#define COPPICE_COMMON_POSTGRES_URI_H_

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

// InvalidArgument unless libpq can read the URI. Its own error would quote the URI, including a
// password.
Status CheckPostgresUri(const std::string& uri);

// Whether a URI that passed the check holds a password.
bool HoldsPassword(const std::string& uri);

// A message of libpq in one line.
std::string OneLineOf(const char* message);

// A field of an error's report, such as PG_DIAG_SQLSTATE; empty if it has none.
std::string_view ErrorField(const PGresult* result, int field);

}  // namespace coppice

#endif  // COPPICE_COMMON_POSTGRES_URI_H_
