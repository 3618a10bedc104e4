// The test vectors of this folder: the contents of each file, made by the code that ships.
//
// Independent devices are checked against these files (docs/protocol.md#test-vectors).

#ifndef COPPICE_TESTS_VECTORS_VECTORS_H_
#define COPPICE_TESTS_VECTORS_VECTORS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/ticket.h"
#include "tests/support/scripted_bytes.h"

namespace coppice::vectors {

using Json = nlohmann::ordered_json;

// A file by its name in this folder. Its text ends with a line break.
struct VectorFile {
  std::string name;
  std::string text;
};

// Returns every file.
std::vector<VectorFile> MakeAllVectors();

std::vector<VectorFile> MakeMechanismVectors();  // one for each mechanism
VectorFile MakeTicketVectors();
VectorFile MakeReportVectors();
VectorFile MakeTermsVectors();
VectorFile MakeManifestVectors();
VectorFile MakeJournalVectors();
VectorFile MakeSealedVectors();
VectorFile MakeDirectMessageVectors();

// Lists of cases by their names, in order.
using Lists = std::vector<std::pair<std::string, std::vector<Json>>>;
// Writes the header's values one per line, then each list with one case per line.
std::string Render(const Json& header, const Lists& lists);

template <typename Bytes>
std::string Hex(const Bytes& bytes) {
  return BytesToHexString(std::string(bytes.begin(), bytes.end()));
}
std::string CodeName(const Status& status);  // "OK", "DATA_LOSS", ...

// Returns a ticket whose bytes are SHA-256 of the number, 8 bytes big-endian.
Ticket NumberedTicket(uint64_t number);

// Replaces RAND_priv_bytes() by known bytes while it lives: `prefix`, then the blocks SHA-256(seed
// || counter), counter = 0, 1, ... in 8 bytes, big-endian.
class FixedStream {
 public:
  FixedStream(std::string prefix, std::string seed);

 private:
  int Fill(unsigned char* bytes, int count);

  std::string pending_;
  std::string seed_;
  uint64_t counter_ = 0;
  testing::ScriptedBytes bytes_;
};

}  // namespace coppice::vectors

#endif  // COPPICE_TESTS_VECTORS_VECTORS_H_
