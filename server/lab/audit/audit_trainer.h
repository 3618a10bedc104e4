// A central trainer as the subject of an audit: two neighbouring tables of four rows at most.

#ifndef COPPICE_SERVER_LAB_AUDIT_AUDIT_TRAINER_H_
#define COPPICE_SERVER_LAB_AUDIT_AUDIT_TRAINER_H_

#include "absl/status/statusor.h"
#include "common/privacy/budget.h"
#include "server/lab/audit/audit.h"
#include "server/trainers/core/trainer.h"

namespace coppice::lab {

// One tree of one level over one feature, of which the observer sees the split and those of the
// leaves' weights that the tables differ in, held within -1..2. The row that the tables differ in
// pulls the scores of the tree's two splits apart as far as their range, and may be alone in its
// leaf: as much is told of it as there is to tell. InvalidArgument for an algorithm that is not
// private, or too small an epsilon. `trainer` must outlive the subject.
absl::StatusOr<AuditSubject> SubjectOf(const trainers::Trainer& trainer, const Budget& epsilon);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_AUDIT_AUDIT_TRAINER_H_
