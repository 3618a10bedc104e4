// Small studies for the test vectors, one for each way in which a device may answer.

#ifndef COPPICE_TESTS_VECTORS_CASES_SAMPLE_STUDIES_H_
#define COPPICE_TESTS_VECTORS_CASES_SAMPLE_STUDIES_H_

#include <string>
#include <vector>

#include "common/terms/terms.h"

namespace coppice::vectors {

struct SampleStudy {
  Terms terms;  // with the root of the forest
  Forest forest;
  std::vector<std::string> trees;  // the forest's trees, serialized
};

// Studies of: classes and no public feature; laplace noise; some features public; all public;
// joined by an id; a number; a number and a public feature.
std::vector<SampleStudy> SampleStudies();
// A study of classes with this many trees, 1 to 8.
SampleStudy SampleStudyOfTrees(uint32_t trees);

}  // namespace coppice::vectors

#endif  // COPPICE_TESTS_VECTORS_CASES_SAMPLE_STUDIES_H_
