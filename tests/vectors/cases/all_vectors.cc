#include "tests/vectors/vectors.h"

namespace coppice::vectors {

std::vector<VectorFile> MakeAllVectors() {
  std::vector<VectorFile> files = MakeMechanismVectors();
  files.push_back(MakeTicketVectors());
  files.push_back(MakeReportVectors());
  files.push_back(MakeTermsVectors());
  files.push_back(MakeManifestVectors());
  files.push_back(MakeJournalVectors());
  files.push_back(MakeSealedVectors());
  files.push_back(MakeDirectMessageVectors());
  return files;
}

}  // namespace coppice::vectors
