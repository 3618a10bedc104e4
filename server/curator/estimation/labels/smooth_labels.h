// The smooth estimator where reports are labels: what was boosted on them, by what held-out
// reports prefer.
//
// Three rules are tried. Boosting from the public predictor's scores (label_boosting.h) is taken
// unless another has less squared error on held-out reports: boosting from no scores at all by more
// than one standard error, which happens where reports are many and public rows misleading; and the
// rule of label_only.h, which boosts margins, by more than two. The last
// is the estimator pooled's own rule, and a candidate here as long as held-out reports ever take
// it.
//
// Numbers are compared with what devices would answer if the predictor were right
// (number_answers.h): the range of a device may cut its number, and that must not look as if the
// predictor were wrong. Of numbers the first two rules are tried.
//
// Guarantee  post-processing of randomized labels, of features in the clear and of public rows:
//            costs no privacy, may be repeated.
// Errors     those of BoostOnLabels() and EstimateLabelOnly().

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_SMOOTH_LABELS_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_SMOOTH_LABELS_H_

#include <string>
#include <vector>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/predictor/public_predictor.h"
#include "server/curator/estimation/correction/number_answers.h"
#include "server/curator/estimation/labels/label_only.h"

namespace coppice::curator {

struct LabelsFit {
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  LeafKind kind = LeafKind::kScores;
  std::string diagnosis;  // which rule was taken, and how far it went
};

// `offset` is what label_only.h starts at. Without reports the predictor is the answer.
StatusOr<LabelsFit> EstimateSmoothLabels(const PublicPredictor& predictor, AdditiveForest offset,
                                         const LabelReports& reports,
                                         const CancelCheck& cancel = {});
// For numbers: `residuals` say how they lie around those that the predictor says.
StatusOr<LabelsFit> EstimateSmoothNumbers(const PublicPredictor& predictor,
                                          const NumberResiduals& residuals,
                                          const LabelReports& reports,
                                          const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_LABELS_SMOOTH_LABELS_H_
