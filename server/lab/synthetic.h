// The synthetic pair of section 6.1 of the LPCT paper: public and private rows with the same
// features and a drifted label probability.
//
// The law, with x uniform on [0,1]^2 and gamma = 1 for private rows:
//
//     s(x) = sign(x1 - 0.33) sign(x2 - 0.33)
//     g(x) = |1.5 x1 - 0.5| |1.5 x2 - 0.5| max(0, 1 - |2 x2 - 1|)
//     P(y = 1 | x) = 1/2 + 0.4 s(x) g(x)^(0.1 gamma)
//
// Source     Ma and Yang 2024, section 6.1. The Bayes rule scores 0.786 on private rows.

#ifndef COPPICE_SERVER_LAB_SYNTHETIC_H_
#define COPPICE_SERVER_LAB_SYNTHETIC_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/table/table.h"

namespace coppice::lab {

struct SyntheticOptions {
  double gamma = 0.5;  // drift of the public rows; positive
  double sine = 0;     // above 0: numbers instead, y = sin(sine x) + noise
  size_t private_rows = 10'000;
  size_t public_rows = 50;
  size_t test_rows = 2'000;  // drawn like private rows

  // Parses "gamma=0.5,private=10000,public=50,test=2000", or "sine=16,private=6000,..."; a missing
  // part keeps its default. InvalidArgument names the part.
  static StatusOr<SyntheticOptions> Parse(std::string_view text);
};

// P(y = 1 | x1, x2).
double SyntheticProbability(double x1, double x2, double gamma);

// Features x1 and x2 in [0, 1], label y, classes 0 and 1.
std::shared_ptr<const Schema> SyntheticSchema();

Table DrawSynthetic(std::shared_ptr<const Schema> schema, size_t rows, double gamma,
                    PublicRandom& random);

// Feature x in [0, 1], target y from -6 to 6.
std::shared_ptr<const Schema> SineSchema();

// y = sin(frequency x) + N(0, 1), x uniform: the simulation of Ma and Yang's local regression.
Table DrawSine(std::shared_ptr<const Schema> schema, size_t rows, double frequency,
               PublicRandom& random);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SYNTHETIC_H_
